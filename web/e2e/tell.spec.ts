// People are told of what concerns their places: they make, change and end subscriptions on the map, with an account or, where the server is public, without.
// The server sends Web Push to a push service of this test, which decrypts it, and the browser's worker shows it. Chromium's own push service is on another
// host, which a test does not reach: its part, subscribe(), is the test's.
import type { Page } from "@playwright/test";
import { createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { editor, expect, expectAccessible, isPhone, test as base } from "./test";
import { freeAddress, Server } from "./server";

const test = base.extend<{}, { server: Server }>({
  server: [
    async ({}, use) => {
      const mail = ["--smtp", "smtp://127.0.0.1:9", "--smtp-from", "hazards@example.org", "--public-url", await freeAddress()]; // nobody takes the mail
      const server = await Server.start("--public", "map", ...mail, "--webpush", "mailto:ops@example.org", "--webhook-allow", "127.0.0.0/8", "--log-level", "error");
      await use(server);
      await server.remove();
    },
    { scope: "worker" },
  ],
});

const form = (page: Page) => page.getByRole("region", { name: "Tell me" });

/** On a public server the map comes first. */
async function login(page: Page, account = editor) {
  await page.goto("/#map=8/53.55/10");
  await page.getByTitle("Account").click();
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByLabel("User name").fill(account.name);
  await page.getByLabel("Password").fill(account.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByTitle("Be told when something concerns your places").click();
}

test("a user makes a subscription, sees what is wrong at the field, changes it, pauses it and deletes it", { tag: "@slow" }, async ({ page, server, watch }) => {
  watch.expectFailures(/400/);
  await login(page);
  const panel = form(page);
  await panel.getByRole("button", { name: "New subscription" }).click();
  await panel.getByRole("button", { name: "Middle of the map" }).click();
  await expect(panel.getByLabel("Latitude")).toHaveValue(/^53\.5/);
  await panel.getByLabel("Your name for it").fill("Harbour");
  await panel.getByLabel("Radius, km").fill("9000");
  await panel.getByLabel("Country").selectOption("KE");
  await panel.getByLabel("Level").selectOption("WATCH");
  await panel.getByText("Quiet hours").click();
  await panel.getByRole("textbox", { name: "Email" }).fill("nobody");
  await panel.getByRole("button", { name: "Save" }).click();
  await expect(panel.getByLabel("Radius, km")).toBeFocused();
  await expect(panel.getByLabel("Radius, km")).toHaveAccessibleDescription(/from 0.1 to 2,000/);
  await panel.getByLabel("Radius, km").fill("30");
  await panel.getByRole("button", { name: "Save" }).click();
  await expect(panel.getByRole("textbox", { name: "Email" })).toHaveAccessibleDescription(/email/); // the server's own words
  await expectAccessible(page, "the form of a subscription");
  await panel.getByRole("textbox", { name: "Email" }).fill("ada@example.org");
  await panel.getByRole("button", { name: "Save" }).click();
  await expect(panel.getByText("open the link within 48 hours")).toBeVisible();
  const item = panel.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "Harbour, Kenya" }) });
  await expect(item).toContainText("ada@example.org");
  await expect(item).toContainText("waits for you to open the link");
  await expect(item).toContainText("quiet from 22:00 to 07:00 (Europe/Berlin)");
  await expectAccessible(page, "the list of subscriptions");
  const [made] = await server.call<{ where: unknown; severity_min: string }[]>("GET", "/subscriptions?mine=true");
  expect(made).toMatchObject({ where: { points: [{ name: "Harbour", radius_km: 30 }], regions: ["KE"] }, severity_min: "WATCH", language: "en" });

  await item.getByRole("button", { name: /^Change/ }).click();
  await panel.getByRole("button", { name: "Remove Kenya" }).click();
  await panel.getByLabel("Name of this subscription").fill("At work");
  await panel.getByRole("button", { name: "Save" }).click();
  const renamed = panel.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "At work" }) });
  await expect(renamed).not.toContainText("Kenya");
  await renamed.getByRole("button", { name: /^Pause/ }).click();
  await expect(renamed.getByText("Paused")).toBeVisible();
  await renamed.getByRole("button", { name: /^Resume/ }).click();
  await expect(renamed.getByText("Paused")).toHaveCount(0);
  await renamed.getByRole("button", { name: /^Delete/ }).click();
  await renamed.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(panel.getByText("You have no subscriptions yet.")).toBeVisible();
});

