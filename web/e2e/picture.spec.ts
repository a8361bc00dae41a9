// A phone that opens the map waited for MapLibre, a megabyte of code, before anything else could be done. The map begins as a picture there.
import { editor, expect, expectAccessible, gate, isPhone, panel, row, select, test as base } from "./test";
import { Server } from "./server";

const test = base.extend<{}, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = await Server.start("--public", "map");
      await use(server);
      await server.remove();
    },
    { scope: "worker" },
  ],
});

type BrowserPage = import("@playwright/test").Page;

const picture = (page: BrowserPage) => page.locator(".map-picture");
const larger = (page: BrowserPage) => page.getByRole("button", { name: "Make the list larger" }).click();
const coast = { type: "Polygon", coordinates: [[[9.5, 53.3], [10.5, 53.3], [10.5, 53.8], [9.5, 53.8], [9.5, 53.3]]] };

/** What of the map's code has been asked for. */
function watched(page: BrowserPage): { readonly code: string[]; readonly pictures: string[] } {
  const [code, pictures]: [string[], string[]] = [[], []];
  page.on("request", (r) => {
    if (/\/assets\/(view|maplibre)/.test(r.url())) code.push(r.url());
    if (r.url().includes("/map.svg")) pictures.push(r.url());
  });
  return { code, pictures };
}

async function expectDrawn(page: BrowserPage): Promise<void> {
  const image = picture(page).locator("img");
  await expect(image).toBeVisible();
  await expect.poll(() => image.evaluate((i: HTMLImageElement) => i.complete && i.naturalWidth)).toBeGreaterThan(300);
}

test.beforeEach(({ page }) => test.skip(!isPhone(page), "a wide window begins with the map"));
// Who saves bytes keeps the picture until it is touched.
test.beforeEach(({ page }, info) => (info.title.endsWith("by itself") ? undefined : page.addInitScript(() => Object.defineProperty(navigator, "connection", { value: { saveData: true } }))));

test("the map follows the picture by itself", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING", area: coast });
  await page.goto("/");
  await expect(page.locator("#list .row-name")).toHaveText(["Flood - Old Harbour"]);
  await expect(page.locator("#list .row").first()).toBeInViewport({ ratio: 1 });
  await expect(page.locator("#map canvas")).toBeVisible({ timeout: 60_000 });
  await expect(picture(page)).toHaveCount(0, { timeout: 60_000 });
});

test("when its code is in the browser's cache the map comes without the picture, by itself", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING", area: coast });
  const { pictures } = watched(page);
  await page.goto("/");
  await expect(page.locator("#map canvas")).toBeVisible({ timeout: 60_000 });
  await expect(picture(page)).toHaveCount(0, { timeout: 60_000 });
  expect(pictures).toHaveLength(1);
  await page.goto("about:blank");
  await page.goto("/");
  await expect(picture(page)).toContainText("The moving map is loading");
  await expect(page.locator("#map canvas")).toBeVisible({ timeout: 60_000 });
  await expect(picture(page)).toHaveCount(0, { timeout: 60_000 });
  await expect(row(page, { hazard_Name: "Flood - Old Harbour" })).toBeVisible();
  expect(pictures).toHaveLength(1);
});

test("a phone begins with a picture of the map, which a touch makes move", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING", area: coast });
  const { code, pictures } = watched(page);
  await page.goto("/");
  await expectDrawn(page);
  await expect(page.locator(".list-head strong")).toHaveText("1 hazard");
  await expect(page).toHaveURL(/map=4\/53\.5\d*\/10/);
  await expect(picture(page)).toContainText(/Picture of .*\d:\d\d/);
  await expect(picture(page).getByRole("img")).toHaveAccessibleName(/^Picture of the map as of .*: 1 hazard in this window/);
  expect(code).toEqual([]);
  expect(pictures).toHaveLength(1);
  await expectAccessible(page, "the picture of the map");
  await picture(page).tap({ position: { x: 40, y: 40 } }); // no hazard is there
  await expect(picture(page)).toHaveCount(0, { timeout: 45_000 }); // the code of the map is a megabyte
  await expect(page.locator("#map canvas")).toBeVisible();
  await expect(page).toHaveURL(/map=4\/53\.5\d*\/10/);
});

