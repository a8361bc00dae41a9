// Measures a phone's first look at the map of a running service, and a reload: slow 4G (1.6 Mbit/s down, 0.75 up, 150 ms) and a processor four times slower,
// as Lighthouse simulates a phone. It judges nothing. The service must be public (--public map). Usage:
//
//	node bench/web/phone.mjs http://127.0.0.1:8080 [runs] [--log] [--change=COMMAND]
//
// A line for each run: the first row (ms, kB until then), the server's picture, the same as the map that fingers move, MapLibre's map with all of its window drawn (ms, kB until then), a
// reload after that (kB until it is drawn again), long tasks (ms in sum). --log lists each request of the first run. --change runs a command before the
// reload, away from the page, such as one that changes a hazard. CHROMIUM names the browser.
import { execSync } from "node:child_process";
import { chromium } from "../../web/node_modules/@playwright/test/index.mjs";

const [address = "http://127.0.0.1:8080", runs = "5"] = process.argv.slice(2).filter((a) => !a.startsWith("--"));
const log = process.argv.includes("--log");
const change = process.argv.find((a) => a.startsWith("--change="))?.slice("--change=".length);
const LIMIT = 90_000; // milliseconds until a run is given up
const kB = (n) => (n / 1000).toFixed(0);
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/** Notes on the page when its first row, its picture and its map are on the screen: milliseconds since its navigation began. */
function note() {
  window.seen = { tasks: 0 };
  new PerformanceObserver((l) => l.getEntries().forEach((e) => (window.seen.tasks += e.duration - 50))).observe({ type: "longtask", buffered: true });
  const look = () => {
    const s = window.seen;
    if (!s.row && document.querySelector(".list .row")) s.row = performance.now();
    const picture = document.querySelector(".first img, .map-picture img");
    if (!s.picture && picture?.complete) s.picture = performance.now();
    if (!s.moves && document.querySelector(".map-picture img")?.complete) s.moves = performance.now();
    if (!s.canvas && document.querySelector("#map canvas")) s.canvas = performance.now();
    if (!s.map && s.canvas && !document.querySelector(".map-picture, .map-coming")) s.map = performance.now();
    if (!s.map) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

async function one(browser, first) {
  const context = await browser.newContext({ viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true, locale: "en-GB" });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send("Network.enable");
  await cdp.send("Network.emulateNetworkConditions", { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 0.75e6 / 8 });
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  await page.addInitScript(note);
  let bytes = 0;
  let begun = Date.now();
  const paths = new Map();
  cdp.on("Network.requestWillBeSent", (e) => paths.set(e.requestId, { path: e.request.url.replace(address, ""), at: Date.now() - begun }));
  cdp.on("Network.loadingFinished", (e) => {
    bytes += e.encodedDataLength;
    const r = paths.get(e.requestId);
    if (log && first) console.log(`  ${String(r?.at).padStart(6)} – ${String(Date.now() - begun).padStart(6)} ms ${String(e.encodedDataLength).padStart(8)} B  ${r?.path}`);
  });
  const until = async (what) => {
    await page.waitForFunction((name) => window.seen?.[name], what, { timeout: LIMIT, polling: 50 });
    return bytes;
  };
  await page.goto(address, { waitUntil: "commit" });
  const row = await until("row");
  const map = await until("map");
  const seen = await page.evaluate(() => window.seen);
  await page.waitForTimeout(4_000);
  const later = bytes;
  [bytes, begun] = [0, Date.now()];
  if (log && first) console.log(`  ${JSON.stringify(seen)}\n  reload`);
  if (change) {
    await page.goto("about:blank"); // what changes is not seen
    execSync(change);
    [bytes, begun] = [0, Date.now()];
    await page.goto(address, { waitUntil: "commit" });
  } else await page.reload({ waitUntil: "commit" });
  const again = await until("map");
  const reloaded = await page.evaluate(() => window.seen);
  await context.close();
  return { row: seen.row, rowBytes: row, picture: seen.picture ?? NaN, moves: seen.moves ?? NaN, canvas: seen.canvas, map: seen.map, mapBytes: map, later, again, againMap: reloaded.map, tasks: seen.tasks };
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  // Without a graphics card the processor draws the page, as it does the map: a phone's card draws both, and a frame does not wait for the other.
  args: ["--no-sandbox", "--disable-gpu-rasterization", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
});
const all = [];
for (let n = 0; n < Number(runs); n++) {
  const r = await one(browser, n === 0);
  all.push(r);
  console.log(
    `first row ${r.row.toFixed(0)} ms, ${kB(r.rowBytes)} kB; picture ${r.picture.toFixed(0)} ms, moves ${r.moves.toFixed(0)} ms; map there ${r.canvas.toFixed(0)} ms, drawn ${r.map.toFixed(0)} ms, ${kB(r.mapBytes)} kB (${
      kB(r.later)
    } kB 4 s later); reload ${r.againMap.toFixed(0)} ms, ${kB(r.again)} kB; long tasks ${r.tasks.toFixed(0)} ms`,
  );
}
const m = (name) => median(all.map((r) => r[name]));
console.log(`median: first row ${m("row").toFixed(0)} ms, ${kB(m("rowBytes"))} kB; picture ${m("picture").toFixed(0)} ms, moves ${m("moves").toFixed(0)} ms; map ${m("map").toFixed(0)} ms, ${kB(m("mapBytes"))} kB; reload ${kB(m("again"))} kB`);
await browser.close();