test("a member chooses the places of an organization", { tag: "@slow" }, async ({ page, server }) => {
  const member = { name: "mia", password: "pebble saxophone tulip canyon" };
  server.assets("RED", member, "name;lon;lat\nNorth clinic;10.0;53.56\n");
  await login(page, member);
  const panel = form(page);
  await panel.getByRole("button", { name: "New subscription" }).click();
  await panel.getByRole("button", { name: "Places of RED", exact: true }).click();
  await panel.getByLabel("Within, km").fill("301");
  await panel.getByRole("textbox", { name: "Email" }).fill("mia@example.org");
  await panel.getByRole("button", { name: "Save" }).click();
  await expect(panel.getByLabel("Within, km")).toHaveAccessibleDescription(/from 0 to 300/);
  await expectAccessible(page, "the form with the places of an organization");
  await panel.getByLabel("Within, km").fill("10");
  await panel.getByRole("button", { name: "Save" }).click();
  const item = panel.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "the assets of RED, and within 10 km" }) });
  await expect(item).toContainText("mia@example.org");
  await item.getByRole("button", { name: /^Change/ }).click();
  await expect(panel.getByLabel("Within, km")).toHaveValue("10");
  await panel.getByRole("button", { name: "Remove the places of RED" }).click();
  await expect(panel.getByText("No place is chosen")).toBeVisible();
});

test("without an account: a position stays on the page until it is saved, and a drawn area is kept", { tag: "@slow" }, async ({ page, context, server }) => {
  await context.grantPermissions(["geolocation"]);
  await context.setGeolocation({ latitude: 53.6, longitude: 9.9 });
  const sent: string[] = [];
  page.on("request", (r) => sent.push(`${r.method()} ${r.url()} ${r.postData() ?? ""}`));
  await page.goto("/#map=8/53.55/10");
  await page.getByTitle("Be told when something concerns your places").click();
  const panel = form(page);
  await panel.getByRole("button", { name: "Save" }).click();
  await expect(panel.getByText("choose at least one place")).toBeVisible();
  await panel.getByRole("button", { name: "Where I am" }).click();
  await expect(panel.getByLabel("Latitude")).toHaveValue("53.60000");
  expect(sent.filter((r) => r.includes("53.6") && !r.includes("assets/"))).toEqual([]);
  await panel.getByRole("button", { name: "Draw an area" }).click();
  await expect(panel.getByText("Click on the map for each corner")).toBeVisible(); // the map may come later than the form
  await page.evaluate(() => Promise.all(document.getAnimations().map((a) => a.finished.catch(() => {})))); // a phone's panel makes room
  const box = (await page.locator("#map canvas").boundingBox())!;
  const corners = panel.getByLabel(/Corners of the area/);
  const clicked = async (x: number, y: number, lines: RegExp) => {
    await page.mouse.click(box.x + box.width * x, box.y + box.height * y);
    await expect(corners).toHaveValue(lines, { timeout: 2_000 });
  };
  await expect(() => clicked(0.2, 0.1, /^\S+, \S+$/)).toPass(); // the panel may still be on its way
  await clicked(0.4, 0.1, /^\S+, \S+\n\S+, \S+$/);
  await clicked(0.3, 0.3, /^(\S+, \S+\n){2}\S+, \S+$/);
  await page.keyboard.press("Escape"); // the drawing alone
  await panel.getByRole("textbox", { name: "Email" }).fill("ann@example.org");
  await panel.getByRole("button", { name: "Save" }).click();
  await expect(panel.getByText("open the link within 48 hours")).toBeVisible();
  expect(sent.filter((r) => r.startsWith("POST") && r.includes('"lat":53.6') && r.includes("Polygon"))).toHaveLength(1);
  void server;
});

