// Records what a browser asks for when a reader without an account opens the map of one event, and keeps it open while that event changes twice. It judges
// nothing. Usage:
//
//	node bench/web/readers.mjs BINARY [minutes] [hazards] > recipe.json
//
// BINARY is a built hazardd with the map. A phone and a desktop open the page at once; the event changes after a third and two thirds of the time. The
// standard error has a summary for each. The standard output is the recipe that `go run ./bench/public -recipe recipe.json` replays for many readers:
// each request with its moment (milliseconds), method, path, size on the line with its headers, whether it was conditional, and what a cache may do with
// the answer. {hazard} and {id} stand for the event. CHROMIUM names the browser.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "../../web/node_modules/@playwright/test/index.mjs";

const [binary, minutes = "10", hazards = "600"] = process.argv.slice(2);
if (!binary) throw new Error("expected the path of a built hazardd");
const length = Number(minutes) * 60_000;
const dir = mkdtempSync(join(tmpdir(), "hazardd-readers-"));
const command = (args, input) => execFileSync(binary, [...args, "--data", dir], { encoding: "utf8", input }).trim();
const org = command(["org", "add", "RC", "--name", "Red Cross"]).split(/\s/)[0];
command(["user", "add", "red", "--role", "editor", "--org", org, "--password-stdin"], "violet kayak thermos orbit");
const child = spawn(binary, ["serve", "--data", dir, "--listen", "127.0.0.1:0", "--sources", "none", "--public", "map", "--grace", "1s", "--log-level", "warn"], { stdio: ["ignore", "pipe", "inherit"] });
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function record(browser, address, device, event) {
  const view = device === "phone" ? { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true } : { viewport: { width: 1440, height: 900 } };
  const context = await browser.newContext({ ...view, locale: "en-GB" });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  const [open, requests, sent, got] = [new Map(), [], new Map(), new Map()]; // what was sent and got on the line may be told before the request and the answer
  const began = Date.now();
  cdp.on("Network.requestWillBeSent", (e) => {
    if (!e.request.url.startsWith(address)) return;
    const r = { at: Date.now() - began, method: e.request.method, path: e.request.url.slice(address.length).replaceAll(event.uuid, "{hazard}").replace(`/hazards/${event.hazard_ID}/`, "/hazards/{id}/").replace(/#.*/, "") || "/", bytes: 0, status: 0 };
    open.set(e.requestId, r);
    requests.push(r);
  });
  const has = (headers, name) => Object.entries(headers).find(([n]) => n.toLowerCase() === name)?.[1];
  cdp.on("Network.requestWillBeSentExtraInfo", (e) => {
    sent.set(e.requestId, { conditional: has(e.headers, "if-none-match") !== undefined, accept: has(e.headers, "accept") });
  });
  cdp.on("Network.responseReceived", (e) => {
    const r = open.get(e.requestId);
    if (r) Object.assign(r, { status: e.response.status, cache: has(e.response.headers, "cache-control") ?? "", kept: e.response.fromDiskCache || e.response.fromPrefetchCache || false });
  });
  cdp.on("Network.responseReceivedExtraInfo", (e) => {
    got.set(e.requestId, { status: e.statusCode });
  });
  cdp.on("Network.dataReceived", (e) => {
    const r = open.get(e.requestId);
    if (r) r.bytes += e.encodedDataLength;
  });
  cdp.on("Network.loadingFinished", (e) => {
    const r = open.get(e.requestId);
    if (r) r.bytes = e.encodedDataLength;
  });
  await cdp.send("Network.enable");
  await page.goto(`${address}/#h=${event.uuid}`, { waitUntil: "commit" });
  await wait(began + length - Date.now());
  await context.close();
  for (const [id, r] of open) Object.assign(r, sent.get(id), r.status && got.get(id));
  return { device, minutes: Number(minutes), requests: requests.filter((r) => r.status && !r.kept) };
}

function summary({ device, requests }) {
  const kinds = new Map();
  for (const r of requests) {
    const kind = `${r.at < 20_000 ? "opening" : "later"}\t${r.method} ${r.path.replace(/\?.*/, "?…").replace(/assets\/.*/, "assets/…").replace(/(tiles|basemap|symbols|icons)\/.*/, "$1/…")}\t${r.status}\t${r.cache}`;
    const k = kinds.get(kind) ?? { n: 0, bytes: 0 };
    kinds.set(kind, { n: k.n + 1, bytes: k.bytes + r.bytes });
  }
  const sum = (list) => `${list.length} requests, ${(list.reduce((n, r) => n + r.bytes, 0) / 1000).toFixed(1)} kB`;
  const [first, later] = [requests.filter((r) => r.at < 20_000), requests.filter((r) => r.at >= 20_000)];
  console.error(`${device}: opening ${sum(first)}; later ${sum(later)} in ${((length - 20_000) / 60_000).toFixed(1)} minutes`);
  for (const [kind, { n, bytes }] of [...kinds].sort()) console.error(`  ${String(n).padStart(4)} ${String(bytes).padStart(8)} B  ${kind}`);
}

let browser;
try {
  let address;
  for await (const line of createInterface({ input: child.stdout })) if ((address = /ready at (\S+)/.exec(line)?.[1])) break;
  child.stdout.resume();
  const token = command(["token", "red"]);
  const ask = async (method, path, body) => {
    const answer = await fetch(address + path, { method, headers: { Authorization: `Bearer ${token}`, "Content-Type": method === "PATCH" ? "application/merge-patch+json" : "application/json" }, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  let event;
  for (let i = 0; i < Number(hazards); i++) {
    const made = await ask("POST", "/hazards", { hazard_Name: `Flood ${i}`, type_ID: "FLOOD", severity_ID: ["WATCH", "WARNING", "ADVISORY"][i % 3], latitude: ((i * 17) % 140) - 70, longitude: ((i * 37) % 360) - 180, description: "Water over the quay, and more to come. ".repeat(12) });
    event ??= made;
  }
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu-rasterization", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
  });
  const change = async (n) => {
    await wait((n * length) / 3);
    await ask("PATCH", `/hazards/${event.uuid}`, { description: `Water over the quay, change ${n}.` });
  };
  const [phone, desktop] = await Promise.all([record(browser, address, "phone", event), record(browser, address, "desktop", event), change(1), change(2)]);
  for (const r of [phone, desktop]) summary(r);
  console.log(JSON.stringify([phone, desktop]));
} finally {
  await browser?.close();
  child.kill();
  rmSync(dir, { recursive: true, force: true });
}
