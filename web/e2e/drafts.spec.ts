// Two people publish a WARNING: who drafts it is told that it waits, and sees among the sources whom it would reach.
import { expect, expectAccessible, open, row, test as base } from "./test";
import { type Account, Server } from "./server";

const second: Account = { name: "bea", password: "compass walnut glacier ribbon" };

const test = base.extend<{}, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = await Server.start("--approve-warnings");
      server.add(second, "editor");
      await use(server);
      await server.remove();
    },
    { scope: "worker" },
  ],
});

test("an editor learns that a warning waits for a second person, and refuses the own draft by keyboard", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING" });
  await open(page);
  await page.getByRole("button", { name: /^Live/ }).click();
  const drafts = page.getByRole("region", { name: "Waiting for a second person" });
  await expect(drafts.getByText("Flood - Old Harbour", { exact: true })).toBeVisible();
  await expect(drafts.getByText("Somebody else has to approve it.")).toBeVisible();
  await expectAccessible(page, "drafts");
  await drafts.getByRole("button", { name: "Refuse: Flood - Old Harbour" }).press("Enter");
  await drafts.getByLabel("Why not").fill("a false alarm");
  await drafts.getByLabel("Why not").press("Enter");
  await expect(drafts.getByText("Flood - Old Harbour is not published.")).toBeVisible();
  expect(await server.call("GET", "/drafts")).toEqual([]);
});

test("another editor approves it, and then it is shown", async ({ page, server }) => {
  await server.hazard("Flood - New Harbour", { severity_ID: "WARNING" });
  await open(page, "", second);
  await page.getByRole("button", { name: /^Live/ }).click();
  const drafts = page.getByRole("region", { name: "Waiting for a second person" });
  await expect(row(page, { hazard_Name: "Flood - New Harbour" })).toHaveCount(0);
  await drafts.getByText("Flood - New Harbour", { exact: true }).waitFor();
  await drafts.getByRole("button", { name: "Approve and publish: Flood - New Harbour" }).click();
  await expect(drafts.getByText("Flood - New Harbour is published.")).toBeVisible();
  await expect(row(page, { hazard_Name: "Flood - New Harbour" })).toHaveCount(1);
  expect(await server.call("GET", "/drafts")).toEqual([]);
});
