// The past: how much was active in it, playing through it, and what is new since the last look.
import type { Page as BrowserPage } from "@playwright/test";
import { expect, expectAccessible, isPhone, open, panel, reader, row, test } from "./test";

const bar = (page: BrowserPage) => page.getByRole("region", { name: "Look at another time" });

async function openTime(page: BrowserPage) {
  if (isPhone(page)) { for (const name of ["Make the list larger", "Make the list smaller"]) await page.getByRole("button", { name }).click(); }
  await page.getByTitle("Look at another time").click();
  await expect(bar(page)).toBeVisible();
}

test("the slider has a histogram; what is not recorded is marked, and is not shown as none", { tag: "@slow" }, async ({ page }) => {
  await open(page, "", reader);
  await openTime(page);
  const bars = bar(page).locator(".timebar-bars");
  await expect(bars).toHaveAttribute("data-known", "24");
  await expect(bars.locator(".unknown")).not.toHaveCount(0); // the service is younger than a day
  await page.route("**/hazards/count?*", (route) => {
    const warnings = route.request().url().includes("WARNING");
    return route.fulfill({ json: { count: warnings ? 5 : 20 }, headers: { "Hazardd-Change": "7" } });
  });
  await bar(page).getByRole("combobox").selectOption("30 days");
  await expect(bars).toHaveAttribute("data-known", "24");
  expect(await bars.locator("g").count()).toBeGreaterThanOrEqual(23); // the latest may be one of the last day's moments, and is not asked again
  await expect(bars.locator("g").first().locator("rect").first()).toHaveAttribute("height", "22");
  await expect(bars.locator("g .warnings").first()).toHaveAttribute("height", "5.5");
  await expectAccessible(page, "the slider with its histogram");
});

test("the past is played, from the range's beginning to the present", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood of the Elbe");
  await open(page, "", reader);
  await openTime(page);
  const slider = bar(page).getByRole("slider");
  await bar(page).getByRole("button", { name: "Play" }).focus();
  await page.keyboard.press("Enter");
  await expect(slider).toHaveValue("0");
  await expect(slider).not.toHaveValue("0"); // it goes on
  await bar(page).getByRole("button", { name: "Pause" }).click();
  await expect(bar(page).getByRole("button", { name: "Play" })).toBeVisible();
  await slider.fill("284");
  await expect(page).toHaveURL(/at=/);
  await bar(page).getByRole("button", { name: "Play" }).click();
  await expect(bar(page).locator("output")).toHaveText("Live");
  await expect(bar(page).getByRole("button", { name: "Play" })).toBeVisible();
  await expect(page).not.toHaveURL(/at=/);
});

test("the moment that is asked for is the moment that is shown, asked of the server and in the address, in the chosen zone", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood of the Elbe");
  await open(page, "", reader);
  await openTime(page);
  const exact = bar(page).getByLabel("Exact time");
  const asked = (at: string) => page.waitForRequest((r) => new URL(r.url()).searchParams.get("at") === at);
  const expectMoment = async (at: Date, input: string, shown: RegExp) => {
    await expect(exact).toHaveValue(input);
    await expect(bar(page).locator("output")).toHaveText(shown);
    expect(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("at")).toBe(at.toISOString().replace(".000Z", "Z"));
  };
  const berlin = (at: Date) => at.toLocaleString("sv-SE", { timeZone: "Europe/Berlin" }).slice(0, 16).replace(" ", "T");
  const utc = (at: Date) => at.toISOString().slice(0, 16);
  await bar(page).getByRole("combobox").selectOption("30 days"); // a step of the slider is two and a half hours
  const past = new Date(Math.floor(Date.now() / 86_400_000 - 5) * 86_400_000 + 7 * 60_000);
  await Promise.all([asked(past.toISOString()), exact.fill(berlin(past))]);
  await expectMoment(past, berlin(past), /00:07 UTC\s*$/);
  // What was two minutes ago is not "now".
  const recent = new Date(Math.floor(Date.now() / 60_000 - 2) * 60_000);
  await Promise.all([asked(recent.toISOString()), exact.fill(berlin(recent))]);
  await expectMoment(recent, berlin(recent), /UTC\s*$/);
  // The field is in the zone that is chosen, and the moment stays.
  await page.getByTitle("Account").click();
  await page.getByLabel("Times in").selectOption("utc");
  await page.keyboard.press("Escape");
  await expectMoment(recent, utc(recent), /UTC\s*$/);
  await Promise.all([asked(past.toISOString()), exact.fill(utc(past))]);
  await expectMoment(past, utc(past), /00:07 UTC\s*$/);
});

