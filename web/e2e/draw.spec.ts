// Editing like drawing: corners, candidates, pictures, and two editors at once.
import { expect, isPhone, open, panel, select, test } from "./test";

test("a click on the first corner closes an area, and corners are dragged", async ({ page }) => {
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

test("merging offers what is probable, and a search finds the rest", async ({ page, server }) => {
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

test("an uploaded picture is shown", async ({ page, server }) => {
  const h = await server.hazard("Flood of the Elbe");
  const form = new FormData();
  form.set("product", JSON.stringify({ title: "The harbor", product_Type: "FILE_PRODUCT" }));
  form.set("file", new Blob([png], { type: "image/png" }), "harbor.png");
  await server.call("POST", `/hazards/${h.hazard_ID}/products`, form);
  await open(page);
  await select(page, h);
  await panel(page).locator("summary.product").filter({ hasText: "The harbor" }).click();
  await expect(panel(page).getByRole("img", { name: "The harbor" })).toHaveJSProperty("naturalWidth", 1);
});

test("an editor sees what another changes meanwhile, before anything is overwritten", async ({ page, server }) => {
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
