// The search for places: the map goes there, and the list says what is there.
import { expect, expectAccessible, isPhone, open, reader, row, test } from "./test";

test("a place is found by its name, and the map and the list go there", { tag: "@ci" }, async ({ page, server }) => {
  const here = await server.hazard("Flood of the Danube", { latitude: 48.2, longitude: 16.4 });
  const away = await server.hazard("Flood of the Elbe");
  await open(page);
  if (isPhone(page)) { for (let i = 0; i < 2; i++) await page.locator(".sheet-handle").click(); // the map is free again
   }
  await page.getByRole("button", { name: "Find a place" }).click();
  const search = page.getByRole("region", { name: "Find a place" });
  const name = search.getByLabel("Name of a place");
  await expect(name).toBeFocused();
  await name.fill("vien");
  await expect(search.getByRole("status")).toHaveText(/^\d+ places$/);
  await expectAccessible(page, "the search for places");
  for (const button of await search.getByRole("button").all()) expect((await button.boundingBox())!.height).toBeGreaterThanOrEqual(isPhone(page) ? 44 : 24);
  await name.press("ArrowDown");
  await expect(search.getByRole("listitem").first().getByRole("button")).toBeFocused();
  await page.keyboard.press("ArrowUp");
  await name.fill("VIENNA, nowhere");
  await expect(search.getByRole("status")).toHaveText(/^No place of this name/);
  await name.fill("Vienna, austr");
  await name.press("Enter");
  await expect(page).toHaveURL(/#map=9\/48\.2\d*\/16\.3\d*/);
  if (isPhone(page)) {
    await expect(search).toHaveCount(0);
    await page.getByRole("button", { name: "Make the list larger" }).click();
  }
  await expect(row(page, here)).toBeVisible();
  await expect(row(page, away)).toHaveCount(0);
});

test("the search for places says what is wrong, takes whatever is typed, and closes by Escape", { tag: "@slow" }, async ({ page, watch }) => {
  await open(page);
  if (isPhone(page)) { for (let i = 0; i < 2; i++) await page.locator(".sheet-handle").click(); }
  const button = page.getByRole("button", { name: "Find a place" });
  await button.click();
  const search = page.getByRole("region", { name: "Find a place" });
  const name = search.getByLabel("Name of a place");
  for (const typed of ["🌊", ",,,", "x\u0007y", "\u202eanneiV", "<b>"]) await name.fill(typed);
  await name.fill("x".repeat(10_000));
  await expect(search.getByRole("status")).toHaveText(/^No place of this name/);
  watch.expectFailures(/503/);
  await page.route("**/places?*", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: "{}" }));
  await name.fill("Vienna");
  await expect(search.getByRole("status")).toHaveText("The search did not succeed.");
  await name.press("Escape");
  await expect(search).toHaveCount(0);
  await expect(button).toBeFocused();
});

test("countries are found in the language of the reader, from right to left too", { tag: "@slow" }, async ({ browser, server }) => {
  const context = await browser.newContext({ locale: "ar-EG", baseURL: server.url, viewport: { width: 360, height: 740 } });
  const page = await context.newPage();
  await page.goto("/#map=3/20/0");
  await page.getByLabel("اسم المستخدم").fill(reader.name);
  await page.getByLabel("كلمة المرور").fill(reader.password);
  await page.getByRole("button", { name: "تسجيل الدخول" }).click();
  await page.getByRole("button", { name: "البحث عن مكان" }).click();
  const search = page.getByRole("region", { name: "البحث عن مكان" });
  await search.getByLabel("اسم مكان").fill("اليابان");
  await expect(search.getByRole("listitem")).toHaveText([/^اليابان/]);
  await expectAccessible(page, "the search for places in Arabic");
  await search.getByRole("listitem").getByRole("button").click();
  // All of Japan, and the list of what is there.
  await expect(page).toHaveURL(/#map=\d\.\d+\/3\d\.\d+\/13\d\.\d+/);
  await expect(search).toHaveCount(0);
  await context.close();
});
