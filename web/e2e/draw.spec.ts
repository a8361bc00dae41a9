// Editing like drawing: corners, candidates, pictures, and two editors at once.
import { expect, expectAccessible, isPhone, open, panel, select, test } from "./test";

test("a click on the first corner closes an area, and corners are dragged", { tag: "@slow" }, async ({ page }) => {
  test.skip(isPhone(page), "by touch another day");
  await open(page, "#map=8/53.55/10");
  await page.getByTitle("Report a new hazard").click();
  await page.getByRole("button", { name: /^New hazard/ }).click();
  const form = page.getByRole("region", { name: "New hazard" });
  await form.getByLabel("Latitude").fill("53.5");
  await form.getByLabel("Longitude").fill("10");
  await form.getByText("Polygon", { exact: true }).click();
  const box = (await page.locator("#map").boundingBox())!;
  const at = (x: number, y: number) => [box.x + x, box.y + y] as const;
  for (const [x, y] of [[200, 300], [350, 300], [350, 450]] as const) await page.mouse.click(...at(x, y));
  const corners = form.getByLabel(/^Corners/);
  await expect(corners).toHaveValue(/^[^\n]+\n[^\n]+\n[^\n]+$/);
  await page.mouse.click(...at(202, 301));
  await expect(form.getByRole("button", { name: "Stop choosing" })).toHaveCount(0);
  await expect(corners).toHaveValue(/^[^\n]+\n[^\n]+\n[^\n]+$/);
  const before = (await corners.inputValue()).split("\n");
  await page.mouse.move(...at(350, 450));
  await page.mouse.down();
  await page.mouse.move(...at(300, 500), { steps: 4 });
  await page.mouse.up();
  await page.mouse.move(...at(100, 100));
  await expect.poll(async () => (await corners.inputValue()).split("\n")[2]).not.toBe(before[2]);
  expect((await corners.inputValue()).split("\n").slice(0, 2)).toEqual(before.slice(0, 2));
});

test("a distance around a line, and around what it closes, becomes the area", { tag: "@slow" }, async ({ page, server }) => {
  await open(page, "#map=8/-17.5/180");
  await page.getByTitle("Report a new hazard").click();
  await page.getByRole("button", { name: /^New hazard/ }).click();
  const form = page.getByRole("region", { name: "New hazard" });
  await form.getByLabel("Name").fill("Wave at Taveuni");
  await form.getByLabel("Latitude").fill("-17");
  await form.getByLabel("Longitude").fill("180");
  await form.getByText("Distance around", { exact: true }).click();
  const corners = form.getByLabel(/^Corners/);
  await corners.fill("-17, 179.5");
  await form.getByLabel("Distance in kilometres").fill("20");
  await expect(form.getByText(/^1,2\d\d km²/)).toBeVisible(); // a circle: 400 π
  await corners.fill("-17, 179.5\n-17, -179.5\n-16.5, -179.5");
  await expect(form.getByText(/^7,\d\d\d km²/)).toBeVisible(); // 162 km of line, on both sides, and its ends
  await form.getByRole("checkbox", { name: "Closed: around an area" }).press("Space");
  await expect(form.getByText(/^9,\d\d\d km²/)).toBeVisible(); // with the triangle in it
  await expectAccessible(page, "the form with a distance");
  await form.getByRole("button", { name: "Remove the last corner" }).click();
  await expect(corners).toHaveValue("-17, 179.5\n-17, -179.5");
  await form.getByRole("checkbox", { name: "Closed: around an area" }).uncheck();
  await form.getByLabel("Distance in kilometres").fill("3000");
  await expect(form.getByText(/km²/)).toHaveCount(0);
  await form.getByLabel("Distance in kilometres").fill("20");
  await form.getByLabel("Type").selectOption("TSUNAMI");
  await form.getByText("Advisory", { exact: true }).click();
  await form.getByRole("button", { name: "Create hazard" }).click();
  await expect.poll(async () => (await server.call<{ hazard_Name: string }[]>("GET", "/hazards/active")).map((h) => h.hazard_Name)).toContain("Wave at Taveuni");
  const [h] = await server.call<{ hazard_ID: number }[]>("GET", "/hazards/active");
  const { geometry } = await server.call<{ geometry: { type: string } }>("GET", `/hazards/${h!.hazard_ID}?f=geojson`);
  expect(JSON.stringify(geometry)).toContain("MultiPolygon"); // on either side of the antimeridian
});

