import { readFileSync } from "node:fs";
import { editor, expect, expectAccessible, gate, isPhone, middle, open, panel, reader, row, select, test } from "./test";

test("a login that is not right is refused in words, one that is leads to the map, and out again", async ({ page, watch }) => {
  watch.expectFailures(/401/);
  await page.goto("/");
  await expectAccessible(page, "login");
  await page.getByLabel("User name").fill(reader.name);
  await page.getByLabel("Password").fill("not the password of rita");
  await page.getByLabel("Password").press("Enter");
  await expect(page.getByRole("alert")).toHaveText("The user name or the password is not right.");
  await page.getByLabel("Password").fill(reader.password);
  await page.getByLabel("Password").press("Enter");
  await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
  expect(await page.evaluate(() => [document.cookie, JSON.stringify({ ...localStorage, ...sessionStorage, "hazardd.view": undefined })])).toEqual(["", "{}"]);

  await page.getByTitle("Account").click();
  await expect(page.getByText("rita, reader")).toBeVisible();
  await page.getByRole("button", { name: "Log out" }).click();
  await expect(page.getByLabel("User name")).toBeFocused();
});

test("symbols stand on the map where the hazards are, also if they come late, and open them", async ({ page, server }) => {
  const flood = await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING" });
  const come = gate();
  await page.route(/\/symbols\//, async (route) => {
    await come.passed;
    await route.continue();
  });
  await open(page, "#map=8/53.55/10");
  await expect(row(page, flood)).toBeVisible();
  if (isPhone(page)) { for (const name of ["Make the list larger", "Make the list smaller"]) await page.getByRole("button", { name }).click(); }
  const at = await middle(page);
  // The halo of a warning is exactly this red, on any basemap.
  const red = async () => {
    const shot = await page.screenshot({ clip: { x: at.x - 24, y: at.y - 24, width: 48, height: 48 } });
    return page.evaluate(async (png) => {
      const image = new Image();
      image.src = `data:image/png;base64,${png}`;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [image.width, image.height];
      const c = canvas.getContext("2d")!;
      c.drawImage(image, 0, 0);
      const { data } = c.getImageData(0, 0, image.width, image.height);
      let n = 0;
      for (let i = 0; i < data.length; i += 4) if (data[i]! > 250 && data[i + 1]! < 5 && data[i + 2]! < 5) n++;
      return n;
    }, shot.toString("base64"));
  };
  await expect(page.locator(".map-coming")).toHaveCount(0); // all else is drawn
  come.open();
  await expect.poll(red).toBeGreaterThan(100);
  await page.mouse.click(at.x, at.y);
  await expect(panel(page).getByRole("heading", { name: flood.hazard_Name })).toBeFocused();
  await expect(page).toHaveTitle(/Flood - Old Harbour/);
});

