// What every test of the map needs: the service, a page that is watched, and the steps that all take.
//
// A test fails when the console is not empty at its end, or when a request went anywhere but to the service. What a browser itself says of
// an answer that is an error must be announced with `page.expectFailures`.
import { test as base, expect, type Locator, type Page as BrowserPage } from "@playwright/test";
import axe from "axe-core";
import { availableParallelism, loadavg } from "node:os";
import type { Hazard } from "../src/model";
import { editor, Server, type Account } from "./server";

export { editor, reader } from "./server";
export { expect };

interface Watch {
  /** Allows the browser's own messages about answers that are errors and about requests without an answer. */
  expectFailures(kind: RegExp): void;
}

export const test = base.extend<{ watch: Watch }, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = await Server.start();
      await use(server);
      await server.remove();
    },
    { scope: "worker" },
  ],
  baseURL: async ({ server }, use) => use(server.url),
  watch: [
    async ({ context, server }, use) => {
      await server.clear();
      const said: string[] = [];
      const strayed: string[] = [];
      let expected: RegExp | undefined;
      context.on("console", (m) => {
        // The software renderer of a machine without a graphics card tells of its own slowness.
        if (m.type() === "warning" && m.text().includes("GL Driver Message")) return;
        // The first script asks whether the map's code is in the browser's cache: no is an answer.
        if (m.type() === "error" && m.text().includes("net::ERR_CACHE_MISS")) return;
        if (m.type() === "error" && m.text().startsWith("Failed to load resource") && expected?.test(m.text())) return;
        said.push(`${m.type()}: ${m.text()} (${m.location().url})`);
      });
      context.on("weberror", (e) => {
        const what = `uncaught: ${e.error().stack ?? e.error().message}`;
        if (!expected?.test(what)) said.push(what);
      });
      context.on("request", (r) => {
        const { protocol, origin } = new URL(r.url());
        if (!["data:", "blob:"].includes(protocol) && origin !== server.url) strayed.push(r.url());
      });
      await use({ expectFailures: (kind) => (expected = kind) });
      // A page asks again at any time. A handler that is at work then would answer a page that has gone, and fail the test for it.
      for (const page of context.pages()) await page.unrouteAll({ behavior: "ignoreErrors" });
      expect(said, "the console").toEqual([]);
      expect(strayed, "requests to elsewhere").toEqual([]);
    },
    { auto: true },
  ],
});

/** How many times longer than on an idle machine something may take now, while other programs work. */
export const patience = (): number => Math.max(1, (2 * loadavg()[0]!) / availableParallelism());

/** What waits until it is opened. */
export function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = () => {};
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open: () => open() };
}

/** Opens the map, with what its address says, and logs in, without waiting until all is there. */
export async function logIn(page: BrowserPage, hash = "", account: Account = editor): Promise<void> {
  await page.goto(`/${hash}`);
  await page.getByLabel("User name").fill(account.name);
  await page.getByLabel("Password").fill(account.password);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
}

/** Opens the map, with what its address says, and logs in. */
export async function open(page: BrowserPage, hash = "", account: Account = editor): Promise<void> {
  await logIn(page, hash, account);
  await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
}

export const isPhone = (page: BrowserPage): boolean => page.viewportSize()!.width < 760;

/** The hazard's row in the list. */
export const row = (page: BrowserPage, h: Pick<Hazard, "hazard_Name">) => page.locator("#list .row").filter({ hasText: h.hazard_Name });

export const panel = (page: BrowserPage) => page.getByRole("region", { name: "Selected hazard" });

/** Opens the hazard's panel from the list. */
export async function select(page: BrowserPage, h: Pick<Hazard, "hazard_Name">) {
  await row(page, h).click();
  await expect(panel(page).getByRole("heading", { level: 2 })).toContainText(h.hazard_Name);
  return panel(page);
}

/** Fails when something in the panel is wider than the panel, which would cut it or scroll it sideways. */
export async function expectNothingWider(panel: Locator): Promise<void> {
  const wider = await panel.evaluate((p) =>
    [p, ...p.querySelectorAll(".panel-head, .panel-body, dl")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => `${e.className}: ${e.scrollWidth} > ${e.clientWidth}`)
  );
  expect(wider).toEqual([]);
}

/** The middle of the map, in the page's pixels. */
export async function middle(page: BrowserPage): Promise<{ x: number; y: number }> {
  const box = (await page.locator("#map canvas").boundingBox())!;
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** Fails when axe finds a violation of WCAG 2 A or AA, or of its own good practice, on what is shown, in either theme. */
export async function expectAccessible(page: BrowserPage, screen: string): Promise<void> {
  await expect(page.getByRole("heading", { level: 1 }).first(), `${screen}: no heading of level 1`).toBeAttached(); // a page that is still loading its words has nothing to look at
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    const found = await page.evaluate(
      async ([source, dark]) => {
        const w = window as unknown as { axe?: typeof axe };
        // oxlint-disable-next-line no-eval -- the driver's own code
        if (!w.axe) (0, eval)(source!); // the driver's own code: the page's policy does not bind it
        const { violations } = await w.axe!.run(document, {
          resultTypes: ["violations"],
          runOnly: dark ? ["color-contrast"] : ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
        });
        return violations.map((v) => `${v.id}: ${v.help}\n` + v.nodes.map((n) => `    ${n.target.join(" ")}: ${n.failureSummary?.replaceAll("\n", " ")}`).join("\n"));
      },
      [axe.source, scheme === "dark"] as const, // of all that axe looks at, the themes differ in colours alone
    );
    expect(found, `${screen}, ${scheme}`).toEqual([]);
  }
}