test("the areas of a file, all or one, become the area", { tag: "@slow" }, async ({ page, server, watch }) => {
  watch.expectFailures(/400/); // a file without areas
  await open(page, "#map=8/53.55/10");
  await page.getByTitle("Report a new hazard").click();
  await page.getByRole("button", { name: /^New hazard/ }).click();
  const form = page.getByRole("region", { name: "New hazard" });
  await form.getByLabel("Name").fill("Flood of the quays");
  await form.getByText("File", { exact: true }).click();
  const square = (name: string, west: number) =>
    `<Placemark><name>${name}</name><Polygon><outerBoundaryIs><LinearRing><coordinates>${
      [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]].map(([x, y]) => `${west + x!},${53 + y!}`).join(" ")
    }</coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark>`;
  const kml = (marks: string) => ({
    name: "quays.kml",
    mimeType: "application/vnd.google-earth.kml+xml",
    buffer: Buffer.from(`<kml xmlns="http://www.opengis.net/kml/2.2"><Document>${marks}</Document></kml>`),
  });
  const input = form.getByLabel("File with the area");
  await input.setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("north of the bridge") });
  await expect(form.getByText(/^notes\.txt: .*it begins with "north of the/)).toBeVisible();
  await input.setInputFiles(kml(square("West quay", 9) + square("East quay", 11) + "<Placemark><Point><coordinates>1,2</coordinates></Point></Placemark>"));
  await expect(form.getByText("quays.kml")).toBeVisible();
  await expect(form.getByText("1 point or line was left out.")).toBeVisible();
  await expect(form.getByText(/^14,[67]\d\d km²/)).toBeVisible();
  await expect(form.getByLabel("Longitude")).toHaveValue("10.50000");
  await form.getByLabel("Area of the file").selectOption("East quay");
  await expect(form.getByText(/^7,3\d\d km²/)).toBeVisible();
  await expectAccessible(page, "the form with a file");
  await form.getByLabel("Longitude").fill("11.5");
  await form.getByLabel("Type").selectOption("FLOOD");
  await form.getByText("Advisory", { exact: true }).click();
  await form.getByRole("button", { name: "Create hazard" }).click();
  await expect.poll(async () => (await server.call<{ hazard_Name: string }[]>("GET", "/hazards/active")).map((h) => h.hazard_Name)).toContain("Flood of the quays");
  const h = (await server.call<{ hazard_ID: number; hazard_Name: string }[]>("GET", "/hazards/active")).find((one) => one.hazard_Name === "Flood of the quays");
  const { geometry } = await server.call<{ geometry: object }>("GET", `/hazards/${h!.hazard_ID}?f=geojson`);
  expect(JSON.stringify(geometry)).toContain("[11,53]");
  expect(JSON.stringify(geometry)).not.toContain("[9,53]");
});

test("merging offers what is probable, and a search finds the rest", { tag: "@slow" }, async ({ page, server }) => {
  const h = await server.hazard("Flood of the Elbe");
  await server.hazard("Flood of the Alster", { latitude: 53.6 });
  await server.hazard("Flood of the Danube", { latitude: 48.2, longitude: 16.4 });
  await open(page, "#list=all");
  await select(page, h);
  await panel(page).getByRole("button", { name: "Merge", exact: true }).click();
  const question = page.getByRole("dialog", { name: "Merge with another" });
  await expect(question.getByText("Flood of the Alster")).toBeVisible();
  await expect(question.getByText("Flood of the Danube")).toHaveCount(0);
  await question.getByLabel("Find the one that stays").fill("danube");
  await expect(question.getByText("Flood of the Danube")).toBeVisible();
});

const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

