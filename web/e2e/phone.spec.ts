// M15: in a hand, and on paper.
import type { Page as BrowserPage } from "@playwright/test";
import { expect, expectAccessible, isPhone, open, panel, row, select, test } from "./test";

/** What can be touched and is smaller than a finger. Links in running text, and the credits of the map, are as large as their line. */
const small = (page: BrowserPage) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("button, a[href], input, select, summary, textarea")]
      .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest(".prose, .lines, .maplibregl-ctrl-attrib-inner, .skip, [inert]"))
      .map((e) => ({
        e: e.matches("input[type=checkbox], input[type=radio]") ? (e.closest("label") ?? e) : e,
        box: (e.matches("input[type=checkbox], input[type=radio]") ? (e.closest("label") ?? e) : e).getBoundingClientRect(),
      }))
      .filter(({ box }) => box.width > 1 && box.height > 1 && (box.width < 43.5 || box.height < 43.5))
      .map(({ e, box }) => `${e.tagName} ${e.className} "${(e.getAttribute("aria-label") ?? e.textContent ?? "").slice(0, 40)}" ${box.width.toFixed(0)}x${box.height.toFixed(0)}`)
  );

test("on a phone everything that is touched has 44 pixels", { tag: "@slow" }, async ({ page, server }) => {
  test.skip(!isPhone(page), "a mouse is finer");
  const h = await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING", description: "Water over the quay." });
  await server.product(h, { title: "Gauge", product_Type: "TEXT_PRODUCT", data: "612 cm" });
  await open(page, "#map=7/53.5/10");
  await expect(row(page, h)).toBeVisible();
  expect(await small(page), "list").toEqual([]);
  await select(page, h);
  expect(await small(page), "panel").toEqual([]);
  await panel(page).getByRole("button", { name: "Close" }).click();
  await page.getByTitle("Account").click();
  expect(await small(page), "account").toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByTitle("Look at another time").click();
  await page.locator(".timebar").waitFor();
  expect(await small(page), "time").toEqual([]);
});

test("a phone opens on what matters most, and the next time where it was", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Storm in Perth", { type_ID: "STORM", severity_ID: "ADVISORY", latitude: -31.9, longitude: 115.9 });
  const h = await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING" });
  await open(page);
  if (isPhone(page)) await expect(page).toHaveURL(/map=4\/53\.5\d*\/10/);
  else await expect(page).toHaveURL(/map=\d/);
  await page.evaluate(() => (location.hash = "map=6/-31.9/115.9"));
  await expect(page.locator("#list .row-name")).toHaveText(["Storm in Perth"]);
  await page.goto("/favicon.ico"); // away
  await expect.poll(() => page.evaluate(() => localStorage.getItem("hazardd.view"))).toContain("map=6/");
  await open(page);
  await expect(page).toHaveURL(/map=6\/-31\.9\/115\.9/);
  await expect(row(page, h)).toHaveCount(0);
});

test("a phone's first screen has three hazards, and what to do of the first in two lines", { tag: "@slow" }, async ({ page, server }) => {
  test.skip(!isPhone(page), "a wide window has room");
  for (let n = 0; n < 3; n++) {
    await server.hazard(`Flood - Old Harbour ${n}`, {
      severity_ID: "WARNING",
      latitude: 53.55 + n / 100,
      instruction: "Persons with interests along the river must move cars and cattle from the lower town. Then stay away.",
    });
  }
  await open(page, "#map=7/53.5/10");
  const rows = page.locator("#list .row");
  await expect(rows.nth(2).locator(".row-do")).toBeVisible();
  const lines = async (n: number) => {
    const row = rows.nth(n).locator(".row-do");
    return Math.round((await row.boundingBox())!.height / Number.parseFloat(await row.evaluate((e) => getComputedStyle(e).lineHeight)));
  };
  expect([await lines(0), await lines(1), await lines(2)]).toEqual([2, 1, 1]);
  await expect(rows.nth(2).locator(".row-headline")).toBeInViewport({ ratio: 1 });
  await expect(rows.nth(2).locator(".row-do")).toBeInViewport({ ratio: 1 });
  // Each is said whole: what and where come before the end of three lines.
  for (let n = 0; n < 3; n++) expect(await rows.nth(n).locator(".row-headline").evaluate((e) => e.scrollHeight - e.clientHeight)).toBeLessThanOrEqual(1);
});

test("where I am is shown, and no request tells the server of it", { tag: "@slow" }, async ({ page, server, context }) => {
  await context.grantPermissions(["geolocation"], { origin: server.url });
  await context.setGeolocation({ latitude: 53.6123, longitude: 10.0456 });
  const h = await server.hazard("Flood - Old Harbour");
  const sent: string[] = [];
  page.on("request", (r) => sent.push(`${r.url().split("#")[0]} ${r.postData() ?? ""} ${r.headers()["referer"] ?? ""}`));
  await open(page, "#map=3/0/0&list=all");
  await expect(row(page, h)).toBeVisible();
  if (isPhone(page)) { for (const name of ["Make the list larger", "Make the list smaller"]) await page.getByRole("button", { name }).click(); }
  await page.getByRole("button", { name: "Where I am" }).click();
  await expect(page).toHaveURL(/map=8\/53\.6123\/10\.0456/);
  await expect(page.locator("#list .row-facts").first()).toContainText("7.6 km away");
  await page.waitForTimeout(1_000);
  expect(sent.filter((s) => /53\.6|10\.04/.test(s))).toEqual([]);
});

test("it prints as a map with its legend, its list and its time", { tag: "@slow" }, async ({ page, server }) => {
  test.skip(isPhone(page), "paper is as wide for both");
  const h = await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING" });
  for (let n = 0; n < 65; n++) await server.hazard(`Tremor ${n}`, { severity_ID: "INFORMATION", latitude: 53.2 + n / 200 });
  await open(page, "#map=7/53.5/10");
  await expect(row(page, h)).toBeVisible();
  await expect(page.locator(".map-coming")).toHaveCount(0);
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint"))); // as browsers do, before the page has the shape of paper
  await page.emulateMedia({ media: "print" });
  const head = page.locator(".print-head");
  await expect(head.getByRole("heading", { name: /^Hazards as of \d/ })).toBeVisible();
  await expect(head.getByRole("list", { name: /Severity/ })).toContainText("Warning");
  const drawn = () =>
    head.locator("img").evaluate(async (e) => {
      const image = e as HTMLImageElement;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [64, 40];
      const c = canvas.getContext("2d")!;
      c.drawImage(image, 0, 0, 64, 40);
      return new Set(c.getImageData(0, 0, 64, 40).data).size;
    });
  await expect.poll(drawn, "colors of the map").toBeGreaterThan(10);
  await expect(head.locator(".print-map .rank")).toHaveText(["1"]);
  expect(await head.locator("img").evaluate((e) => (e as HTMLImageElement).naturalWidth)).toBe(900);
  await expect(page.locator("#list .row")).toHaveCount(66);
  for (const screen of [".header", ".filters", ".map-controls", ".stage"]) await expect(page.locator(screen).first()).toBeHidden();
  await page.emulateMedia({ media: "screen" });
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  await expectAccessible(page, "after printing");
});

test("going back closes the panel of a hazard, and the map stays", { tag: "@slow" }, async ({ page, server }) => {
  test.skip(!isPhone(page), "a wide window shows the list beside");
  const h = await server.hazard("Flood - Old Harbour");
  await open(page, "#map=7/53.5/10");
  await select(page, h);
  await page.goBack();
  await expect(panel(page)).toHaveCount(0);
  await expect(row(page, h)).toBeVisible();
});
