// From the mail to the last click: the page behind the links of messages, which works without the map, without a script and without an account.
import { once } from "node:events";
import { createServer, type AddressInfo, type Server as Listener } from "node:net";
import { expect, expectAccessible, test as base } from "./test";
import { freeAddress, Server } from "./server";

/** Takes mail as an SMTP server does (RFC 5321), and keeps it. */
class Mailbox {
  readonly #mails: string[] = [];
  readonly #server: Listener = createServer((socket) => {
    let rest = "", mail: string | undefined;
    socket.setEncoding("utf8").on("error", () => {}).write("220 box.test ESMTP\r\n");
    socket.on("data", (part: string) => {
      const lines = (rest + part).split("\r\n");
      rest = lines.pop()!;
      for (const line of lines) {
        const verb = line.slice(0, 4).toUpperCase();
        if (mail !== undefined && line !== ".") mail += `${line}\r\n`;
        else if (mail !== undefined) {
          this.#mails.push(mail);
          mail = undefined;
          socket.write("250 kept\r\n");
        } else if (verb === "DATA") {
          mail = "";
          socket.write("354 go on\r\n");
        } else if (verb === "QUIT") socket.end("221 bye\r\n");
        else socket.write("250 yes\r\n");
      }
    });
  });

  async start(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `smtp://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
  }

  /** The path of a link in the latest mail that has one for the deed. */
  async link(deed: string): Promise<string> {
    const found = () => this.#mails.map((m) => new RegExp(`/subscriptions/${deed}\\?token=[\\w.-]+`).exec(m.replaceAll("=\r\n", "").replaceAll("=3D", "="))?.[0]).filter(Boolean).at(-1);
    await expect.poll(found, { timeout: 30_000 }).toBeDefined();
    return found()!;
  }
}

const test = base.extend<{}, { box: Mailbox; server: Server }>({
  box: [
    async ({}, use) => {
      const box = new Mailbox();
      await use(box);
      box.stop();
    },
    { scope: "worker" },
  ],
  server: [
    async ({ box }, use) => {
      const server = await Server.start("--public", "map", "--smtp", await box.start(), "--smtp-from", "hazards@example.org", "--public-url", await freeAddress());
      await use(server);
      await server.remove();
    },
    { scope: "worker" },
  ],
});

test("an address is confirmed, told, changed by the link of its message, and told no more", { tag: "@slow" }, async ({ page, server, box }) => {
  const answer = await fetch(`${server.url}/subscriptions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ where: { points: [{ lat: 53.55, lon: 10, radius_km: 50, name: "Home" }] }, channels: [{ kind: "email", to: "ann@example.org" }] }),
  });
  expect(answer.status, await answer.text()).toBe(201);

  await page.goto(await box.link("confirm"));
  await expectAccessible(page, "the question whether the address is right");
  await page.getByRole("button", { name: "Confirm" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("status")).toContainText("Your address is confirmed");
  await expectAccessible(page, "the address is confirmed");

  await server.hazard("Flood of the Elbe");
  const manage = await box.link("manage");
  await page.goto(manage);
  await expect(page.getByText("Flood of the Elbe").first()).toBeVisible();
  await expectAccessible(page, "a subscription");
  const beyond = (of: string) => page.locator(of).first().evaluate((e) => e.scrollWidth - e.clientWidth);
  for (const part of ["html", "pre"]) expect(await beyond(part), `what of ${part} is wider than its room`).toBeLessThanOrEqual(0);
  await page.screenshot({ path: test.info().outputPath("subscription.png"), fullPage: true });
  await page.goto(`${manage}&lang=ar`);
  await expect(page.locator("html")).toHaveAttribute("dir", "rtl");
  await expectAccessible(page, "a subscription in Arabic");
  await page.screenshot({ path: test.info().outputPath("subscription-ar.png"), fullPage: true });

  await page.goto(`${manage}&lang=en`);
  await page.locator("#radius0").fill("75.5");
  await page.locator("#severity").selectOption("WARNING");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("status")).toHaveText("Saved.");
  await expect(page.locator("#radius0")).toHaveValue("75.5");
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(page.getByText("The subscription is paused")).toBeVisible();
  await expectAccessible(page, "a subscription that is paused");
  await page.getByRole("button", { name: "Resume" }).click();

  await page.goto(await box.link("unsubscribe"));
  await page.getByRole("main").getByRole("button").last().click();
  await expect(page.getByRole("status")).toContainText("No more messages come here");
  await expectAccessible(page, "a subscription that has ended");
});
