// Pans the map over many active areas for minutes, and says how long the page was busy and how much memory it keeps. It judges nothing. Usage:
//
//	node bench/web/pan.mjs BINARY [areas] [minutes]
//
// BINARY is a built hazardd with the map; it serves 10,000 areas over the United States and Europe from a folder of its own unless told otherwise. A
// line for each minute: tasks of more than 50 ms (how many, the longest, milliseconds in sum beyond 50), and the heap after garbage was collected,
// once the pan has stopped. The last line compares the first minute with the last. CHROMIUM names the browser.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "../../web/node_modules/@playwright/test/index.mjs";

const [binary, areas = "10000", minutes = "10"] = process.argv.slice(2);
if (!binary) throw new Error("expected the path of a built hazardd");
const dir = mkdtempSync(join(tmpdir(), "hazardd-pan-"));
const kinds = [["Flood Advisory", "FA", "Y", "Minor"], ["Flood Watch", "FA", "A", "Moderate"], ["Flash Flood Warning", "FF", "W", "Severe"], ["Tornado Warning", "TO", "W", "Extreme"]];
const [sent, ends] = [new Date(Date.now() - 60_000), new Date(Date.now() + 5 * 3_600_000)];
const vtec = (d) => `${d.toISOString().slice(2, 16).replace(/[-:]/g, "")}Z`;
const features = Array.from({ length: Number(areas) }, (_, n) => {
  const [event, phenomenon, significance, severity] = kinds[[0, 0, 0, 0, 1, 1, 2, 2, 0, 3][n % 10]];
  const west = (n % 2 ? -124 : -10) + ((n * 0.754877) % 1) * (n % 2 ? 57 : 50);
  const south = 25 + ((n * 0.569840) % 1) * (n % 2 ? 23 : 40);
  const corners = Array.from({ length: 40 }, (_, k) => [west + 0.3 * (1 + 0.3 * Math.sin(5 * k + n)) * Math.cos((k * Math.PI) / 20), south + 0.3 * (1 + 0.3 * Math.sin(3 * k + n)) * Math.sin((k * Math.PI) / 20)]);
  const id = `urn:oid:2.49.0.1.840.0.${n}`;
  const office = `K${String.fromCharCode(65 + (n / 9_000) | 0)}AA`;
  return {
    type: "Feature",
    id: `https://api.weather.gov/alerts/${id}`,
    geometry: { type: "Polygon", coordinates: [[...corners, corners[0]]] },
    properties: {
      id, areaDesc: `Area ${n}`, geocode: { SAME: [], UGC: [] }, affectedZones: [], references: [], sent: sent.toISOString(), effective: sent.toISOString(), onset: sent.toISOString(),
      expires: ends.toISOString(), ends: ends.toISOString(), status: "Actual", messageType: "Alert", scope: "Public", category: "Met", severity, certainty: "Likely", urgency: "Expected", event,
      senderName: "Test", headline: `${event} for area ${n}`, description: "Water is rising.", instruction: null,
      parameters: { VTEC: [`/O.NEW.${office}.${phenomenon}.${significance}.${String(1 + (n % 9_000)).padStart(4, "0")}.${vtec(sent)}-${vtec(ends)}/`] },
    },
  };
});
execFileSync(binary, ["import", "--source", "nws", "--data", dir, "-"], { input: JSON.stringify({ type: "FeatureCollection", features }), stdio: ["pipe", "inherit", "inherit"] });
const child = spawn(binary, ["serve", "--data", dir, "--listen", "127.0.0.1:0", "--sources", "none", "--public", "map", "--grace", "1s", "--log-level", "warn"], { stdio: ["ignore", "pipe", "inherit"] });
let browser;
try {
  let address;
  for await (const line of createInterface({ input: child.stdout })) if ((address = /ready at (\S+)/.exec(line)?.[1])) break;
  child.stdout.resume();
  console.log(`${(await (await fetch(`${address}/hazards/active/summary`)).json()).length} active hazards`);
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu-rasterization", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
  });
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-GB" })).newPage();
  await page.addInitScript(() => {
    window.long = [];
    new PerformanceObserver((l) => window.long.push(...l.getEntries().map((e) => e.duration))).observe({ type: "longtask" });
  });
  const cdp = await page.context().newCDPSession(page);
  await page.goto(`${address}/#map=5/38/-95`);
  await page.waitForFunction(() => document.querySelector("#map canvas") && !document.querySelector(".map-coming"), undefined, { timeout: 180_000 });
  const heap = async () => {
    await page.waitForTimeout(3_000);
    await cdp.send("HeapProfiler.collectGarbage");
    return (await cdp.send("Runtime.getHeapUsage")).usedSize / 1e6;
  };
  const start = await heap();
  console.log(`drawn; heap ${start.toFixed(1)} MB; load ${loadavg()[0].toFixed(1)}`);
  const all = [];
  for (let n = 0; n < Number(minutes); n++) {
    await page.evaluate(() => (window.long.length = 0));
    const end = Date.now() + 60_000;
    for (let k = 0; Date.now() < end; k++) {
      const [dx, dy] = [[-6, 0], [0, 4], [6, 0], [0, -4]][k % 4];
      await page.mouse.move(900, 450);
      await page.mouse.down();
      for (let s = 1; s <= 40; s++) await page.mouse.move(900 + s * dx, 450 + s * dy);
      await page.mouse.up();
      if (k % 6 === 5) {
        await page.mouse.wheel(0, k % 12 === 5 ? -400 : 400);
        await page.waitForTimeout(400);
      }
    }
    const long = await page.evaluate(() => window.long);
    all.push({ tasks: long.length, longest: Math.max(0, ...long), over: long.reduce((s, d) => s + d - 50, 0), heap: await heap() });
    const m = all.at(-1);
    console.log(`minute ${n + 1}: ${m.tasks} long tasks, longest ${m.longest.toFixed(0)} ms, ${m.over.toFixed(0)} ms in sum; heap ${m.heap.toFixed(1)} MB; load ${loadavg()[0].toFixed(1)}`);
  }
  console.log(`heap: ${start.toFixed(1)} MB before, ${all[0].heap.toFixed(1)} after a minute, ${all.at(-1).heap.toFixed(1)} after ${minutes}`);
} finally {
  await browser?.close();
  child.kill();
  rmSync(dir, { recursive: true, force: true });
}
