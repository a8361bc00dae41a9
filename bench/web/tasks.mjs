// Does what five people come for, on a slow phone, and prints the taps, the letters and the seconds that each needs: is my town in danger; what do I do;
// when does it end; tell me when it changes; is this service to be believed. It judges nothing. The service must be public (--public map), with an
// active hazard that has an instruction and an end. Usage:
//
//	node bench/web/tasks.mjs http://127.0.0.1:8080 TOWN
//
// The phone is that of phone.mjs: slow 4G and a processor four times slower. Seconds are from the opening of the map until the answer is on the screen, with
// nobody's time to read or to aim. A task that finds no answer within 30 s says so. CHROMIUM names the browser.
import { chromium } from "../../web/node_modules/@playwright/test/index.mjs";

const [address, town] = process.argv.slice(2);
if (!town) throw new Error("expected the address of a service and the name of a town");
const LIMIT = 30_000; // milliseconds

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu-rasterization", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
});

/** Opens the map as somebody who was never here. */
async function phone() {
  const context = await browser.newContext({ viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true, locale: "en-GB", permissions: ["notifications"] });
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT);
  const cdp = await context.newCDPSession(page);
  await cdp.send("Network.enable");
  await cdp.send("Network.emulateNetworkConditions", { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 0.75e6 / 8 });
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  const begun = Date.now();
  await page.goto(address, { waitUntil: "commit" });
  return { context, page, begun, taps: 0, letters: 0 };
}

const tap = async (p, what) => {
  await what.tap();
  p.taps++;
};
/** Opens the hazard that is first in the list. */
const open = async (p) => {
  await tap(p, p.page.locator("#list .row").first());
  await p.page.locator("#panel h2").first().waitFor();
};
const words = async (what) => (await what.innerText()).replaceAll(/\s+/g, " ").slice(0, 90);
/** How far a reader scrolls until something is on the screen, in screens. */
const scrolled = async (what) => {
  const y = await what.evaluate((e) => e.getBoundingClientRect().top / innerHeight);
  return y < 1 ? "" : ` (${y.toFixed(1)} screens down)`;
};

const tasks = {
  "is my town in danger": async (p) => {
    await tap(p, p.page.getByRole("link", { name: "What holds here?" }).first());
    const place = p.page.getByLabel("Where are you?");
    await tap(p, place);
    await place.pressSequentially(town);
    p.letters += town.length;
    await tap(p, p.page.getByRole("button", { name: "Show" }));
    const answer = p.page.locator("h1").filter({ hasText: town });
    await answer.waitFor();
    return words(answer);
  },
  "what do I do": async (p) => {
    const short = p.page.locator("#list .row").first().locator(".row-do");
    if (await short.waitFor({ timeout: LIMIT / 3 }).then(() => true, () => false)) return words(short);
    await open(p);
    const what = p.page.getByRole("heading", { name: "What to do" }).locator("..");
    await what.waitFor();
    return (await words(what)) + (await scrolled(what));
  },
  "when does it end": async (p) => {
    // The first row says it, or the headline of the panel.
    const row = p.page.locator("#list .row").first();
    await row.waitFor();
    if (/until|ends/i.test(await row.innerText())) return words(row);
    await open(p);
    const until = p.page.locator("#panel").getByText(/until|ends/i).first();
    await until.waitFor();
    return (await words(until)) + (await scrolled(until));
  },
  "tell me when it changes": async (p) => {
    await open(p);
    // Where the service or the browser has no Web Push, the address of a feed.
    const follow = p.page.locator("#panel").getByRole("button", { name: "Follow until it is over" });
    const feed = p.page.locator("#panel a[href*='f=atom']");
    await follow.or(feed).first().waitFor();
    if (!(await follow.isVisible())) return (await words(feed)) + (await scrolled(feed));
    const at = await scrolled(follow);
    await tap(p, follow);
    const said = p.page.locator("#panel").getByRole("button", { name: "Stop following" }).or(p.page.locator("#panel [role=alert]"));
    await said.first().waitFor();
    return (await words(said.first())) + at;
  },
  "is this service to be believed": async (p) => {
    await tap(p, p.page.locator("header button").first());
    const dialog = p.page.getByRole("dialog").first();
    await dialog.waitFor();
    return words(dialog);
  },
};

for (const [name, task] of Object.entries(tasks)) {
  const p = await phone();
  let answer;
  try {
    answer = `“${await task(p)}”`;
  } catch (error) {
    answer = `no answer: ${String(error).split("\n")[0]}`;
  }
  console.log(`${name}: ${p.taps} taps, ${p.letters} letters, ${((Date.now() - p.begun) / 1000).toFixed(1)} s: ${answer}`);
  await p.context.close();
}
await browser.close();
