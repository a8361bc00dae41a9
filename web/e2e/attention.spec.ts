// M9: those who do not look are told, and those without a connection see what there was, and how old it is.
import type { Page as BrowserPage } from "@playwright/test";
import { expect, expectAccessible, isPhone, open, reader, row, test } from "./test";

const card = (page: BrowserPage, name: string) => page.locator(".notice").filter({ hasText: name });

async function choices(page: BrowserPage) {
  await page.getByTitle("Account").click();
  await page.getByRole("button", { name: "Alerts and offline" }).click();
  return page.getByRole("dialog", { name: "Alerts and offline" });
}

test("a warning stays until it is acknowledged, and counts in the tab's title and icon; what is less goes by itself", { tag: "@slow" }, async ({ page, server }) => {
  await server.hazard("Flood - Old Harbour");
  await open(page, "#map=7/53.5/10");
  await expect(page).toHaveTitle("hazardd");
  const icon = () => page.locator('link[rel="icon"]').getAttribute("href");
  const plain = await icon();
  await server.hazard("Spill at the quay", { type_ID: "ACCIDENT", severity_ID: "ADVISORY" });
  await server.hazard("Chlorine at the quay", { type_ID: "ACCIDENT", severity_ID: "WARNING" });
  await expect(page).toHaveTitle("(1) hazardd");
  expect(await icon()).not.toBe(plain);
  if (isPhone(page)) { for (const name of ["Make the list larger", "Make the list smaller"]) await page.getByRole("button", { name }).click(); }
  await expect(card(page, "Spill at the quay")).toBeVisible();
  await expect(card(page, "Spill at the quay")).toHaveCount(0, { timeout: 15_000 });
  await expect(card(page, "Chlorine at the quay")).toBeVisible();
  await server.hazard("Ammonia at the quay", { type_ID: "ACCIDENT", severity_ID: "WARNING" });
  await expect(page).toHaveTitle("(2) hazardd");
  await expectAccessible(page, "warnings that are not acknowledged");
  await page.getByRole("button", { name: "Acknowledge: Chlorine at the quay" }).click();
  await expect(card(page, "Chlorine at the quay")).toHaveCount(0);
  await expect(page).toHaveTitle("(1) hazardd");
  await page.getByRole("button", { name: "Acknowledge: Ammonia at the quay" }).click();
  await expect(page).toHaveTitle("hazardd");
  expect(await icon()).toContain(plain!.replace(/^\./, ""));
});

test("a warning sounds, and is a notification of the browser, by choice alone", { tag: "@slow" }, async ({ page, server, context }) => {
  await context.grantPermissions(["notifications"], { origin: server.url });
  await page.addInitScript(() => {
    const w = window as unknown as { told: string[]; tones: number };
    w.told = [];
    w.tones = 0;
    const start = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function (...args) {
      w.tones++;
      return start.apply(this, args);
    };
    class Told extends EventTarget {
      static permission = "granted";
      static requestPermission = async () => "granted";
      constructor(title: string) {
        super();
        w.told.push(title);
      }
    }
    Object.defineProperty(window, "Notification", { value: Told });
  });
  const told = () => page.evaluate(() => ({ told: (window as unknown as { told: string[] }).told, tones: (window as unknown as { tones: number }).tones }));
  await open(page, "#map=7/53.5/10");
  await server.hazard("Before the choice", { severity_ID: "WARNING" });
  await expect(card(page, "Before the choice")).toBeAttached();
  expect(await told()).toEqual({ told: [], tones: 0 });
  const dialog = await choices(page);
  await expectAccessible(page, "choices of alerts");
  await dialog.getByLabel("Sound").check();
  await dialog.getByLabel("Notifications of the browser").check();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await server.hazard("Less than a warning", { severity_ID: "WATCH" });
  await server.hazard("After the choice", { severity_ID: "WARNING" });
  await expect.poll(async () => (await told()).told).toEqual(["New Warning: After the choice."]);
  expect((await told()).tones).toBe(4); // two when it was chosen, two for the warning
});

test("the map can be installed, and opens without a connection with what it last showed and how old that is", { tag: "@ci" }, async ({ page, server, watch }) => {
  test.skip(isPhone(page), "the same code as on a wide screen");
  watch.expectFailures(/net::ERR_|503|502/);
  expect((await page.request.get("/favicon.ico")).headers()["content-type"]).toBe("image/png");
  await page.goto("/");
  const manifest = await page.locator('link[rel="manifest"]').getAttribute("href");
  const app = (await (await page.request.get(manifest!)).json()) as { icons: { src: string }[]; display: string };
  expect(app.display).toBe("standalone");
  for (const i of app.icons) expect((await page.request.get(new URL(i.src, new URL(manifest!, `${server.url}/`)).href)).headers()["content-type"]).toBe("image/png");

  const h = await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING" });
  await open(page, "#map=7/53.5/10", reader);
  await expect(row(page, h)).toBeVisible();
  const dialog = await choices(page);
  await dialog.getByLabel("Keep the last view on this device").check();
  await expect(dialog.getByText("The map opens without a connection from now on.")).toBeVisible({ timeout: 60_000 });
  await expect.poll(() => page.evaluate(async () => (await (await caches.open("hazardd-view")).match("./last-view")) !== undefined)).toBe(true);

  await server.down();
  await page.reload();
  await page.getByRole("button", { name: /^Show the last view, of/ }).click();
  await expect(row(page, h)).toBeVisible();
  await expect(page.getByText(/^No connection since/)).toBeVisible();
  await expect(page.getByText(/What you see is as of/)).toBeVisible();
  await expect(page.getByRole("button", { name: /^Offline/ })).toBeVisible();
  await page.locator("#map canvas").waitFor();
  await expectAccessible(page, "the last view, offline");

  // The log-out takes it along.
  await server.up();
  await page.reload();
  await expect(page.getByLabel("User name")).toBeVisible();
  await expect(page.getByRole("button", { name: /^Show the last view/ })).toHaveCount(0);
  await page.getByLabel("User name").fill(reader.name);
  await page.getByLabel("Password").fill(reader.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
  await page.getByTitle("Account").click();
  await page.getByRole("button", { name: "Log out" }).click();
  await expect(page.getByLabel("User name")).toBeVisible();
  await expect.poll(() => page.evaluate(async () => (await caches.keys()).includes("hazardd-view"))).toBe(false);
});
