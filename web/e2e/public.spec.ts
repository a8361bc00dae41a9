// M8: without an account there was nothing, no frame, no preview in a chat; a reload logged out, and a wall died with its browser.
import { request } from "@playwright/test";
import { editor, expect, expectAccessible, isPhone, panel, row, test as base } from "./test";
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

const enlarge = async (page: import("@playwright/test").Page) => {
  if (isPhone(page)) await page.getByRole("button", { name: "Make the list larger" }).click();
};

/** What only a map by key says. */
const unseen = "Not signed in: drafts and approvals are not shown here.";

test("the map opens without a login, without tools to edit, and leads to the login", async ({ page, server }) => {
  const h = await server.hazard("Flood - Old Harbour");
  await page.goto("/#map=7/53.5/10");
  await enlarge(page);
  await expect(row(page, h)).toBeVisible();
  await expect(page.getByTitle("Report a new hazard")).toHaveCount(0);
  await expect(page.getByText(unseen)).toHaveCount(0);
  await expectAccessible(page, "the map without a login");
  await page.reload();
  await enlarge(page);
  await expect(row(page, h)).toBeVisible();
  const later = await server.hazard("Spill at the quay", { type_ID: "ACCIDENT" }); // by the stream
  await expect(row(page, later)).toBeVisible();
  await page.getByTitle("Account").click();
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByLabel("User name").fill(editor.name);
  await page.getByLabel("Password").fill(editor.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await expect(page.getByTitle("Report a new hazard")).toBeVisible();
});

test("a reload reads what has changed while nobody looked, and not the whole list again", { tag: "@ci" }, async ({ page, server }) => {
  const over = await server.hazard("Flood - Old Harbour");
  const stays = await server.hazard("Flood - New Harbour", { latitude: 53.3 });
  await page.goto("/#map=7/53.5/10");
  await enlarge(page);
  for (const h of [over, stays]) await expect(row(page, h)).toBeVisible();
  await page.goto("/favicon.ico"); // away
  await server.patch(over, { status: "E" });
  const later = await server.hazard("Spill at the quay", { type_ID: "ACCIDENT", latitude: 53.4 });
  const told = page.waitForResponse((r) => r.url().includes("/hazards/active/summary?since="));
  await page.goto("/#map=7/53.5/10");
  expect(await (await told).json()).toMatchObject({ gone: [over.hazard_ID], changed: [{ hazard: { hazard_ID: later.hazard_ID } }] });
  await enlarge(page);
  for (const h of [later, stays]) await expect(row(page, h)).toBeVisible();
  await expect(row(page, over)).toHaveCount(0);
  const sent = await page.evaluate(() => (performance.getEntriesByType("resource") as PerformanceResourceTiming[]).filter((e) => e.name.endsWith("/summary")).map((e) => e.transferSize));
  expect(sent, "of the whole list, from the browser's cache").toEqual([0]);
});

test("a reload on a slow line reads no part of the ground again", { tag: "@slow" }, async ({ page, context }) => {
  const line = await context.newCDPSession(page);
  await line.send("Network.emulateNetworkConditions", { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 100_000 });
  const ground = () =>
    page.evaluate(() => (performance.getEntriesByType("resource") as PerformanceResourceTiming[]).filter((e) => /pmtiles/.test(e.name)).map((e) => [e.name, e.transferSize] as const));
  for (const load of ["first", "second"]) {
    await (load === "first" ? page.goto("/#map=5/53.5/10") : page.reload());
    if (isPhone(page)) await page.getByRole("button", { name: "Touch for the moving map" }).click();
    await page.locator("#map canvas").waitFor();
    await expect(page.locator(".map-picture, .map-coming")).toHaveCount(0);
    const read = await ground();
    expect(read.length, load).toBeGreaterThan(3);
    if (load === "second") expect(read.filter(([, size]) => size > 0)).toEqual([]);
  }
});

test("the address of a selected hazard is a link with a preview, which opens it", { tag: "@slow" }, async ({ page, server, baseURL }) => {
  const h = await server.hazard("Flood - Old Harbour", { description: "Water over the quay.", severity_ID: "WARNING" });
  await page.goto("/#map=7/53.5/10");
  await enlarge(page);
  await row(page, h).click();
  await expect(page).toHaveURL(new RegExp(`/\\?h=${h.uuid}#.*h=${h.uuid}`));
  const address = page.url();
  const robot = await request.newContext({ baseURL: baseURL! });
  const html = await (await robot.get(address, { headers: { Accept: "text/html" } })).text();
  const meta = (name: string) => new RegExp(`property="og:${name}" content="([^"]*)"`).exec(html)?.[1]?.replaceAll("&amp;", "&");
  expect(meta("title")).toBe("Warning: Flood - Old Harbour");
  expect(meta("description")).toContain("Water over the quay.");
  const picture = await robot.get(meta("image")!);
  expect(picture.headers()["content-type"]).toBe("image/png");
  // What a chat draws: the picture is one, of the size that it is told to be.
  const size = await page.evaluate(async (bytes) => {
    const image = await createImageBitmap(new Blob([new Uint8Array(bytes)], { type: "image/png" }));
    return [image.width, image.height];
  }, [...(await picture.body())]);
  expect(size).toEqual([Number(meta("image:width")), Number(meta("image:height"))]);
  await page.goto("about:blank");
  await page.goto(address);
  await expect(panel(page).getByRole("heading", { level: 2 })).toContainText(h.hazard_Name);
  await page.goto("about:blank");
  await page.goto(`/?h=${h.uuid}`); // a chat cut the rest
  await expect(panel(page).getByRole("heading", { level: 2 })).toContainText(h.hazard_Name);
});

test("a page frames the widget, which says what it does not know", { tag: "@slow" }, async ({ page, context, server, baseURL, watch }) => {
  const inside = await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING" });
  await server.hazard("Flood - far away", { latitude: -30, longitude: 150 });
  await server.hazard("Drill at the quay", { category_ID: "EXERCISE" });
  const town = await context.newPage();
  const frame = async (query: string) => {
    const body = `<!doctype html><html lang="en"><title>Town</title><iframe title="Hazards" width="340" height="500" src="${baseURL}/embed?${query}"></iframe>`;
    await town.route(`${baseURL}/town`, (route) => route.fulfill({ contentType: "text/html", body }));
    await town.goto("/town");
  };
  await frame("bbox=5,50,15,56&lang=en&title=Harbour");
  const widget = town.frameLocator("iframe");
  await expect(widget.getByRole("heading", { name: "Harbour" })).toBeVisible();
  await expect(widget.getByRole("listitem")).toHaveCount(2);
  await expect(widget.getByRole("listitem").first()).toContainText("Flood warning for Old Harbour");
  await expect(widget.getByRole("listitem").first()).toContainText("Warning");
  await expect(widget.getByRole("listitem").last()).toContainText("EXERCISE");
  await expect(widget.locator("footer")).toContainText("As of");
  await server.patch(inside, { status: "E" });
  await expect(widget.getByRole("listitem")).toHaveCount(1, { timeout: 30_000 });

  await frame("bbox=5,50,15,56&type=VOLCANO&lang=es");
  await expect(widget.getByRole("alert")).toContainText("eso no significa que sea segura"); // no source is read
  await frame("bbox=5,50,15&lang=en");
  await expect(widget.getByRole("alert")).toContainText("expected west,south,east,north");
  await frame("lang=ar");
  await expect(widget.locator("html")).toHaveAttribute("dir", "rtl");

  await town.close();

  await page.goto("/embed?lang=en");
  await expect(page.getByRole("listitem")).toHaveCount(2);
  await expectAccessible(page, "the widget");
  watch.expectFailures(/./);
  await server.down();
  await expect(page.getByRole("alert")).toContainText("No connection since", { timeout: 60_000 });
  await expectAccessible(page, "the widget without a connection");
  await server.up();
  await expect(page.getByRole("alert")).toHaveCount(0, { timeout: 60_000 });
});

test("a wall's address is all that it needs: reloads, restarts and a lost connection", { tag: "@slow" }, async ({ page, server, watch }) => {
  const h = await server.hazard("Flood - Old Harbour");
  const { key } = await server.call<{ key: string }>("POST", "/keys", { title: "wall" });
  await page.goto(`/key/${key}/#map=7/53.5/10`);
  await enlarge(page);
  await expect(row(page, h)).toBeVisible();
  await expect(page.getByText(unseen)).toHaveCount(isPhone(page) ? 0 : 1);
  watch.expectFailures(/./);
  await server.down();
  await expect(page.locator(".banner.lost").first()).toBeVisible();
  await server.up();
  await expect(page.locator(".banner.lost")).toHaveCount(0);
  await page.reload();
  await enlarge(page);
  await expect(row(page, h)).toBeVisible();
  await page.goto(`/key/${key}/embed?kiosk=1&lang=en`);
  await expect(page.getByRole("listitem")).toHaveCount(1);
});

test("a wall sounds when the server falls silent, once, if its address says so", { tag: "@slow" }, async ({ page, server, watch }) => {
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
  await server.hazard("Flood - Old Harbour");
  await page.goto("/embed?kiosk=1&sound=1&lang=en");
  await expect(page.locator("html")).toHaveAttribute("data-state", "live");
  expect(await tones()).toBe(0);
  watch.expectFailures(/./);
  await server.down();
  await expect(page.locator("html")).toHaveAttribute("data-state", "stale", { timeout: 90_000 });
  expect(await tones()).toBe(2);
  await server.up();
  await expect(page.locator("html")).toHaveAttribute("data-state", "live", { timeout: 60_000 });
  expect(await tones()).toBe(2);
});
