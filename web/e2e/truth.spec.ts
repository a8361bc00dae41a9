// What the map must never do: take "unknown" for "safe".
import type { Page as BrowserPage } from "@playwright/test";
import { expect, expectAccessible, isPhone, logIn, middle, open, panel, row, select, test } from "./test";

const area = (...corners: readonly (readonly [longitude: number, latitude: number])[]) => ({ type: "Polygon", coordinates: [[...corners, corners[0]]] });
const box = (west: number, south: number, east: number, north: number) => area([west, south], [east, south], [east, north], [west, north]);

const names = (page: BrowserPage) => page.locator("#list .row-name");

/** On a phone the list covers the map. */
async function toMap(page: BrowserPage): Promise<void> {
  if (isPhone(page)) { for (const name of ["Make the list larger", "Make the list smaller"]) await page.getByRole("button", { name }).click(); }
}

// M1. The window is Los Angeles at zoom 10, the hazards' points are far outside of it.
test("what reaches into the window is listed and drawn; what contains its middle comes first", async ({ page, server }) => {
  const heat = await server.hazard("Extreme Heat - Los Angeles", { type_ID: "EXTREMETEMPERATURE", severity_ID: "ADVISORY", latitude: 36.5, longitude: -117, area: box(-119.5, 33.2, -116.5, 37) });
  const surf = await server.hazard("High Surf - Coast", { type_ID: "HIGHSURF", severity_ID: "WARNING", latitude: 32, longitude: -117, area: box(-118.5, 31.5, -116, 33.99) });
  // Its box holds the window, its area goes around it.
  const around = await server.hazard("Drought - Around", {
    type_ID: "DROUGHT",
    severity_ID: "WARNING",
    latitude: 30.5,
    longitude: -110,
    area: area([-125, 30], [-110, 30], [-110, 31], [-124, 31], [-124, 40], [-125, 40]),
  });
  await open(page, "#map=10/34.05/-118.25");
  await expect(names(page)).toHaveText([heat.hazard_Name, surf.hazard_Name]);
  await expect(row(page, heat)).toContainText("Here");
  await expect(row(page, surf)).not.toContainText("Here");
  await expect(page.getByText("2 of 3 hazards in view")).toBeVisible();
  await toMap(page);
  const at = await middle(page);
  await expect(async () => {
    await page.mouse.click(at.x, at.y);
    await expect(panel(page).getByRole("heading", { level: 2 })).toContainText(heat.hazard_Name, { timeout: 2_000 });
  }).toPass();
  await page.keyboard.press("Escape");

  // A change of an area counts at once; so does the next window.
  await server.patch(around, { area: box(-119, 33, -117, 35) });
  await page.evaluate(() => (location.hash = "map=10/44.98/-93.27"));
  await expect(page.getByText("No hazard known here reaches into the map's window.")).toBeAttached();
  await page.evaluate(() => (location.hash = "map=10/34.05/-118.25"));
  await expect(names(page)).toHaveText([around.hazard_Name, heat.hazard_Name, surf.hazard_Name]);
});

// A count of nothing read is not zero.
test("levels of a list that was never read have no counts", { tag: "@ci" }, async ({ page, server, watch }) => {
  watch.expectFailures(/net::ERR_|503/);
  await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING" });
  const list = /\/hazards\/active(\/summary)?(\?|$)/;
  await page.route(list, (route) => route.fulfill({ status: 503, body: "" }));
  await logIn(page);
  const levels = page.getByRole("group", { name: "Severity" }).getByRole("button");
  await expect(levels).toHaveText([/^\?/, /^\?/, /^\?/, /^\?/, /^\?/]);
  await page.unroute(list);
  await expect(levels).toHaveText([/^1/, /^0/, /^0/, /^0/, /^0/]);
});

