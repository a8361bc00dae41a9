// The places of an organization: a member sees them on the map, when the member wants to, and in the panel; others see none.
import { expect, expectAccessible, open, reader, select, test } from "./test";
import type { Account } from "./server";

const member: Account = { name: "mia", password: "pebble saxophone tulip canyon" };
const clinics = "name;kind;lon;lat\nNorth clinic;hospital;10.0;53.56\nSouth depot;depot;10.02;53.45\nFar office;office;30;60\n";
const area = { type: "Polygon", coordinates: [[[9.9, 53.5], [10.1, 53.5], [10.1, 53.6], [9.9, 53.6], [9.9, 53.5]]] };

test.beforeEach(({ server }) => server.assets("RED", member, clinics));

test("a member sees places on the map and beside a hazard", { tag: "@slow" }, async ({ page, server }) => {
  const h = await server.hazard("Flood of the Elbe", { area });
  await open(page, "#map=9/53.55/10", member);
  const p = await select(page, h);
  await expect(p.getByText("1 of 3 assets are inside, 1 more within 25 km")).toBeVisible();
  await expect(p.getByText("North clinic").locator("..")).toContainText("hospital · RED · in the area");
  await expect(p.getByText("South depot").locator("..")).toContainText(/5\.\d km away/);
  await expect(p.getByText("Far office")).toHaveCount(0);
  await expectAccessible(page, "the panel with places");
  await p.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Legend" }).click();
  const choice = page.getByRole("region", { name: "Places of your organizations" });
  await choice.getByRole("checkbox").check();
  await expect(choice.getByRole("status")).toHaveText("In the window: 2");
  await expectAccessible(page, "the legend with places");
  await choice.getByRole("checkbox").uncheck();
  await expect(choice.getByRole("status")).toHaveText("");
});

test("who is in no organization is offered no places", { tag: "@slow" }, async ({ page, server }) => {
  const h = await server.hazard("Flood of the Elbe", { area });
  await open(page, "#map=9/53.55/10", reader);
  const p = await select(page, h);
  await expect(p.getByText("People in the area", { exact: true })).toBeVisible();
  await expect(p.getByText("assets")).toHaveCount(0);
  await p.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Legend" }).click();
  await expect(page.getByRole("heading", { name: "Legend" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Places of your organizations" })).toHaveCount(0);
});
