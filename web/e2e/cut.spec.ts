// M4: a network that is gone for a moment while the page loads left a blank map that said "Live", for ever. Here it is gone from each of the first
// requests on, in turn, for some seconds: the page is whole soon after it is back.
import type { BrowserContext, Page } from "@playwright/test";
import { expect, isPhone, row, test as base } from "./test";
import { Server } from "./server";

const test = base.extend<{}, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = await Server.start("--public", "map", "--embed-sites", "*");
      await use(server);
      await server.remove();
    },
    { scope: "worker" },
  ],
});

/** How long the network is gone, and within what time after it the page must be whole, milliseconds. */
const GONE = 3_000;
const WHOLE = 20_000;

/** Those that .ci/run takes: the first script, the page's own, its first rows, the map's code. */
const CI = [1, 3, 9, 16];

// Not the first, the page itself: without it the browser's own page stands there.
for (let n = 1; n <= 60; n++) {
  test(`the network is gone from request ${n} on, and comes back`, { tag: CI.includes(n) ? "@ci" : "@slow" }, async ({ page, context, server, watch }) => {
    watch.expectFailures(/net::ERR_/);
    const h = await server.hazard("Flood - Old Harbour");
    test.skip(!(await open(page, context, "/#map=5/53.5/10", n)), `the page asks for fewer than ${n + 1} things`);
    const whole = { timeout: WHOLE };
    await expect(row(page, h)).toBeVisible(whole);
    await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible(whole);
    // A phone keeps the server's picture until somebody moves it.
    await expect(page.locator(isPhone(page) ? ".map-picture img, #map canvas" : "#map canvas").first()).toBeVisible(whole);
    // The map shows land and sea, and more than that.
    await expect(async () => expect(await colors(page)).toBeGreaterThan(3)).toPass(whole);
    expect(await page.evaluate(() => [...document.images].filter((i) => i.complete && i.naturalWidth === 0 && !i.hidden).length)).toBe(0);
    expect(await page.evaluate(() => [...document.styleSheets].length)).toBeGreaterThan(0);
  });
}

for (let n = 1; n <= 6; n++) {
  test(`the network is gone from request ${n} of the widget on, and comes back`, { tag: n === 1 ? "@ci" : "@slow" }, async ({ page, context, server, watch }) => {
    test.skip(isPhone(page), "once is enough");
    watch.expectFailures(/net::ERR_/);
    await server.hazard("Flood - New Harbour");
    await open(page, context, "/embed?lang=en", n);
    await expect(page.getByRole("link", { name: /New Harbour/ }).first()).toBeVisible({ timeout: WHOLE });
    await expect(page.locator("html")).toHaveAttribute("data-state", "live", { timeout: WHOLE });
  });
}

test("a widget of which a file of words never comes speaks English", async ({ page, server, watch }) => {
  test.skip(isPhone(page), "once is enough");
  watch.expectFailures(/net::ERR_/);
  await server.hazard("Flood - New Harbour");
  let lost = "";
  await page.route("**/assets/embed-embed-*.js", (route) => {
    lost ||= route.request().url();
    return route.request().url() === lost ? route.abort() : route.continue();
  });
  await page.goto("/embed?lang=de");
  await expect(page.getByRole("link", { name: /New Harbour/ }).first()).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("lang", "en");
});

/** Opens a page, and has the network gone from its request n on, for a while; false: the page has not asked for so much. */
async function open(page: Page, context: BrowserContext, path: string, n: number): Promise<boolean> {
  let asked = 0;
  let back = () => {};
  const gone = new Promise<void>((resolve) => (back = resolve));
  page.on("request", () => {
    if (asked++ !== n) return;
    void context.setOffline(true).then(() => setTimeout(() => void context.setOffline(false).then(back), GONE));
  });
  await page.goto(path).catch(() => {});
  return Promise.race([gone.then(() => true), page.waitForTimeout(15_000).then(() => asked > n)]); // what is asked for later than that is not among the first
}

/** How many colours the map has. */
async function colors(page: Page): Promise<number> {
  const shot = await page.locator("#map").screenshot();
  return page.evaluate(async (base64) => {
    const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], { type: "image/png" }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const c = canvas.getContext("2d")!;
    c.drawImage(bitmap, 0, 0);
    const { data } = c.getImageData(0, 0, bitmap.width, bitmap.height);
    const found = new Map<string, number>();
    for (let i = 0; i < data.length; i += 4 * 7) {
      const key = `${data[i]! >> 3},${data[i + 1]! >> 3},${data[i + 2]! >> 3}`;
      found.set(key, (found.get(key) ?? 0) + 1);
    }
    return [...found.values()].filter((n) => n > 200).length;
  }, shot.toString("base64"));
}