// M1: as long as nobody knows where hazards reach, the list does not say that there is none.
test("a list whose areas cannot be read says so", { tag: "@slow" }, async ({ page, server, watch }) => {
  watch.expectFailures(/net::ERR_|503/);
  await server.hazard("Extreme Heat - Los Angeles", { severity_ID: "WARNING", latitude: 36.5, longitude: -117, area: box(-119.5, 33.2, -116.5, 37) });
  await page.route(/\/hazards\/(active\/areas|\d+\/alert-geography)/, (route) => route.fulfill({ status: 503, headers: { "Retry-After": "1" }, body: "" }));
  await logIn(page, "#map=10/34.05/-118.25"); // it is not live as long as they are missing
  await expect(page.getByText("Where 1 hazard reaches could not be read: they may reach into this window too.")).toBeVisible();
  await expect(page.getByText(/No hazard known here|None in the map/)).toHaveCount(0);
  await expectAccessible(page, "areas not read");
  await page.unroute(/\/hazards\/(active\/areas|\d+\/alert-geography)/);
  await expect(names(page)).toHaveText(["Extreme Heat - Los Angeles"]);
});

// M6.
test("the areas of all hazards in view are in the surface, and are found by a click; where some have not come, the map says so", { tag: "@slow" }, async ({ page, server, watch }) => {
  watch.expectFailures(/503/);
  const first = await server.hazard("The first of many", { severity_ID: "ADVISORY", latitude: 53.95, longitude: 10, area: box(9.9, 53.4, 10.1, 53.9) });
  for (let n = 0; n < 16; n++) {
    await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        server.hazard(`Later ${n * 10 + i}`, {
          severity_ID: "ADVISORY",
          latitude: 53 + n * 0.02,
          longitude: 8.9 + i * 0.02,
          area: box(8.9 + i * 0.02, 53 + n * 0.02, 8.91 + i * 0.02, 53.01 + n * 0.02),
        })),
    );
  }
  const asked: string[] = [];
  page.on("request", (r) => /\/areas|alert-geography/.test(r.url()) && asked.push(r.url())); // tiles have layers=areas
  await open(page, "#map=8/53.55/10");
  await expect(page.getByText("161 hazards")).toBeVisible();
  await toMap(page);
  const at = await middle(page);
  await expect(async () => {
    await page.mouse.click(at.x, at.y);
    await expect(panel(page).getByRole("heading", { level: 2 })).toContainText(first.hazard_Name, { timeout: 2_000 });
  }).toPass();
  expect(asked.length).toBeLessThanOrEqual(3);
  await page.keyboard.press("Escape");
  await page.route(/\/tiles\//, (route) => route.fulfill({ status: 503, body: "" }));
  await page.evaluate(() => (location.hash = "map=5/53.55/10"));
  await expect(page.getByText("Map areas are not here yet, trying again")).toBeVisible();
  await expectAccessible(page, "areas not drawn");
  await page.unroute(/\/tiles\//);
  await expect(page.getByText("Map areas are not here yet, trying again")).toBeHidden({ timeout: 20_000 });
});

// M4. The page asked for areas hundreds of times a second.
test("in an outage a page asks a few times, with pauses; after a restart there is one request for the window", { tag: "@slow" }, async ({ page, server, watch }) => {
  watch.expectFailures(/net::ERR_/);
  for (let n = 0; n < 6; n++) await server.hazard(`Flood ${n}`, { area: box(9.5 + n * 0.05, 53.5, 9.6 + n * 0.05, 53.6) });
  for (let n = 0; n < 6; n++) await server.hazard(`Far flood ${n}`, { latitude: 31, longitude: 31, area: box(31 + n * 0.05, 31, 31.1 + n * 0.05, 31.2) });
  await open(page, "#map=8/53.55/10");
  await expect(names(page)).toHaveCount(6);
  await expect.poll(() => page.evaluate(() => performance.getEntriesByType("resource").some((r) => /areas|alert-geography/.test(r.name)))).toBe(true);
  await server.down();
  await expect(page.getByText(/^No connection since/)).toBeVisible();
  const asked: string[] = [];
  page.on("request", (r) => asked.push(new URL(r.url()).pathname));
  // What is not known is asked for: the areas of another window.
  await page.evaluate(() => (location.hash = "map=8/31/31"));
  await expect(names(page)).toHaveCount(6);
  await page.waitForTimeout(8_000);
  expect(asked.filter((p) => !p.startsWith("/basemap") && !p.startsWith("/assets") && !p.startsWith("/tiles")).length).toBeLessThan(12);
  asked.length = 0;
  await server.up();
  await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
  await page.waitForTimeout(2_000);
  // One request for this window, which has been waited for; none for each hazard.
  expect(asked.filter((p) => /areas|alert-geography/.test(p)).length).toBeLessThanOrEqual(1);
});