test("fingers move the picture without the map's code, and a touch finds a hazard in it", { tag: "@slow" }, async ({ page, server }) => {
  const h = await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING", area: coast });
  const { code, pictures } = watched(page);
  await page.goto("/");
  await expectDrawn(page);
  await expect(page.locator(".list-head strong")).toHaveText("1 hazard");
  const box = (await picture(page).boundingBox())!;
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y - 40);
  await page.mouse.down();
  await page.mouse.move(x + 50, y - 40, { steps: 5 });
  await expect(picture(page).locator("img")).toHaveCSS("translate", "50px");
  await page.mouse.up();
  await expect.poll(() => pictures.length).toBe(2);
  await expect(page).toHaveURL(/map=4\/53\.5\d*\/7\.8/); // 50 of 8,192 pixels around the world to the west
  await expect(picture(page).locator("img")).toHaveCSS("translate", "none"); // the new picture
  await expect(page.locator(".list-head strong")).toHaveText("1 hazard");
  expect(code).toEqual([]);
  await page.touchscreen.tap(x + 50, y);
  await expect(panel(page)).toContainText(h.hazard_Name);
  await expect(picture(page)).toHaveCount(0, { timeout: 45_000 }); // the code of the map is a megabyte
});

/** Holds the page's own script back until it is called. */
async function held(page: BrowserPage): Promise<() => void> {
  const script = gate();
  await page.route("**/assets/index-*.js", async (route) => {
    await script.passed;
    await route.continue();
  });
  return script.open;
}

test("the picture is there before the page's own script, with its time, and is asked for once", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING", area: coast });
  const { pictures } = watched(page);
  const go = await held(page);
  await page.goto("/", { waitUntil: "commit" });
  const early = page.locator(".first");
  await expect.poll(() => early.locator("img").evaluate((i: HTMLImageElement) => i.complete && i.naturalWidth)).toBeGreaterThan(300);
  await expect(early).toContainText(/\d{4}, \d\d:\d\d/);
  await expect(early).toContainText("Natural Earth");
  await expect(page.locator("#app")).toBeEmpty();
  // The header comes to where its colour is, and nothing moves.
  const top = () => page.locator(".first, .map-picture").first().evaluate((e) => e.getBoundingClientRect().top + e.clientTop);
  const before = await top();
  await expect(early).toHaveCSS("border-top", "52px solid rgb(16, 26, 35)");
  go();
  await expectDrawn(page);
  await expect(early).toHaveCount(0);
  expect(await top()).toBe(before);
  await expect(page.locator(".list-head strong")).toHaveText("1 hazard");
  await expect(picture(page)).toContainText(/Picture of .*\d:\d\d/);
  expect(pictures).toHaveLength(1);
});

/** What of the coverage has been asked for. */
function coverageAsked(page: BrowserPage): string[] {
  const asked: string[] = [];
  page.on("request", (r) => {
    const url = new URL(r.url());
    if (url.pathname === "/coverage") asked.push(url.search);
  });
  return asked;
}

test("of the picture only its window is asked for who warns there, of the map the world once it shows what nobody reads", { tag: "@slow" }, async ({ page, server }) => {
  await page.route(/\/hazards\/active\/summary(\?|$)/, async (route) => {
    const answer = await route.fetch().catch(() => undefined);
    if (answer) await route.fulfill({ response: answer, headers: { ...answer.headers(), "hazardd-sources": 'ok=1; stale=0; failing=0; names=""' } });
  });
  await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING", area: coast });
  const asked = coverageAsked(page);
  await page.goto("/");
  await expectDrawn(page);
  await expect.poll(() => asked[0]).toMatch(/^\?geometry=none&bbox=[-\d.]+(,[-\d.]+){3}$/);
  await picture(page).tap({ position: { x: 40, y: 40 } }); // no hazard is there
  await expect(picture(page)).toHaveCount(0, { timeout: 45_000 }); // the code of the map is a megabyte
  await expect.poll(() => asked.filter((query) => !query.includes("bbox"))).toEqual(["?geometry=none", "?geometry=topology"]);
});

test("what a link keeps is in the first picture, or there is none", { tag: "@slow" }, async ({ page, server }) => {
  const h = await server.hazard("Flood - Old Harbour", { severity_ID: "WATCH" });
  const { pictures } = watched(page);
  const go = await held(page);
  await page.goto("/#severity=WATCH", { waitUntil: "commit" });
  await expect(page.locator(".first img")).toHaveCount(1);
  expect(pictures).toEqual([expect.stringContaining("severity=WATCH")]);
  for (const hash of ["#map=6/53.5/10", "#q=harbour", `#h=${h.uuid}`, "#at=2026-01-01T00:00:00Z"]) {
    await page.goto("about:blank");
    const words = page.waitForRequest(/words-en-map/); // the first script asks for them
    await page.goto(`/${hash}`, { waitUntil: "commit" });
    await words;
    await expect(page.locator(".first")).toHaveCount(0);
  }
  expect(pictures).toHaveLength(1);
  go();
});

