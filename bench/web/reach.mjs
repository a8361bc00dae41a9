// Says when rows of the list of hazards are painted on a page of a running service: for bench/reach, which starts it. Usage:
//
//	node bench/web/reach.mjs http://127.0.0.1:8080 PATTERN
//
// The service has a hazard already, and the list is the newest first. It prints "ready", and then for each text of a row that matches the pattern and comes for the first time: the milliseconds
// since 1970 at which the frame with it was painted, and the text. It ends with its standard input. CHROMIUM names the browser.
import { chromium } from "../../web/node_modules/@playwright/test/index.mjs";

const [address, pattern] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
});
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-US" })).newPage();
await page.exposeFunction("painted", (name, at) => console.log(`${at} ${name}`));
await page.goto(`${address}/#list=all&sort=time`, { waitUntil: "load" });
await page.waitForSelector(".list .row", { timeout: 60_000 });
await page.evaluate((pattern) => {
  const wanted = new RegExp(pattern);
  const seen = new Set();
  let coming = false;
  // A message that is sent within a frame comes after its painting.
  const { port1, port2 } = new MessageChannel();
  const look = () => {
    coming = false;
    const names = [];
    for (const row of document.querySelectorAll(".list .row")) {
      const name = wanted.exec(row.textContent ?? "")?.[0];
      if (name && !seen.has(name)) names.push(name);
    }
    names.forEach((name) => seen.add(name));
    if (names.length > 0) port2.postMessage(names);
  };
  port1.onmessage = ({ data }) => data.forEach((name) => window.painted(name, Date.now()));
  const soon = () => {
    if (!coming) requestAnimationFrame(look);
    coming = true;
  };
  new MutationObserver(soon).observe(document.body, { childList: true, subtree: true, characterData: true });
  soon();
}, pattern);
console.log("ready");
process.stdin.on("end", () => browser.close()).resume();
