// What a screen reader reads of each screen, and in which order: the danger before what is to know of it. A snapshot names what must be
// there, each after what stands before it; between them there may be more. What a screen must not read has "/children: equal".
import type { Page } from "@playwright/test";
import { expect, expectAccessible, isPhone, panel, row, select, test as base } from "./test";
import { type Account, Server } from "./server";

const second: Account = { name: "bea", password: "compass walnut glacier ribbon" };

const test = base.extend<{}, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = await Server.start("--public", "map", "--approve-warnings", "--embed-sites", "*");
      server.add(second, "editor");
      await use(server);
      await server.remove();
    },
    { scope: "worker" },
  ],
});

test.beforeEach(({ page }) => test.skip(isPhone(page), "the same order on a wide screen"));

const square = { type: "Polygon", coordinates: [[[9, 53], [11, 53], [11, 54], [9, 54], [9, 53]]] };

const flood = (server: Server) => server.hazard("Flood - Old Harbour", { description: "The water stands at the quay.", instruction: "Go upstairs.", area: square });
const fire = (server: Server) => server.hazard("Fire on the heath", { type_ID: "WILDFIRE", severity_ID: "ADVISORY", latitude: 53.2, longitude: 9.9 });

/** Opens the public map, and logs in. */
async function openAs(page: Page, account: Account): Promise<void> {
  await page.goto("/#map=7/53.5/10");
  await page.getByTitle("Account").click();
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByLabel("User name").fill(account.name);
  await page.getByLabel("Password").fill(account.password);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await expect(page.getByTitle("Report a new hazard")).toBeVisible();
}

test("the map reads its rows before the map, and the panel the danger before its numbers", { tag: "@ci" }, async ({ page, server }) => {
  const h = await flood(server);
  await fire(server);
  await page.goto("/#map=7/53.5/10");
  await expect(page.locator("body")).toMatchAriaSnapshot(`
    - link "Skip to the list of hazards"
    - link "Skip to the map"
    - banner:
      - button /^Live/
    - region "What to know of this view"
    - main:
      - heading "Hazards" [level=1]
      - complementary "Hazards":
        - search "Filters":
          - searchbox "Search names and descriptions"
          - group "Severity":
            - /children: equal
            - button "0 Warning"
            - button "1 Watch"
            - button "1 Advisory"
            - button "0 Information"
            - button "0 Termination"
        - status:
          - strong: 2 hazards
        - link "What holds here?"
        - list "Hazards":
          - /children: equal
          - listitem:
            - button /Flood possible for Old Harbour, Germany.*Go upstairs. Watch/
          - listitem:
            - button /Fire on the heath.*Advisory/
      - region /Map of hazards/
      - button "Zoom in"
      - button "Find a place"
      - button "Legend"
  `);
  await select(page, h);
  await expect(panel(page)).toMatchAriaSnapshot(`
    - heading /^Flood possible for Old Harbour, Germany/ [level=2]
    - paragraph: Watch Flood
    - button "Close"
    - region "What to do":
      - heading "What to do" [level=3]
      - paragraph: Go upstairs.
    - paragraph: The water stands at the quay.
    - term: People in the area
    - term: Importance
    - term: Start
    - term: Expected end
    - term: Position
    - term: Source
    - group:
      - heading /^Products/ [level=3]
    - group:
      - heading /^What each source says/ [level=3]
    - group:
      - heading "History" [level=3]
    - link "Follow by feed"
    - button "Zoom to"
    - link "Page to print"
  `);
});