test("an uploaded picture is shown", { tag: "@slow" }, async ({ page, server }) => {
  const h = await server.hazard("Flood of the Elbe");
  const form = new FormData();
  form.set("product", JSON.stringify({ title: "The harbor", product_Type: "FILE_PRODUCT" }));
  form.set("file", new Blob([png], { type: "image/png" }), "harbor.png");
  await server.call("POST", `/hazards/${h.hazard_ID}/products`, form);
  await open(page);
  await select(page, h);
  const harbor = panel(page).getByRole("img", { name: "The harbor" });
  await harbor.scrollIntoViewIfNeeded(); // it is read when it comes into sight
  await expect(harbor).toHaveJSProperty("naturalWidth", 1);
});

test("an editor sees what another changes meanwhile, before anything is overwritten", { tag: "@slow" }, async ({ page, server }) => {
  const h = await server.hazard("Flood of the Elbe");
  await open(page);
  await select(page, h);
  await panel(page).getByRole("button", { name: "Edit", exact: true }).click();
  const form = page.getByRole("region", { name: "Edit hazard" });
  await form.getByLabel("Comment").fill("mine");
  await server.patch(h, { description: "The dike has broken." });
  await expect(form.getByText("ada has changed this hazard while you write.")).toBeVisible();
  await expect(form.locator(".clash-list")).toContainText("The dike has broken.");
  await expect(form.getByLabel("Comment")).toHaveValue("mine");
});

test("the area of a district is found by its name, and becomes the hazard's", { tag: "@slow" }, async ({ page, server }) => {
  await open(page, "#map=3/30/-90");
  await page.getByTitle("Report a new hazard").click();
  await page.getByRole("button", { name: /^New hazard/ }).click();
  const form = page.getByRole("region", { name: "New hazard" });
  await form.getByText("District or zone", { exact: true }).click();
  await form.getByLabel("Name of a place").fill("miami-dade, flor");
  await form.getByLabel("Name of a place").press("Enter");
  await expect(form.getByText("UGC:FLC086")).toBeVisible();
  await expect(form.getByLabel("Latitude")).toHaveValue(/^25\.\d+$/);
  await expectAccessible(page, "an area by its name");
  await form.getByLabel("Name").fill("Flood of Miami");
  await form.getByLabel("Type").selectOption({ label: "Flood" });
  await form.getByText("Advisory", { exact: true }).click();
  await form.getByRole("button", { name: "Create hazard" }).click();
  await expect(panel(page).getByRole("heading", { level: 2 })).toContainText("Flood of Miami");
  const [h] = (await server.call("GET", "/hazards/active")) as { uuid: string }[];
  const at = await server.call("GET", `/hazards?intersects=${encodeURIComponent("POINT(-80.5 25.6)")}`);
  expect(JSON.stringify(at)).toContain(h!.uuid);
});

test("a circle is dragged by its edge and its middle, over the antimeridian too", { tag: "@slow" }, async ({ page }) => {
  test.skip(isPhone(page), "by touch another day");
  await open(page, "#map=8/0/180");
  await page.getByTitle("Report a new hazard").click();
  await page.getByRole("button", { name: /^New hazard/ }).click();
  const form = page.getByRole("region", { name: "New hazard" });
  await form.getByLabel("Latitude").fill("0");
  await form.getByLabel("Longitude").fill("179.99");
  await form.getByText("Circle", { exact: true }).click();
  const radius = form.getByLabel("Radius in kilometres");
  const latitude = form.getByLabel("Latitude");
  await radius.fill("10");
  const box = (await page.locator("#map").boundingBox())!;
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const pixels = (km: number) => (km / 40_030) * 512 * 2 ** 8; // along the equator
  await page.mouse.move(x + pixels(8.9), y); // on the other side of the antimeridian
  await page.mouse.down();
  await page.mouse.move(x - pixels(41), y, { steps: 4 });
  await page.mouse.up();
  await expect.poll(async () => Math.round(Number(await radius.inputValue()) / 5)).toBe(8);
  await page.mouse.move(x - pixels(1.1), y);
  await page.mouse.down();
  await page.mouse.move(x - pixels(1.1), y + 100, { steps: 4 });
  await page.mouse.up();
  await expect(latitude).toHaveValue(/^-0\.\d+$/);
  // What is no circle is refused at its field.
  for (const none of ["0", "20000", "-1", "x"]) {
    await radius.fill(none);
    await expect(form.getByText(/km²/)).toHaveCount(0);
  }
});
