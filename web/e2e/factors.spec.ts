// The second factor of an account on the map: passkeys of a virtual authenticator, an app, recovery codes, and what admins require.
import { createHmac } from "node:crypto";
import { expect, expectAccessible, logIn, open, test as base } from "./test";
import { freeAddress, Server, type Account } from "./server";

const boss: Account = { name: "bo", password: "granite willow pepper comet" };
const late: Account = { name: "lu", password: "marble thistle walnut harbor" };

const test = base.extend<{}, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = await Server.start("--public-url", (await freeAddress()).replace("127.0.0.1", "localhost"));
      server.add(boss, "admin");
      server.add(late, "reader");
      await use(server);
      await server.remove();
    },
    { scope: "worker" },
  ],
});

type Page = import("@playwright/test").Page;

/** A device with passkeys, whose owner always agrees. */
async function device(page: Page): Promise<void> {
  const browser = await page.context().newCDPSession(page);
  await browser.send("WebAuthn.enable");
  await browser.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
}

async function account(page: Page) {
  await page.getByTitle("Account").click();
  await page.getByRole("button", { name: "Password and logins" }).click();
  return page.getByRole("dialog").getByRole("region", { name: "Second factor" });
}

/** The code of a key at a moment (RFC 6238). */
function codeOf(key: string, at: number): string {
  const bits = [...key].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0")).join("");
  const secret = Buffer.from(bits.match(/.{8}/g)!.map((b) => parseInt(b, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(at / 30_000)));
  const sum = createHmac("sha1", secret).update(step).digest();
  return String((sum.readUInt32BE(sum[19]! & 15) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

test("a passkey logs in by itself, is named, and is removed by another proof", { tag: "@slow" }, async ({ page, watch }) => {
  watch.expectFailures(/401/);
  await device(page);
  await open(page);
  const factor = await account(page);
  await expect(factor.getByText("Your password alone logs you in.")).toBeVisible();
  await factor.getByRole("button", { name: "Add a passkey" }).click();
  await factor.getByLabel("Name of the passkey").fill("Laptop");
  await factor.getByLabel("Your password").fill("not the password");
  await factor.getByRole("button", { name: "Go on" }).click();
  await expect(factor.getByText("The password or the code is not right.")).toBeVisible();
  await expectAccessible(page, "a new passkey");
  await factor.getByLabel("Your password").fill("umbrella trombone quartz lagoon");
  await factor.getByRole("button", { name: "Go on" }).click();
  await expect(factor.locator(".codes li")).toHaveCount(10);
  const code = await factor.locator(".codes li").first().innerText();
  await expectAccessible(page, "recovery codes");
  await factor.getByRole("button", { name: "I have kept them" }).click();
  await factor.getByRole("button", { name: "Rename Laptop" }).click();
  await factor.getByLabel("Name of the passkey").fill("Old laptop");
  await factor.getByRole("button", { name: "Save" }).click();
  await expect(factor.getByText("Old laptop")).toBeVisible();

  // The passkey is a whole login.
  await page.reload();
  await page.getByRole("button", { name: "Log in with a passkey" }).click();
  await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();

  // The password alone is none any more.
  await page.reload();
  await page.getByLabel("User name").fill("ada");
  await page.getByLabel("Password").fill("umbrella trombone quartz lagoon");
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await expect(page.getByText("Use your passkey, or enter a recovery code.")).toBeVisible();
  await expectAccessible(page, "the login that wants a passkey");
  await page.getByLabel("Code of your app").fill(code);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();

  // It is removed by password and passkey.
  const again = await account(page);
  await expect(again.getByText("9 recovery codes are left.")).toBeVisible();
  await again.getByRole("button", { name: "Remove Old laptop" }).click();
  await again.getByLabel("Your password").fill("umbrella trombone quartz lagoon");
  await again.getByRole("button", { name: "Log in with a passkey" }).click();
  await expect(again.getByText("Your password alone logs you in.")).toBeVisible();
});

test("an admin requires a second factor of a role, whose user sets up an app first", { tag: "@slow" }, async ({ page, watch }) => {
  watch.expectFailures(/40[013]/);
  await open(page, "", boss);
  await page.getByTitle("Account").click();
  await page.getByRole("button", { name: "Users and organizations" }).click();
  const roles = page.getByRole("dialog").getByRole("region", { name: "Roles that need a second factor" });
  await expect(roles.getByText(/without a second factor: .*lu/)).toBeVisible();
  await roles.getByLabel("Reader").check();
  await roles.getByRole("button", { name: "Save" }).click();
  await expect(roles.getByText("The roles are saved.")).toBeVisible();
  await expectAccessible(page, "users and required factors");

  await logIn(page, "", late);
  const factor = page.getByRole("dialog").getByRole("region", { name: "Second factor" });
  await expect(factor.getByText("Your role needs a second factor on this server.")).toBeVisible();
  await factor.getByRole("button", { name: "Set up an authenticator app" }).click();
  await factor.getByLabel("Your password").fill(late.password);
  await factor.getByRole("button", { name: "Go on" }).click();
  await expect(factor.getByRole("img", { name: "Key" })).toBeVisible();
  await expectAccessible(page, "the key of an app");
  const key = await factor.locator("code").innerText();
  await factor.getByLabel("Code of your app").fill(codeOf(key, Date.now()));
  await factor.getByRole("button", { name: "Confirm" }).click();
  await expect(factor.locator(".codes li")).toHaveCount(10);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
});

test("the second factor on a phone, in Arabic", { tag: "@slow" }, async ({ page }) => {
  await page.addInitScript(() => localStorage.setItem("hazardd.language", "ar"));
  await page.goto("/");
  await page.locator("#username").fill("ada");
  await page.locator("#password").fill("umbrella trombone quartz lagoon");
  await page.locator("form button[type=submit]").click();
  await page.getByTitle("الحساب", { exact: true }).click();
  await page.getByRole("button", { name: "كلمة المرور والجلسات" }).click();
  const factor = page.getByRole("region", { name: "عامل ثانٍ" });
  await factor.getByRole("button", { name: "إعداد تطبيق مصادقة" }).click();
  await expectAccessible(page, "the second factor in Arabic");
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
});
