import { expect, expectAccessible, isPhone, open, test } from "./test";

// G10: users and organizations are managed in the map too.
test("an administrator adds, changes, shuts out and removes users, and adds organizations", { tag: "@slow" }, async ({ page, server, watch }) => {
  watch.expectFailures(/40[0139]|422/);
  const chief = { name: "chief", password: "walnut harbour trumpet lichen" };
  server.add(chief, "admin");
  const login = async (password: string) => (await fetch(`${server.url}/authorize`, { method: "POST", body: JSON.stringify({ username: "mara", password }) })).status;
  await open(page, "", chief);
  await page.getByTitle("Account").click();
  await page.getByRole("button", { name: "Users and organizations" }).click();
  const dialog = page.getByRole("dialog", { name: "Users and organizations" });
  const users = dialog.getByRole("region", { name: "Users" });
  const orgs = dialog.getByRole("region", { name: "Organizations" });
  await expect(users.getByRole("listitem").filter({ hasText: "rita" })).toContainText("reader");
  await expectAccessible(page, "users");

  await orgs.getByText("Add an organization").click();
  await orgs.getByLabel("Short name").fill("two words");
  await orgs.getByLabel("Name", { exact: true }).fill("Fire brigade");
  await orgs.getByRole("button", { name: "Add", exact: true }).click();
  await expect(orgs.locator(".fault").filter({ hasText: /./ })).toBeVisible();
  await expectAccessible(page, "users with a fault");
  await orgs.getByLabel("Short name").fill("FIRE");
  await orgs.getByRole("button", { name: "Add", exact: true }).click();
  await expect(orgs.getByRole("listitem").filter({ hasText: "FIRE" })).toContainText("Fire brigade");

  await users.getByText("Add a user").click();
  await users.getByLabel("Name", { exact: true }).fill("Mara Holm");
  await users.getByRole("button", { name: "Add", exact: true }).click();
  await expect(users.locator(".fault").filter({ hasText: /./ })).toBeVisible();
  await users.getByLabel("Name", { exact: true }).fill("mara");
  await users.getByLabel("Role").selectOption("editor");
  await users.getByRole("checkbox", { name: "FIRE" }).check();
  await users.getByRole("button", { name: "Add", exact: true }).click();
  const row = users.getByRole("listitem").filter({ hasText: /^mara/ });
  await expect(row).toContainText("editor, FIRE");
  const password = await users.locator(".made code").innerText();
  expect(await login(password)).toBe(200);
  await expectAccessible(page, "users with a password");

  // Another password: the one before is void.
  await row.getByRole("button", { name: "Change mara" }).click();
  await row.getByRole("button", { name: "New password" }).click();
  await expect(users.locator(".made code")).not.toHaveText(password);
  expect(await login(password)).toBe(401);
  const second = await users.locator(".made code").innerText();

  await row.getByRole("button", { name: "Change mara" }).click();
  await row.getByLabel("Role").selectOption("reader");
  await row.getByRole("checkbox", { name: "May log in" }).uncheck();
  await row.getByRole("button", { name: "Save" }).click();
  await expect(row).toContainText("may not log in");
  await expect(row).toContainText("reader");
  expect(await login(second)).not.toBe(200);

  // Nobody takes their own role.
  await users.getByRole("button", { name: "Change chief", exact: true }).click();
  await expect(users.getByText("This is you")).toBeVisible();
  await expect(users.getByRole("button", { name: "Remove …" })).toHaveCount(0);

  await row.getByRole("button", { name: "Change mara" }).click();
  await row.getByRole("button", { name: "Remove …" }).click();
  await expect(row.getByRole("alert").filter({ hasText: "for good" })).toBeVisible();
  await expectAccessible(page, "users, a removal");
  await row.getByRole("button", { name: "Remove for good" }).click();
  await expect(row).toHaveCount(0);
  if (isPhone(page)) expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
});

test("who is no administrator is not offered the users", { tag: "@slow" }, async ({ page }) => {
  await open(page);
  await page.getByTitle("Account").click();
  await expect(page.getByRole("button", { name: "Password and logins" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Users and organizations" })).toHaveCount(0);
});