test("the keyboard makes the picture move, and is on the map then", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood - Old Harbour");
  await page.goto("/");
  await expectDrawn(page);
  await page.getByRole("link", { name: "Skip to the map" }).focus();
  await page.keyboard.press("Enter");
  await expect(picture(page)).toHaveCount(0, { timeout: 45_000 }); // the code of the map is a megabyte
  await expect(page.locator("#map canvas")).toBeFocused();
});

test("a hazard that is chosen, the time and a link with a window need the map", { tag: "@slow" }, async ({ page, server }) => {
  const h = await server.hazard("Flood - Old Harbour");
  await page.goto("/");
  await expectDrawn(page);
  await larger(page);
  await select(page, h);
  await expect(page.locator("#map canvas")).toBeVisible();
  await expect(picture(page)).toHaveCount(0, { timeout: 45_000 }); // the code of the map is a megabyte
  await expect(panel(page)).toBeVisible();
  await page.goto("about:blank");
  await page.goto("/#map=6/53.5/10");
  await expect(page.locator("#map canvas")).toBeVisible();
  await page.evaluate(() => localStorage.clear());
  await page.goto("about:blank");
  await page.goto("/");
  await expectDrawn(page);
  await page.getByTitle("Look at another time").click();
  await expect(page.locator("#map canvas")).toBeVisible();
});

test("the picture has the filter, and is drawn again after a change, until then it says that it is old", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood - Old Harbour", { severity_ID: "WATCH" });
  const { code, pictures } = watched(page);
  await page.goto("/");
  await expectDrawn(page);
  await larger(page);
  await page.getByRole("button", { name: /Watch/ }).first().click();
  await expect.poll(() => pictures.at(-1)).toContain("severity=WATCH");
  const before = pictures.length;
  await server.hazard("Flood at the quay", { severity_ID: "WATCH", longitude: 11 });
  await expect(picture(page)).toContainText("older than the list");
  expect(pictures).toHaveLength(before);
  await expect.poll(() => pictures.length, { timeout: 60_000 }).toBe(before + 1);
  await expect(picture(page)).not.toContainText("older than the list");
  await expect(picture(page).getByRole("img")).toHaveAccessibleName(/2 hazards/);
  expect(code).toEqual([]);
});

test("where nothing is known the map shows the world, and what comes then is listed", { tag: "@slow" }, async ({ page, server }) => {
  await page.goto("/");
  await expect(page.locator("#map canvas")).toBeVisible();
  await expect(picture(page)).toHaveCount(0, { timeout: 45_000 }); // the code of the map is a megabyte
  await larger(page);
  const h = await server.hazard("Flood - Old Harbour");
  await expect(row(page, h)).toBeVisible();
});

test("the map comes in place of a picture that does not", { tag: "@slow" }, async ({ page, server, watch }) => {
  watch.expectFailures(/503/);
  await page.route("**/map.svg?*", (route) => route.fulfill({ status: 503, contentType: "text/plain", body: "busy" }));
  const h = await server.hazard("Flood - Old Harbour");
  await page.goto("/");
  await expect(page.locator("#map canvas")).toBeVisible();
  await expect(picture(page)).toHaveCount(0, { timeout: 45_000 }); // the code of the map is a megabyte
  await larger(page);
  await expect(row(page, h)).toBeVisible();
});

test("a reader with an account has the picture by the same rights, and in Arabic", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING", area: coast });
  const sent: string[] = [];
  page.on("request", (r) => r.url().includes("/map.svg") && sent.push(r.headers()["authorization"] ?? ""));
  await page.goto("/");
  await expectDrawn(page);
  await page.getByTitle("Account").click();
  await page.getByLabel("Language").selectOption("ar");
  await expect(page.locator("html")).toHaveAttribute("dir", "rtl");
  await expect(picture(page)).toContainText("المس لفتح الخريطة المتحركة");
  await page.keyboard.press("Escape");
  await expectAccessible(page, "the picture of the map in Arabic");
  await page.locator(".account .menu-button").click();
  await page.locator(".account .menu-body button").last().click();
  await page.locator("#username").fill(editor.name);
  await page.locator("#password").fill(editor.password);
  await page.evaluate(() => history.replaceState(null, "", "/")); // what was looked at before is a link with a window
  await page.keyboard.press("Enter");
  await expectDrawn(page);
  expect(sent.at(-1)).toMatch(/^Bearer /);
});
