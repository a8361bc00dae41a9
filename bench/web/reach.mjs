// Says when rows of the list of hazards are on the screen of a page of a running service: for bench/reach, which starts it. Usage:
//
//	node bench/web/reach.mjs http://127.0.0.1:8080 PATTERN
//
// The service has a hazard already, and the list is the newest first. It prints "ready", and then for each text of a row that matches the pattern and comes into the window for the first time: the
// milliseconds since 1970 at which it was painted, and the text. It ends with its standard input. CHROMIUM names the browser.
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
  const look = () => {
    for (const row of document.querySelectorAll(".list .row")) {
      const name = wanted.exec(row.textContent ?? "")?.[0];
      if (!name || seen.has(name) || row.getBoundingClientRect().top >= innerHeight) continue;
      seen.add(name);
      // A message that is sent within a frame comes after its painting.
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => window.painted(name, Date.now());
        port2.postMessage(0);
      });
    }
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
  look();
}, pattern);
console.log("ready");
process.stdin.on("end", () => browser.close()).resume();
