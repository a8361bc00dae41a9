// A public map without its server, and an editor whose page or login ends: what was seen and what was written is still there.
import type { Page as BrowserPage } from "@playwright/test";
import { createServer } from "node:http";
import { once } from "node:events";
import { editor, expect, isPhone, panel, row, select, test as base } from "./test";
import { Server } from "./server";

const test = base.extend<{}, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = await Server.start("--public", "map");
      await use(server);
      await server.remove();
    },
    { scope: "worker" },
  ],
});

/** What a proxy says at the address of a server that is down. */
async function badGateway(url: string): Promise<() => Promise<void>> {
  const proxy = createServer((_, answer) => answer.writeHead(502).end("Bad Gateway")).listen(Number(new URL(url).port), "127.0.0.1");
  await once(proxy, "listening");
  return async () => {
    proxy.closeAllConnections();
    proxy.close();
    await once(proxy, "close");
  };
}

async function enlarge(page: BrowserPage): Promise<void> {
  if (isPhone(page)) await page.getByRole("button", { name: "Make the list larger" }).click();
}

test("the kept view opens at each address of a public map, without an answer and with a proxy's 502", { tag: "@ci" }, async ({ page, server, watch }) => {
  watch.expectFailures(/net::ERR_|502/);
  const h = await server.hazard("Flood - Old Harbour", { severity_ID: "WARNING" });
  await page.goto("/#map=7/53.5/10");
  await enlarge(page);
  await expect(row(page, h)).toBeVisible();
  await page.getByTitle("Account").click();
  await page.getByRole("button", { name: "Alerts and offline" }).click();
  for (const kept of [true, false, true]) { // who has it removed, and wants it after all, has it
    await page.getByLabel("Keep the last view on this device").setChecked(kept);
    if (kept) await expect(page.getByText("The map opens without a connection from now on.")).toBeVisible({ timeout: 60_000 });
    await expect.poll(() => page.evaluate(() => caches.has("hazardd-view"))).toBe(kept);
  }
  await server.down();
  const expectKept = async (why: string) => {
    for (const address of [`/?h=${h.uuid}`, "/#map=7/53.5/10", "/"]) {
      await page.goto("about:blank");
      await page.goto(address);
      if (address.startsWith("/?h")) await expect(panel(page).getByRole("heading", { level: 2 }), `${why} ${address}`).toContainText(h.hazard_Name);
      else {
        await enlarge(page);
        await expect(row(page, h), `${why} ${address}`).toBeVisible();
      }
      await expect(page.getByText(/What you see is as of/).first(), `${why} ${address}`).toBeVisible();
      await expect(page.getByRole("button", { name: /^Live/ })).toHaveCount(0);
    }
  };
  await expectKept("no answer");
  const end = await badGateway(server.url);
  try {
    await expectKept("502");
  } finally {
    await end();
    await server.up();
  }
});

async function logIn(page: BrowserPage): Promise<void> {
  await page.getByLabel("User name").fill(editor.name);
  await page.getByLabel("Password").fill(editor.password);
  await page.getByRole("button", { name: "Log in" }).click();
}

test("what an editor wrote on a public map is there after a reload, and after a login that was ended", { tag: "@ci" }, async ({ page, server, watch }) => {
  watch.expectFailures(/40[013]/);
  const h = await server.hazard("Flood - Old Harbour");
  const toLogin = async () => {
    await page.getByTitle("Account").click();
    await page.getByRole("button", { name: "Log in" }).click();
    await logIn(page);
  };
  await page.goto("/#map=7/53.5/10");
  await toLogin();
  await expect(page.getByTitle("Report a new hazard")).toBeVisible();
  await enlarge(page);
  await (await select(page, h)).getByRole("button", { name: "Edit", exact: true }).click();
  const form = page.getByRole("region", { name: "Edit hazard" });
  await form.getByLabel("Description").fill("The dike has two holes");

  // The page that everybody reads comes between, and must not forget it.
  await page.reload();
  await expect(page.getByTitle("Account")).toBeVisible();
  await expect(form).toHaveCount(0);
  await toLogin();
  await expect(form.getByLabel("Description")).toHaveValue("The dike has two holes");

  // The login is ended elsewhere.
  await form.getByLabel("Description").fill("The dike has three holes");
  for (const { id, client } of await server.call<{ id: string; client: string }[]>("GET", "/account/sessions"))
    if (/Chrome/.test(client)) await server.call("DELETE", `/account/sessions/${id}`);
  await logIn(page); // the page hears of it by itself
  await expect(form.getByLabel("Description")).toHaveValue("The dike has three holes");
  await form.getByRole("button", { name: "Save" }).click();
  await expect(form).toHaveCount(0);
  expect((await server.read(h)).description).toBe("The dike has three holes");
});