/** Makes the service tell of its sources what it would if they were so. */
async function sources(page: BrowserPage, said: string, list: readonly { name: string; state: string; last_success: string | null }[]): Promise<void> {
  await page.route(/\/hazards\/active(\?|$)/, async (route) => {
    const answer = await route.fetch().catch(() => undefined); // the page has gone
    if (answer) await route.fulfill({ response: answer, headers: { ...answer.headers(), "hazardd-sources": said } });
  });
  const none = { title: "A source", last_poll: null, next_poll: null, lag: null, last_error: null, held: [] };
  await page.route("**/sources", (route) => route.fulfill({ json: list.map((s) => ({ ...none, ...s })) }));
}

// M2.
test("with no source read, an empty list says at once that this does not mean that all is well", { tag: "@slow" }, async ({ page }) => {
  await sources(page, 'ok=0; stale=0; failing=2; names="nws,usgs"', [{ name: "nws", state: "failing", last_success: null }, { name: "usgs", state: "failing", last_success: null }]);
  await open(page);
  await expect(page.locator("#list")).toContainText("No source has been read, or can be read now: this does not mean that all is well.");
  await expect(page.getByRole("region", { name: "What to know of this view" })).toContainText("No source has been read, or can be read now.");
  await expect(page.locator(".status .dot")).not.toHaveClass(/\bok\b/);
  await expectAccessible(page, "no source read");
});

// M2.
test("sources that fail are named, and those that say that there is nothing, with their age", async ({ page }) => {
  const read = new Date(Date.now() - 125_000).toISOString();
  await sources(page, 'ok=1; stale=0; failing=1; names="nws"', [{ name: "nws", state: "failing", last_success: null }, { name: "usgs", state: "ok", last_success: read }]);
  await open(page);
  await expect(page.locator("#list")).toContainText("Not all sources are up to date: this does not mean that all is well.");
  await expect(page.locator("#list")).toContainText("So say usgs (2 min ago).");
  await expect(page.getByRole("button", { name: /^Live/ })).toContainText("Not up to date: nws");
});

// N4.
test("an editor asks on a source's row why a record is not shown", { tag: "@ci" }, async ({ page }) => {
  await sources(page, 'ok=1; stale=0; failing=0; names=""', [{ name: "usgs", state: "ok", last_success: new Date().toISOString() }]);
  const rule = "too slight for a hazard of its own: magnitude 2.1";
  await page.route("**/sources/usgs/why?ref=us1", (route) => route.fulfill({ json: [{ time: "2026-11-21T06:02:11.000Z", result: "ignored", rule, hazard: "", payload: "" }] }));
  await page.route("**/sources/usgs/why?ref=us2", (route) => route.fulfill({ json: [] }));
  await open(page);
  await page.getByRole("button", { name: /^Live/ }).click();
  await page.getByRole("button", { name: "Why is a record of usgs shown, or not?" }).press("Enter");
  const dialog = page.getByRole("dialog", { name: "Why is a record of usgs shown" });
  await dialog.getByLabel("Name or number at the source").fill("us1");
  await dialog.getByRole("button", { name: "Ask" }).click();
  await expect(dialog.getByRole("listitem")).toContainText(`Ignored ${rule}`);
  await expectAccessible(page, "why");
  await dialog.getByLabel("Name or number at the source").fill("us2");
  await dialog.getByRole("button", { name: "Ask" }).click();
  await expect(dialog).toContainText("No kept payload has a record of that name.");
  await dialog.getByRole("button", { name: "Close" }).click();
  await expect(dialog).toHaveCount(0);
});

