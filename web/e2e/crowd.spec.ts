// Many hazards at once: what the map and the list tell them apart by.
import type { Page as BrowserPage } from "@playwright/test";
import { expect, isPhone, expectAccessible, middle, open, panel, row, select, test } from "./test";

const names = (page: BrowserPage) => page.locator("#list .row-name");

// M10. One warning made all that was near it red.
test("a symbol shows the worst near it, and a touch lists all that it stands for", { tag: "@slow" }, async ({ page, server }) => {
  for (let n = 0; n < 6; n++) await server.hazard(`Tremor ${n}`, { type_ID: "EARTHQUAKE", severity_ID: n === 0 ? "WARNING" : "INFORMATION", latitude: 53.55 + n * 0.001 });
  await open(page, "#map=6/53.55/10");
  await page.locator("#map canvas").waitFor();
  const at = await middle(page);
  await expect(async () => {
    await page.mouse.click(at.x, at.y);
    await expect(page.locator(".chooser")).toContainText("Tremor 5", { timeout: 2_000 });
  }).toPass();
  await expect(page.locator(".chooser button").filter({ hasText: "Tremor" })).toHaveCount(6);
});

// M11. 30 rows were "Wildfire - Australia", with nothing to tell them apart.
test("rows tell where, how large and until when, and are sorted by time or distance", { tag: "@slow" }, async ({ page, server }) => {
  const end = String(Date.now() + 5.5 * 3_600_000);
  const box = (west: number, south: number) => ({ type: "Polygon", coordinates: [[[west, south], [west + 0.2, south], [west + 0.2, south + 0.2], [west, south + 0.2], [west, south]]] });
  await server.hazard("Wildfire - Germany", { type_ID: "WILDFIRE", severity_ID: "WARNING", latitude: 52.6, longitude: 9.8, end_Date: end, autoexpire: "Y", area: box(9.7, 52.5) });
  await server.hazard("Wildfire - Germany", { type_ID: "WILDFIRE", severity_ID: "WATCH", latitude: 53.75, longitude: 10, end_Date: end, autoexpire: "Y", area: box(9.9, 53.65) });
  await server.hazard("Storm - Baltic Sea", { type_ID: "STORM", severity_ID: "ADVISORY", latitude: 54.6, longitude: 10.4, description: "Gusts." });
  await open(page, "#map=7/53.5/10");
  if (isPhone(page)) await page.getByRole("button", { name: "Make the list larger" }).click();
  await expect(names(page)).toHaveText(["Wildfire - Germany", "Wildfire - Germany", "Storm - Baltic Sea"]);
  const facts = page.locator("#list .row-facts");
  await expect(facts.nth(0)).toContainText(/km (N|NE|E|SE|S|SW|W|NW) of \S+ · 300 km² · /);
  await expect(page.locator("#list .row-meta").nth(0)).toContainText("ends in 5 hr");
  await expect(facts.nth(1)).toContainText(/km N of Hamburg|km NE of/);
  await page.getByLabel("Sort by").selectOption("Time");
  await expect(names(page).first()).toHaveText("Storm - Baltic Sea");
  await expect(page).toHaveURL(/sort=time/);
  await page.getByLabel("Sort by").selectOption("Distance");
  await expect(row(page, { hazard_Name: "Wildfire - Germany" }).first()).toContainText("Watch");
  await expect(facts.nth(1)).toContainText(/10\d km away/);
  await expectAccessible(page, "rows with facts");
});

test("people read no identifiers of sources, and no text twice", { tag: "@slow" }, async ({ page, server }) => {
  const words = "Flash Flood Warning until 6 PM.\n\nWater covers the road at Marsh Creek.";
  const h = await server.hazard("Flood - Marsh Creek", { description: words, comment_Text: "nws:KSEW.FF.W.0001.2026" });
  await server.product(h, { title: "Text of the warning", product_Type: "TEXT_PRODUCT", data: "FLASH FLOOD WARNING UNTIL 6 PM.\n\nWATER COVERS THE ROAD\nAT MARSH CREEK." });
  await open(page, "#map=7/53.5/10");
  await select(page, h);
  await expect(panel(page)).not.toContainText("KSEW");
  const [sheet] = await Promise.all([page.waitForEvent("popup"), panel(page).getByRole("link", { name: "Page to print" }).click()]);
  await expect(sheet.getByText("Water covers the road at Marsh Creek.")).toBeVisible();
  await expect(sheet.locator("main")).not.toContainText("Commentnws");
  await expect(sheet.locator(".known")).not.toContainText("KSEW");
  await expect(sheet.getByText("The same words as above")).toBeVisible();
  await expect(sheet.getByText(/WATER COVERS/)).toBeHidden();
  await expectAccessible(sheet, "page with a text that says the same");
});

// L, 4. The level says how dangerous it is there; a duty officer reads first what is most important.
test("the list is in order of importance, and follows it; the panel says why in the reader's language", { tag: "@slow" }, async ({ page, server }) => {
  const little = await server.hazard("Little", { severity_ID: "INFORMATION" });
  await server.hazard("Flood", { severity_ID: "WARNING" });
  await server.hazard("Wave", { severity_ID: "WARNING", type_ID: "TSUNAMI" });
  await open(page, "#map=2/30/10");
  if (isPhone(page)) await page.getByRole("button", { name: "Make the list larger" }).click();
  await expect(page.getByLabel("Sort by")).toHaveValue("importance");
  await expect(names(page)).toHaveText(["Wave", "Flood", "Little"]);
  // A pin is in no record: the order alone changes.
  await server.patch(little, { pinned: "Y" });
  await expect(names(page)).toHaveText(["Little", "Wave", "Flood"]);
  await page.getByLabel("Sort by").selectOption("Level");
  await expect(names(page).last()).toHaveText("Little");
  await expect(page).toHaveURL(/sort=level/);
  await page.getByLabel("Sort by").selectOption("Importance");
  await expect(names(page).first()).toHaveText("Little");
  const before = new Date().toISOString();
  await server.patch(little, { pinned: "N" });
  await expect(names(page)).toHaveText(["Wave", "Flood", "Little"]);
  await page.goto(`/#map=2/30/10&at=${before}`); // the order of that moment
  await expect(names(page)).toHaveText(["Little", "Wave", "Flood"]);
  await page.goto("/#map=2/30/10");
  await expect(names(page)).toHaveText(["Wave", "Flood", "Little"]);
  await row(page, { hazard_Name: "Wave" }).click();
  await expect(panel(page)).toContainText("tsunami warning");
  await page.locator(".account .menu-button").click();
  await page.locator(".account select").first().selectOption("es");
  await expect(page.getByRole("definition").filter({ hasText: "Tsunami: Alerta" })).toBeVisible();
  await expect(page.locator(".panel")).not.toContainText("tsunami warning");
});