test("pages without scripts read the danger first", { tag: "@slow" }, async ({ browser, server }) => {
  const h = await flood(server);
  await fire(server);
  for (const javaScriptEnabled of [true, false]) {
    const context = await browser.newContext({ baseURL: server.url, javaScriptEnabled });
    const page = await context.newPage();
    await page.goto("/here?place=Hamburg");
    await expect(page.getByRole("main")).toMatchAriaSnapshot(`
      - search:
        - textbox "Where are you?": Hamburg
        - button "Show"
      - heading "Danger in Hamburg, Germany" [level=1]
      - list:
        - listitem:
          - heading /Flood possible for Old Harbour/ [level=2]
          - paragraph: Go upstairs.
          - paragraph: /Watch/
      - paragraph: /Nobody that we know of watches this place/
      - paragraph: /As of/
      - heading "Near here, or perhaps here" [level=2]
      - list:
        - listitem:
          - heading /Fire on the heath/ [level=3]
      - region "Other places of this name"
      - region "Link to this answer":
        - paragraph:
          - link /here/
        - img "Link to this answer (QR)"
      - navigation "Languages of this page"
    `);
    // Its links ask what they say.
    await page.getByRole("link", { name: "Deutsch" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toContainText("Gefahr in");
    await page.goto("/here?place=Hamburg");
    await page.getByRole("link", { name: "Hamburg, New York, United States" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toContainText("No hazard is known");

    await page.goto(`/h/${h.uuid}`);
    await expect(page.getByRole("main")).toMatchAriaSnapshot(`
      - heading /^Flood possible for Old Harbour, Germany/ [level=1]
      - paragraph: Flood - Old Harbour
      - list "Kind":
        - listitem: "Severity: Watch"
      - region "What to do":
        - paragraph: Go upstairs.
      - region "What is known":
        - paragraph: The water stands at the quay.
      - figure:
        - img /Small map/
      - region "Facts"
      - region /^Products/
      - region /^History/
    `);
    await context.close();
  }
});

test("the widget reads rows, then its age; a wall its time and the worst in turn", { tag: "@slow" }, async ({ page, server }) => {
  await flood(server);
  await fire(server);
  const list = `
      - list:
        - /children: equal
        - listitem:
          - link /Flood possible for Old Harbour/
        - listitem:
          - link /Fire on the heath/`;
  await page.goto("/embed?lang=en");
  await expect(page.locator("body")).toMatchAriaSnapshot(`
    - main:
      - heading "Active hazards" [level=1]${list}
      - text: /As of/
      - link "Open the map"
  `);
  await page.goto("/embed?kiosk=1&lang=en");
  await expect(page.locator("body")).toMatchAriaSnapshot(`
    - banner:
      - time
    - main:
      - heading "Active hazards" [level=1]
      - link /Flood possible for Old Harbour|Fire on the heath/
      - paragraph: "Not signed in: drafts and approvals are not shown here."${list}
      - strong: 1 Watch · 1 Advisory
      - text: /As of/
      - link "Open the map"
  `);
  await expectAccessible(page, "a wall");
});

test("a wall with a token says what waits for a second person, and sounds; one without says that it is not told", { tag: "@slow" }, async ({ page, server }) => {
  await page.addInitScript(() => {
    const w = window as unknown as { tones: number };
    w.tones = 0;
    const start = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function (...args) {
      w.tones++;
      return start.apply(this, args);
    };
  });
  const tones = () => page.evaluate(() => (window as unknown as { tones: number }).tones);
  const hidden = page.getByText("Not signed in: drafts and approvals are not shown here.");
  await fire(server);
  await page.goto("/embed?kiosk=1&lang=en");
  await expect(hidden).toBeVisible();
  await page.goto("/embed?lang=en"); // nobody expects drafts in a widget
  await expect(page.getByRole("listitem")).toHaveCount(1);
  await expect(hidden).toHaveCount(0);

  const token = await server.watcher();
  await page.goto(`/embed?kiosk=1&sound=1&lang=en#drafts=${token}`);
  await expect(page.locator("html")).toHaveAttribute("data-state", "live");
  await expect(hidden).toHaveCount(0);
  await expect(page.getByRole("alert").filter({ hasText: "second person" })).toHaveCount(0);
  await server.hazard("Flood - New Harbour", { severity_ID: "WARNING" });
  await expect(page.getByRole("alert").filter({ hasText: "Waiting for a second person: 1" })).toBeVisible({ timeout: 30_000 });
  expect(await tones()).toBe(2);
  await expectAccessible(page, "a wall on which a draft waits");
  for (const d of await server.call<{ id: number }[]>("GET", "/drafts")) await server.call("POST", `/drafts/${d.id}/refuse`, { reason: "A test." });
});

test("a wall whose token is worth nothing says that it is not known what waits", { tag: "@slow" }, async ({ page, server, watch }) => {
  watch.expectFailures(/401|403/);
  await fire(server);
  await page.goto("/embed?kiosk=1&lang=en#drafts=hzs_none");
  await expect(page.getByRole("alert").filter({ hasText: "Whether something waits for a second person is not known." })).toBeVisible();
});

test("an editor hears what waits before the list; the review says who gets it before the buttons, the form begins with the place", { tag: "@slow" }, async ({ page, server }) => {
  const h = await flood(server);
  await server.hazard("Flood - New Harbour", { severity_ID: "WARNING" });
  await openAs(page, second);
  const waiting = page.getByRole("region", { name: "Waiting for a second person" });
  await waiting.getByRole("button", { name: "Review: Flood - New Harbour" }).press("Enter");
  await expect(page.locator("body")).toMatchAriaSnapshot(`
    - region "Waiting for a second person":
      - list:
        - listitem:
          - status:
            - strong: Waits for your approval
            - text: Warning
            - strong: Flood - New Harbour
          - 'button "Review: Flood - New Harbour"'
    - main:
      - region "Review":
        - button "Back, it goes on waiting"
        - heading "This is what everybody will read" [level=2]
        - strong: Flood - New Harbour
        - text: /Warning/
        - heading "Who gets it, at once" [level=3]
        - heading "What changes" [level=3]
        - button "Send back, with a reason"
        - button "Approve and send…"
  `);
  await page.keyboard.press("Escape");
  await row(page, h).press("Enter");
  await page.getByRole("button", { name: "Edit", exact: true }).press("Enter");
  await expect(page.getByRole("region", { name: "Edit hazard" })).toMatchAriaSnapshot(`
    - heading "Edit hazard" [level=2]
    - button "Cancel"
    - group "Choose on the map":
      - textbox "Latitude (required)"
      - textbox "Longitude (required)"
    - textbox "Name (required)"
    - combobox "Type (required)"
    - combobox "Category"
    - group "Severity (required)":
      - radio "Watch" [checked]
    - group "Area to alert"
    - textbox "Description"
    - textbox "What to do"
    - textbox "Start"
    - textbox "End"
    - button "Save"
  `);
  await expectAccessible(page, "the form");
});

test("an empty service does not read like an all-clear, a failing one says so before the list", { tag: "@slow" }, async ({ page, server, watch }) => {
  await page.goto("/#map=7/53.5/10");
  await expect(page.getByRole("complementary", { name: "Hazards" })).toMatchAriaSnapshot(`
    - status:
      - strong: 0 hazards
    - paragraph: No active hazards are known.
    - paragraph:
      - strong: /This does not mean that all is well/
  `);
  watch.expectFailures(/./);
  await server.down();
  await expect(page.locator("body")).toMatchAriaSnapshot(`
    - banner:
      - button /^Offline/
    - region "What to know of this view":
      - paragraph:
        - strong: /No connection since/
    - main:
      - complementary "Hazards":
        - paragraph:
          - strong: /this does not mean that all is well/
    - log:
      - paragraph: /The connection to the server is lost/
  `);
  await expectAccessible(page, "a failing service");
  await server.up();
});

test("a list that was never read says without a connection that it is not known what there is", { tag: "@slow" }, async ({ page, server, watch }) => {
  const h = await flood(server);
  watch.expectFailures(/net::ERR_/);
  await page.route(/\/hazards\/active(\/summary)?(\?|$)|\/events/, (route) => route.abort());
  await page.goto("/#map=7/53.5/10");
  const list = page.getByRole("complementary", { name: "Hazards" });
  await expect(list).toMatchAriaSnapshot(
    `
    - status:
      - strong: Not known
    - paragraph: "The list could not be read: which hazards there are is not known."
    - paragraph:
      - strong: /this does not mean that all is well/
  `,
    { timeout: 30_000 },
  );
  await expect(list.getByText("Reading hazards")).toHaveCount(0);
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await expect(row(page, h)).toBeVisible({ timeout: 30_000 });
});