// M2.
test("a service without sources says so", { tag: "@slow" }, async ({ page }) => {
  await open(page);
  await expect(page.locator("#list")).toContainText("No source is read here: only what people enter is shown. This does not mean that all is well.");
});

// M3.
test("of a time before the first record the page says that it knows nothing", { tag: "@slow" }, async ({ page, server }) => {
  const h = await server.hazard("Flood - Old Harbour");
  await open(page, "#map=8/53.55/10");
  await expect(row(page, h)).toBeVisible();
  await page.evaluate(() => (location.hash = "map=8/53.55/10&at=2020-01-01T00:00:00Z"));
  const unrecorded = "Nothing is recorded of that time: the first record is later. This does not mean that nothing was dangerous.";
  await expect(page.locator("#list")).toContainText(unrecorded);
  await expect(page.getByRole("region", { name: "What to know of this view" })).toContainText(unrecorded);
  await expect(page.getByText(/^No active hazards/)).toHaveCount(0);
  await expectAccessible(page, "before the first record");
  await page.getByRole("button", { name: "Back to now" }).click();
  await expect(row(page, h)).toBeVisible();
});

// M5.
test("drills are counted, listed and drawn apart from what is real", { tag: "@slow" }, async ({ page, server }) => {
  const drill = await server.hazard("Practice flood", { category_ID: "EXERCISE", severity_ID: "WARNING", area: box(9.5, 53.3, 10.5, 53.8) });
  await open(page, "#map=8/53.55/10");
  await expect(row(page, drill)).toBeVisible();
  // With drills alone, nothing real is active, and the page says that.
  await expect(page.getByText("0 hazards", { exact: true })).toBeVisible();
  await expect(page.locator(".nothing")).toContainText("No active hazards are known.");
  const real = await server.hazard("Flood - Old Harbour", { severity_ID: "INFORMATION", latitude: 53.6 });
  await expect(names(page)).toHaveText([real.hazard_Name, /Practice flood/]);
  await expect(page.getByText("1 hazard", { exact: true })).toBeVisible();
  await expect(page.locator("#list")).toContainText("1 drill, not real");
  const severity = page.getByRole("group", { name: "Severity" });
  await expect(severity.getByRole("button", { name: "Warning" })).toContainText("0");
  await expect(severity.getByRole("button", { name: "Information" })).toContainText("1");
  await expectAccessible(page, "a drill beside what is real");
  // By keyboard they are one list.
  await row(page, real).focus();
  await page.keyboard.press("ArrowDown");
  await expect(row(page, drill)).toBeFocused();
  await page.getByRole("button", { name: "All categories" }).click();
  await page.getByRole("dialog", { name: "Category" }).getByLabel("Exercise").check();
  await page.keyboard.press("Escape");
  await expect(names(page)).toHaveText([/Practice flood/]);
});

test("the history of a hazard says from when on it is kept, where older changes were pruned", { tag: "@slow" }, async ({ page, server }) => {
  const h = await server.hazard("Flood - Old Harbour");
  let kept = {};
  await page.route(/\/hazards\/\d+\/changes\?/, async (route) => {
    const answer = await route.fetch().catch(() => undefined);
    if (answer) await route.fulfill({ response: answer, headers: { ...answer.headers(), ...kept } });
  });
  await open(page);
  const side = await select(page, h);
  const history = side.locator("summary").filter({ hasText: "History" });
  await history.click();
  await expect(side.getByText("Created")).toBeVisible();
  await expect(side.getByText(/^All changes since/)).toHaveCount(0);
  kept = { "hazardd-kept-from": "2024-11-25T03:00:00.000Z" };
  await server.call("PATCH", `/hazards/${h.hazard_ID}`, { description: "The water rises." });
  await expect(side.getByText(/^All changes since 25 Nov 2024, .* are here\. Of those before, some are in the operator’s archive\.$/)).toBeVisible();
  await expectAccessible(page, "a pruned history");
});