/** A browser's keys as its push service never sees them, and what arrives there. */
class PushService {
  readonly #keys = createECDH("prime256v1");
  readonly #auth = randomBytes(16);
  readonly #public = this.#keys.generateKeys();
  readonly #waiting: ((body: Buffer) => void)[] = [];
  readonly #server = createServer((request, answer) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      answer.writeHead(201).end();
      this.#waiting.shift()?.(Buffer.concat(parts));
    });
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const endpoint = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/push`;
    return JSON.stringify({ endpoint, expirationTime: null, keys: { p256dh: this.#public.toString("base64url"), auth: this.#auth.toString("base64url") } });
  }

  stop(): void {
    this.#server.close();
  }

  /** The next message, decrypted (RFC 8291). */
  async message(): Promise<string> {
    const body = await new Promise<Buffer>((resolve) => this.#waiting.push(resolve));
    const [salt, server] = [body.subarray(0, 16), body.subarray(21, 21 + body[20]!)];
    const hkdf = (key: Buffer, salt: Buffer, info: Buffer, length: number) => Buffer.from(hkdfSync("sha256", key, salt, info, length));
    const secret = hkdf(this.#keys.computeSecret(server), this.#auth, Buffer.concat([Buffer.from("WebPush: info\0"), this.#public, server]), 32);
    const sealed = body.subarray(21 + server.length);
    const open = createDecipheriv("aes-128-gcm", hkdf(secret, salt, Buffer.from("Content-Encoding: aes128gcm\0"), 16), hkdf(secret, salt, Buffer.from("Content-Encoding: nonce\0"), 12));
    open.setAuthTag(sealed.subarray(-16));
    const padded = Buffer.concat([open.update(sealed.subarray(0, -16)), open.final()]);
    return padded.subarray(0, padded.lastIndexOf(2)).toString();
  }
}

/** Has the browser reached through that push service. */
async function reachedBy(page: Page, subscription: string): Promise<void> {
  await page.addInitScript((subscription) => {
    const made = { ...JSON.parse(subscription), options: { applicationServerKey: null }, toJSON: () => JSON.parse(subscription), unsubscribe: async () => ((there = null), true) };
    let there: unknown = null;
    let key = 0;
    Object.assign(PushManager.prototype, {
      getSubscription: async () => there,
      subscribe: async (o: { applicationServerKey: Uint8Array }) => ((key = o.applicationServerKey.length), (there = key === 65 ? made : null)),
    });
  }, subscription);
}

test("Web Push: a button subscribes the browser, the worker shows what the server pushes, a button ends it", { tag: "@slow" }, async ({ page, context, server, baseURL }) => {
  test.skip(isPhone(page), "the same at each width");
  await context.grantPermissions(["notifications"]);
  const service = new PushService();
  await reachedBy(page, await service.start());
  const cdp = await context.newCDPSession(page);
  const registration = new Promise<string>((resolve) => cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => registrations[0] && resolve(registrations[0].registrationId)));
  await cdp.send("ServiceWorker.enable");
  await login(page);
  const panel = form(page);
  await panel.getByRole("button", { name: "New subscription" }).click();
  await panel.getByRole("button", { name: "Remove: Email" }).click();
  await panel.getByRole("button", { name: "Tell this browser" }).click();
  await expect(panel.getByText("This browser", { exact: true })).toBeVisible();
  await panel.getByRole("button", { name: "Save" }).click();
  await expect(panel.getByText("This browser shows messages")).toBeVisible();
  expect(await page.evaluate(async () => (await caches.keys()).length)).toBe(0); // to be told takes no room

  const message = service.message();
  await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING" });
  const text = await message;
  expect(JSON.parse(text)).toMatchObject({ kind: "first", lang: "en", severity: "WARNING" });
  await cdp.send("ServiceWorker.deliverPushMessage", { origin: baseURL!, registrationId: await registration, data: text });
  const shown = () => page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications()).map((n) => `${n.title}\n${n.body}\n${n.dir} ${n.lang}`));
  await expect.poll(shown).toEqual([expect.stringContaining("Flood warning for Old Harbour")]);

  await panel.getByRole("button", { name: "Stop telling this browser" }).click();
  await expect(panel.getByText("You have no subscriptions yet.")).toBeVisible();
  await expect(panel.getByText("This browser shows messages")).toHaveCount(0);
  service.stop();
});

test("a reader without an account follows a hazard with one tap, and hears of its change and its end", { tag: "@slow" }, async ({ page, context, server }) => {
  test.skip(isPhone(page), "the same at each width");
  await context.grantPermissions(["notifications"]);
  const service = new PushService();
  await reachedBy(page, await service.start());
  const got: { kind: string; severity: string }[] = [];
  void (async () => {
    for (;;) got.push(JSON.parse(await service.message()));
  })();
  const h = await server.hazard("Flood - New Harbour", { severity_ID: "WATCH" });
  await page.goto(`/#h=${h.uuid}`);
  const panel = page.locator("#panel");
  await panel.getByRole("button", { name: "Follow until it is over" }).click();
  await expect(panel.getByRole("button", { name: "Stop following" })).toBeVisible();
  await server.patch(h, { severity_ID: "WARNING" });
  await expect.poll(() => got.map((m) => m.severity), { timeout: 60_000 }).toContain("WARNING");
  await server.patch(h, { status: "E" });
  await expect.poll(() => got.at(-1)?.kind, { timeout: 60_000 }).toBe("ended");
  service.stop();
});
