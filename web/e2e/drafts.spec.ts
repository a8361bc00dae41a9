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

test("an author sees a warning wait, and takes it back by keyboard", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING" });
  await open(page);
  const waiting = page.getByRole("region", { name: "Waiting for a second person" });
  await expect(waiting.getByText("Flood - Old Harbour", { exact: true })).toBeVisible();
  await expect(waiting.getByText(/may decide: .?bea/)).toBeVisible();
  await expect(waiting.getByText("nobody has seen it yet")).toBeVisible();
  await expectAccessible(page, "drafts");
  await waiting.getByRole("button", { name: "Remind others of: Flood - Old Harbour" }).press("Enter");
  await expect(waiting.getByText("Reminded.")).toBeVisible();
  await waiting.getByRole("button", { name: "Withdraw: Flood - Old Harbour" }).press("Enter");
  await expect(waiting).toHaveCount(0);
  expect(await server.call("GET", "/drafts")).toEqual([]);
});

test("another editor is called, reviews it and approves it after one more question; its author learns that later", { tag: "@ci" }, async ({ page, server, browser }) => {
  await server.hazard("Flood - New Harbour", { severity_ID: "WARNING", description: "Go upstairs." });
  await open(page, "", second);
  const waiting = page.getByRole("region", { name: "Waiting for a second person" });
  await expect(waiting.getByText("Waits for your approval")).toBeVisible();
  await expect(page).toHaveTitle(/^\(1\)/);
  await expect(row(page, { hazard_Name: "Flood - New Harbour" })).toHaveCount(0);
  await waiting.getByRole("button", { name: "Review: Flood - New Harbour" }).press("Enter");
  const review = page.getByRole("region", { name: "Review" });
  await expect(review.getByText("Go upstairs.", { exact: true })).toBeVisible();
  await expect(review.getByText("It is new: nothing stands there now.")).toBeVisible();
  await expectAccessible(page, "review");
  await review.getByRole("button", { name: "Approve and send" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Send now" }).click();
  await expect(row(page, { hazard_Name: "Flood - New Harbour" })).toHaveCount(1);
  await expect(waiting).toHaveCount(0);
  expect(await server.call("GET", "/drafts")).toEqual([]);

  const context = await browser.newContext({ baseURL: server.url });
  const author = await context.newPage();
  await open(author);
  const outcome = author.getByRole("region", { name: "Waiting for a second person" });
  await expect(outcome.getByText(/bea.? approved it: it is published/)).toBeVisible();
  await expect(author).toHaveTitle(/^\(\d+\)/);
  await expectAccessible(author, "outcome");
  await outcome.getByRole("button", { name: "Dismiss" }).click();
  await expect(outcome).toHaveCount(0);
  await context.close();
});

test("the button says that a second person is asked, and the card stays", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood - Third Harbour", { severity_ID: "WATCH" });
  await open(page);
  await row(page, { hazard_Name: "Flood - Third Harbour" }).click();
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.locator(".severities").getByText("Warning").click();
  await page.getByRole("button", { name: "Save" }).click();
  const ask = page.getByRole("dialog");
  await expect(ask.getByText("a second person has to approve it first")).toBeVisible();
  await ask.getByRole("checkbox").check();
  await ask.getByRole("button", { name: "Ask a second person" }).click();
  await expect(page.getByRole("region", { name: "Waiting for a second person" }).getByText("Flood - Third Harbour")).toBeVisible();
});