test("filters narrow down the list, are in the address, and come back with it", { tag: "@slow" }, async ({ page, server }) => {
  const flood = await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING" });
  const fire = await server.hazard("Fire on the heath", { type_ID: "WILDFIRE", severity_ID: "ADVISORY", latitude: 53.2, longitude: 9.9 });
  const far = await server.hazard("Storm in Perth", { type_ID: "STORM", latitude: -31.9, longitude: 115.9 });
  const drill = await server.hazard("Practice flood", { category_ID: "EXERCISE", latitude: 53.4 });
  await open(page, "#map=7/53.5/10");
  // On a phone the filters are above the whole list.
  if (isPhone(page)) await page.getByRole("button", { name: "Make the list larger" }).click();
  await expect(row(page, flood)).toBeVisible();
  await expect(row(page, drill)).toContainText("EXERCISE");
  await expect(page.getByText("1 drill on this map, not real.")).toBeVisible();
  await expect(row(page, far)).toHaveCount(0);
  await page.getByLabel("Map area only").uncheck();
  await expect(row(page, far)).toBeVisible();

  await page.getByRole("group", { name: "Severity" }).getByRole("button", { name: "Advisory" }).click();
  await expect(row(page, fire)).toBeVisible();
  await expect(row(page, flood)).toHaveCount(0);
  await expect(page).toHaveURL(/severity=ADVISORY/);
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByRole("button", { name: "All types" }).click();
  await page.getByRole("dialog", { name: "Type" }).getByLabel("Storm").check();
  await page.keyboard.press("Escape");
  await expect(page.locator("#list .row")).toHaveCount(1);
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByLabel("Search names and descriptions").fill("heath");
  await expect(page.locator("#list .row")).toHaveCount(1);
  await select(page, fire);
  await expect(page).toHaveURL(new RegExp(`q=heath&list=all&h=${fire.uuid}`));

  // A colleague opens the address.
  const hash = new URL(page.url()).hash;
  await page.goto("about:blank");
  await page.goto(`/${hash}`);
  await page.getByLabel("User name").fill(reader.name);
  await page.getByLabel("Password").fill(reader.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await expect(panel(page).getByRole("heading", { level: 2 })).toContainText(fire.hazard_Name);
  await panel(page).getByRole("button", { name: "Close" }).click();
  await expect(page.getByLabel("Search names and descriptions")).toHaveValue("heath");
});

test("a hazard's panel tells all, its products can be walked, its file downloaded; its page needs no script", { tag: "@slow" }, async ({ page, server, browser }) => {
  const h = await server.hazard("Flood - Old Harbour", { description: "Water over the quay since 06:00. See https://example.org/quay" });
  const folder = await server.product(h, { title: "Situation reports", product_Type: "FOLDER_PRODUCT" });
  const inner = await server.product(h, { title: "Morning", product_Type: "FOLDER_PRODUCT", parent_ID: folder.product_ID });
  await server.product(h, { title: "Gauge at 06:10", product_Type: "TEXT_PRODUCT", data: "612 cm and rising", parent_ID: inner.product_ID });
  await server.product(h, { title: "Tide tables", product_Type: "URL_PRODUCT", data: "https://example.org/tides" });
  await server.product(h, { title: "Map of the quay", product_Type: "FILE_PRODUCT", parent_ID: folder.product_ID }, { name: "quay.csv", content: "gauge,cm\nquay,612\n" });
  await server.patch(h, { severity_ID: "ADVISORY" });

  await open(page, "#map=7/53.5/10", reader);
  const side = await select(page, h);
  await expect(side.getByRole("link", { name: "https://example.org/quay" })).toHaveAttribute("rel", /noopener/);
  await expect(side.getByText("53.550° N, 10.000° E")).toBeVisible();
  await expect(side.getByText("People in the area")).toBeVisible();
  await expect(side.getByText(/^[0-9]+ of 100/)).toBeVisible();
  const text = side.getByText("Gauge at 06:10");
  await text.click();
  await expect(side.getByText("612 cm and rising")).toBeVisible();
  await expect(side.getByRole("link", { name: /Tide tables/ })).toHaveAttribute("href", "https://example.org/tides");
  const [download] = await Promise.all([page.waitForEvent("download"), side.getByRole("button", { name: /Map of the quay/ }).click()]);
  expect(download.suggestedFilename()).toBe("quay.csv");
  expect(readFileSync(await download.path(), "utf8")).toBe("gauge,cm\nquay,612\n");
  await side.getByText("History").click();
  await expect(side.getByText("Watch → Advisory")).toBeVisible();
  await expectAccessible(page, "panel");

  const [sheet] = await Promise.all([page.waitForEvent("popup"), side.getByRole("link", { name: "Page to print" }).click()]);
  await expect(sheet.getByRole("heading", { level: 1 })).toContainText("Flood advisory for Old Harbour");
  await expect(sheet.getByText(h.hazard_Name, { exact: true })).toBeVisible();
  await expectAccessible(sheet, "page of a hazard");
  // On paper nothing says how long ago it was, and no links to other languages take a page of their own.
  await sheet.emulateMedia({ media: "print" });
  await expect(sheet.getByText("Reported by", { exact: true })).toBeVisible();
  for (const hidden of [".ago", ".when", "nav.languages"]) await expect(sheet.locator(hidden).first()).toBeHidden();
  await sheet.close();

  // The same page without JavaScript, by its own login, back to the map with the hazard open.
  const plain = await browser.newContext({ javaScriptEnabled: false, baseURL: server.url, viewport: page.viewportSize() });
  const leaf = await plain.newPage();
  await leaf.goto(`/h/${h.uuid}`);
  await leaf.getByLabel("User name").fill(editor.name);
  await leaf.getByLabel("Password").fill(editor.password);
  await leaf.getByRole("button", { name: "Log in" }).click();
  await expect(leaf.getByRole("heading", { level: 1 })).toContainText("Flood advisory for Old Harbour");
  await expect(leaf.getByText("612 cm and rising")).toBeAttached();
  await expect(leaf.getByRole("link", { name: "Open it in the large map" })).toHaveAttribute("href", `/#h=${h.uuid}`);
  await plain.close();
});

test("the page is accessible with its list, its menus, its legend and its slider", async ({ page, server }) => {
  await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING" });
  await server.hazard("Practice flood", { category_ID: "EXERCISE", latitude: 53.4 });
  await open(page, "#map=7/53.5/10");
  await expect(page.locator("#list .row")).toHaveCount(2);
  await expectAccessible(page, "map and list");
  if (isPhone(page)) await page.getByRole("button", { name: "Make the list larger" }).click(); // the filters are above the whole list
  await page.getByRole("button", { name: "All types" }).click();
  await expectAccessible(page, "choice of types");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /^Live/ }).click();
  await expectAccessible(page, "sources");
  await page.keyboard.press("Escape");
  if (isPhone(page)) await page.getByRole("button", { name: "Make the list smaller" }).click();
  await page.getByRole("button", { name: "Legend" }).click();
  await page.getByTitle("Look at another time").click();
  await expectAccessible(page, "legend and slider");
});

