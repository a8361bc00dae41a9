import { visitor } from "./server";
import { expect, expectAccessible, isPhone, open, test } from "./test";

// G10.
test("users change their own password, and see and end their own logins", { tag: "@slow" }, async ({ page, server, watch }) => {
  watch.expectFailures(/40[013]/); // 403: what the page asks with its old token, while the password changes
  const login = (password: string) => fetch(`${server.url}/authorize`, { method: "POST", headers: { "User-Agent": "harbour-board/2.1" }, body: JSON.stringify({ username: visitor.name, password }) });
  const tokens = async () => (await (await login(visitor.password)).json()) as { accessToken: string; refreshToken: string };
  const reads = async (t: { accessToken: string }) => (await fetch(`${server.url}/hazards/active`, { headers: { Authorization: `Bearer ${t.accessToken}` } })).status;
  const board = await tokens();
  await open(page, "", visitor);
  await page.getByTitle("Account").click();
  await page.getByRole("button", { name: "Password and logins" }).click();
  const account = page.getByRole("dialog", { name: "Your account" });
  const logins = account.getByRole("region", { name: "Where you are logged in" });
  await expect(logins.getByRole("listitem")).toHaveCount(2);
  await expect(logins.getByRole("listitem").filter({ hasText: "This login" })).toContainText("Chrome");
  await expectAccessible(page, "account");

  // A login that is ended reads nothing more; this one goes on.
  expect(await reads(board)).toBe(200);
  await logins.getByRole("button", { name: "End the login of harbour-board/2.1 at 127.0.0.1" }).click();
  await expect(logins.getByRole("listitem")).toHaveCount(1);
  expect(await reads(board)).toBe(403);

  const fill = async (old: string, fresh: string, again = fresh) => {
    await account.getByLabel("Present password").fill(old);
    await account.getByLabel("New password", { exact: true }).fill(fresh);
    await account.getByLabel("New password again").fill(again);
    await account.getByLabel("New password again").press("Enter");
  };
  await fill("", "");
  await expect(account.getByText("is missing")).toHaveCount(3);
  await expect(account.getByLabel("Present password")).toBeFocused();
  await fill(visitor.password, "candle rhubarb glacier trumpet", "candle rhubarb glacier");
  await expect(account.getByText("is not the same as the new password")).toBeVisible();
  await fill("not the password of vera", "candle rhubarb glacier trumpet");
  await expect(account.getByText("This is not your present password.")).toBeVisible();
  await expect(account.getByLabel("Present password")).toBeFocused();
  await fill(visitor.password, "short");
  await expect(account.getByText(/at least 15/)).toBeVisible();
  await expect(account.getByLabel("New password", { exact: true })).toBeFocused();
  await expectAccessible(page, "account with faults");

  const other = await tokens();
  await fill(visitor.password, "candle rhubarb glacier trumpet");
  await expect(account.getByText("Your password is changed. All other logins of yours have ended.")).toBeVisible();
  await expect(logins.getByRole("listitem")).toHaveCount(1);
  expect(await reads(other)).toBe(403);
  expect((await login(visitor.password)).status).toBe(401);

  // The page goes on with its own new tokens, and follows what happens.
  await page.keyboard.press("Escape");
  await expect(account).toHaveCount(0);
  await expect(page.getByTitle("Account").and(page.getByRole("button"))).toBeFocused();
  const h = await server.hazard("Flood - Old Harbour");
  await expect(page.locator("#list .row").filter({ hasText: h.hazard_Name })).toBeVisible();
  if (isPhone(page)) expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
});
