// The map in other languages than English, one of which is read from right to left.
import { expect, expectAccessible, expectNothingWider, isPhone, reader, test } from "./test";
import { languages } from "../words.mjs";

const long = "SEVERE FLOODING IS EXPECTED. Move to higher ground.";

test("a reader of Arabic gets the map in Arabic, from right to left, with the texts of alerts as they are", { tag: "@ci" }, async ({ browser, server }) => {
  const h = await server.hazard("Flood of the Elbe", {
    severity_ID: "WARNING",
    description: long,
    area: { type: "Polygon", coordinates: [[[9.5, 53.3], [10.5, 53.3], [10.5, 53.8], [9.5, 53.8], [9.5, 53.3]]] },
  });
  const context = await browser.newContext({ locale: "ar-EG", baseURL: server.url });
  const page = await context.newPage();
  if (test.info().project.name === "phone") await page.setViewportSize({ width: 360, height: 740 });
  const loaded: string[] = [];
  page.on("request", (r) => loaded.push(r.url()));
  await page.goto("/#map=8/53.5/10");
  await expect(page.locator("html")).toHaveAttribute("dir", "rtl");
  await expect(page.locator("html")).toHaveAttribute("lang", "ar");
  await expectAccessible(page, "the login in Arabic");
  await page.getByLabel("اسم المستخدم").fill(reader.name);
  await page.getByLabel("كلمة المرور").fill(reader.password);
  await page.getByRole("button", { name: "تسجيل الدخول" }).click();
  await expect(page.getByRole("button", { name: /^مباشر/ })).toBeVisible();
  if (isPhone(page)) await page.getByRole("button", { name: "تكبير القائمة" }).click();
  const row = page.locator("#list .row").filter({ hasText: h.hazard_Name });
  await expect(row).toContainText("فيضان");
  await expect(row).toContainText("تحذير");
  // The list is on the right, and its text begins there.
  if (!isPhone(page)) {
    const side = (await page.locator(".side").boundingBox())!;
    expect(side.x + side.width).toBe(page.viewportSize()!.width);
  }
  await expectAccessible(page, "the list in Arabic");
  await row.click();
  const panel = page.getByRole("region", { name: "الخطر المحدد" });
  await expect(panel.getByText(long)).toHaveCSS("direction", "ltr");
  await expect(panel.locator(".facts").first()).toHaveCSS("direction", "rtl");
  if (!isPhone(page)) { // it takes the place of the list
    const box = (await panel.boundingBox())!;
    expect(box.x + box.width).toBe(page.viewportSize()!.width);
  }
  await expectAccessible(page, "the panel in Arabic");
  // One language is loaded, and no other.
  expect([...new Set(loaded.filter((u) => u.includes("words-")).map((u) => /words-(\w+)-/.exec(u)![1]))]).toEqual(["ar"]);
  await context.close();
});

test("times with long names of zones stay in the panel, in Arabic too", { tag: "@slow" }, async ({ browser, page, server }) => {
  // Another day in UTC than in the zone of the reader, at any hour that this runs: the longest that a line of times gets.
  const evening = (years: number) => String(Date.UTC(new Date().getUTCFullYear() + years, 10, 26, 6));
  const h = await server.hazard("Flood of the Elbe", { severity_ID: "WARNING", start_Date: evening(-1), end_Date: evening(2) });
  for (const locale of ["en-GB", "ar-EG"]) {
    const context = await browser.newContext({ locale, timezoneId: "America/Los_Angeles", baseURL: server.url, viewport: page.viewportSize() });
    const reading = await context.newPage();
    await reading.goto(`/#h=${h.uuid}`);
    await reading.locator("form input").first().fill(reader.name);
    await reading.locator("form input").nth(1).fill(reader.password);
    await reading.locator("form button").click();
    const panel = reading.locator("#panel");
    await expect(panel.locator(".facts").filter({ hasText: "UTC" })).toBeVisible(); // people may stand before the times
    await expect(panel.locator(".facts").nth(1)).toBeVisible();
    await expect(panel.locator("dd", { has: reading.locator("bdi") }).first()).toHaveText(/\S \S+ ada$/); // with spaces between the words
    await expectNothingWider(panel);
    await context.close();
  }
});

test("the language is chosen in the menu, without another login, and stays; each is accessible, and says when nobody has checked it", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood of the Elbe", { severity_ID: "WARNING" });
  await page.goto("/");
  await page.getByLabel("User name").fill(reader.name);
  await page.getByLabel("Password").fill(reader.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await expect(page.locator(".status-words")).toHaveText("Live");
  await page.locator(".account .menu-button").click();
  for (const { language: l, ...words } of languages()) {
    await page.locator(".account select").first().selectOption(l.id);
    await expect(page.locator("html")).toHaveAttribute("lang", l.id);
    await expect(page.locator("html")).toHaveAttribute("dir", l.dir);
    const map = words["map"] as { status: { live: string }; language: { unchecked: string }; filter: { search: string } };
    await expect(page.locator(".status-words")).toHaveText(map.status.live);
    await expect(page.locator("#search")).toHaveAttribute("placeholder", map.filter.search);
    await expect(page.getByText(map.language.unchecked)).toHaveCount(l.checked ? 0 : 1);
    await expectAccessible(page, `the map in ${l.id}`);
  }
  await page.locator(".account select").first().selectOption("ja");
  await expect(page.locator("html")).toHaveAttribute("lang", "ja");
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("lang", "ja");
});

test("times are in the device's zone, in UTC, or in that of the hazard", { tag: "@slow" }, async ({ page, server }) => {
  const h = await server.hazard("Flood of Tokyo", { latitude: 35.68, longitude: 139.69, start_Date: String(Date.UTC(2026, 0, 15, 12)) });
  await page.goto(`/#h=${h.uuid}`);
  await page.getByLabel("User name").fill(reader.name);
  await page.getByLabel("Password").fill(reader.password);
  await page.getByRole("button", { name: "Log in" }).click();
  const start = page.locator(".facts dt", { hasText: "Start" }).first().locator("+ dd");
  await expect(start).toContainText("15 Jan 2026, 13:00 CET");
  await page.locator(".account .menu-button").click();
  const zones = page.getByLabel("Times in");
  await zones.selectOption("utc");
  await expect(start).toContainText("15 Jan 2026, 12:00 UTC");
  await zones.selectOption("hazard");
  await expect(start).toContainText("15 Jan 2026, 21:00 GMT+9");
});

test("texts of hazards come in the language that is chosen in the menu, where their authority writes in it", { tag: "@slow" }, async ({ page, server }) => {
  const texts = [{ language: "en", instruction: "Go up." }, { language: "es", name: "Inundación del Elba", description: "El agua sube." }];
  const h = await server.hazard("Flood of the Elbe", { description: "The water rises.", texts });
  await page.goto(`/#h=${h.uuid}`);
  await page.getByLabel("User name").fill(reader.name);
  await page.getByLabel("Password").fill(reader.password);
  await page.getByRole("button", { name: "Log in" }).click();
  const panel = page.locator("#panel");
  await expect(panel).toContainText("The water rises.");
  await page.locator(".account .menu-button").click();
  await page.locator(".account select").first().selectOption("es");
  await expect(panel.getByRole("heading", { level: 2 })).toContainText("Inundación del Elba");
  await expect(panel).toContainText("El agua sube.");
  // What changes later comes in that language too.
  await server.patch(h, { texts: [texts[0], { ...texts[1], description: "El agua baja." }] });
  await expect(panel).toContainText("El agua baja.");
  await page.locator(".account select").first().selectOption("fr");
  await expect(panel).toContainText("The water rises.");
});