test("everything is done by keyboard", async ({ page, server }) => {
  const flood = await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING" });
  const fire = await server.hazard("Fire on the heath", { type_ID: "WILDFIRE", severity_ID: "ADVISORY", latitude: 53.2, longitude: 9.9 });
  const key = (k: string) => page.keyboard.press(k);
  await page.goto("/#map=7/53.5/10");
  await expect(page.getByLabel("User name")).toBeFocused();
  await page.keyboard.type(reader.name);
  await key("Tab");
  await page.keyboard.type(reader.password);
  await key("Enter");
  await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
  await key("/");
  await expect(page.getByLabel("Search names and descriptions")).toBeFocused();
  await expect(row(page, fire)).toBeVisible();
  await page.keyboard.type("heath");
  await expect(page.locator("#list .row")).toHaveCount(1);
  await key("Escape");
  await expect(page.locator("#list .row")).toHaveCount(2);
  await page.keyboard.press("Shift+Tab");
  // Forward to the list: one row is in the order of Tab, the arrows go on from there.
  for (let n = 0; n < 20 && !(await row(page, flood).evaluate((e) => e === document.activeElement)); n++) await key("Tab");
  await key("ArrowDown");
  await expect(row(page, fire)).toBeFocused();
  await key("Enter");
  await expect(panel(page).getByRole("heading", { name: fire.hazard_Name })).toBeFocused();
  await expect(page).toHaveURL(new RegExp(fire.uuid));
  await key("Escape");
  await expect(panel(page)).toHaveCount(0);
  if (!isPhone(page)) await expect(row(page, fire)).toBeFocused();
  // The map itself: arrows move it.
  const before = page.url();
  await expect(async () => {
    await page.locator("#map canvas").focus();
    await key("ArrowRight");
    expect(page.url()).not.toBe(before);
  }).toPass();
});

// M7. At the scale of a city there was nothing but an outline that is too smooth, down to houses.
test("the page of a hazard shows land and towns; the map ends where its ground ends, and says why", { tag: "@slow" }, async ({ page, server }) => {
  const h = await server.hazard("Flood - Seattle", { latitude: 47.6, longitude: -122.33 });
  await open(page, "#map=15/47.6/-122.33");
  await expect(page.getByText("The map ends here: its ground has no streets")).toBeAttached();
  await expect(page).toHaveURL(/map=13\/47\.6\/-122\.33/);
  await select(page, h);
  const [sheet] = await Promise.all([page.waitForEvent("popup"), panel(page).getByRole("link", { name: "Page to print" }).click()]);
  const drawn = await (await sheet.request.get(`/h/${h.uuid}/map.svg`)).text();
  expect(drawn).toContain(">Seattle</text>");
  await expect(sheet.getByText(/towns: GeoNames/)).toBeVisible();
  await expectAccessible(sheet, "page with its map");
});