test("since the last look: what is new, changed and ended, by this browser's memory alone", { tag: "@slow" }, async ({ page, server }) => {
  const stays = await server.hazard("Flood that stays");
  const worse = await server.hazard("Flood that grows");
  const over = await server.hazard("Flood that ends");
  await open(page, "", reader);
  await openTime(page);
  await expect(bar(page).getByRole("button", { name: /^Since you last looked/ })).toHaveCount(0); // the first look
  await expect(row(page, stays)).toHaveCount(1);
  await page.goto("/robots.txt");
  await expect.poll(() => page.evaluate(() => localStorage.getItem("hazardd.looked"))).not.toBeNull();
  await server.patch(worse, { severity_ID: "WARNING" });
  await server.patch(over, { status: "E" });
  await server.hazard("Flood that came");
  await server.hazard("Drill that came", { category_ID: "EXERCISE" });
  await open(page, "", reader);
  await expect(row(page, { hazard_Name: "Flood that came" })).toHaveCount(1);
  await openTime(page);
  const since = bar(page).locator(".since");
  await since.getByRole("button", { name: /^Since you last looked/ }).click();
  const part = (name: string) => since.locator("section").filter({ has: page.getByRole("heading", { name }) });
  await expect(part("New: 1").getByRole("button")).toContainText("Flood that came");
  await expect(part("Changed: 1").getByRole("button")).toContainText("Flood that grows");
  await expect(part("Ended: 1").getByRole("button")).toContainText("Flood that ends");
  await expect(since).not.toContainText("stays");
  await expect(since).not.toContainText("Drill");
  await expectAccessible(page, "what is new since the last look");
  await part("Ended: 1").getByRole("button").click();
  await expect(panel(page).getByRole("heading", { level: 2 })).toContainText(/flood that ends/i);
});

test("of a last look before the first record the page says that it knows nothing", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood of the Elbe");
  await page.addInitScript(() => localStorage.setItem("hazardd.looked", String(Date.now() - 86_400_000)));
  await open(page, "", reader);
  await openTime(page);
  await bar(page).getByRole("button", { name: "Since you last looked, 1 day ago" }).click();
  await expect(bar(page).locator(".since")).toContainText("Nothing is recorded of that time");
});

test("what the map says stands above the time bar, and a row says its kind whole", { tag: "@slow" }, async ({ page, server }) => {
  const area = { type: "Polygon", coordinates: [[[9.5, 53.3], [10.5, 53.3], [10.5, 53.8], [9.5, 53.8], [9.5, 53.3]]] };
  await server.hazard("Heat in the inland", { type_ID: "EXTREMETEMPERATURE", category_ID: "RESPONSE", severity_ID: "INFORMATION", area });
  for (const [id, dir] of [["en", "ltr"], ["ar", "rtl"]] as const) {
    await page.goto("about:blank");
    await open(page, "#map=13/53.5/10", reader);
    await page.getByTitle("Account").click();
    await page.getByLabel("Language").selectOption(id);
    await expect(page.locator("html")).toHaveAttribute("dir", dir);
    await page.keyboard.press("Escape");
    const kind = page.locator("#list .row-kind");
    await expect(kind).toBeVisible();
    expect(await kind.evaluate((k) => [k, k.parentElement!].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.className)), id).toEqual([]);
    if (isPhone(page)) { for (const size of ["sheet-full", "sheet-peek"]) await Promise.all([page.locator(".side .sheet-handle").click(), page.locator(`.${size}`).waitFor()]); }
    await page.locator(".header-button:has(.icon-clock)").click();
    const note = page.locator(".map-note");
    await expect(note).toBeVisible();
    const time = page.locator(".timebar");
    await expect(time).toBeVisible();
    await expect.poll(async () => {
      const [n, t, m] = await Promise.all([note.boundingBox(), time.boundingBox(), page.locator(".stage").boundingBox()]);
      return n !== null && t !== null && m !== null && n.y + n.height <= t.y && n.y >= m.y && n.x >= m.x && n.x + n.width <= m.x + m.width;
    }, id).toBe(true);
    await page.evaluate(() => localStorage.clear());
  }
});
