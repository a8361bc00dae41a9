// Takes the pictures by which people judge the screens: each size, light and dark; as the color deficiencies see the two sizes that most people use,
// and as a grey printer prints it on A4. It judges nothing: look at them, and ask of each what is worst, where, and what to do. Usage:
//
//	node bench/web/look.mjs ADDRESS FOLDER NAME [--only=360x740-light,…] [--at=LATITUDE,LONGITUDE] [--block=PATTERN] [--wait=MILLISECONDS]
//
// ADDRESS is that of a screen of a running service, with its path and hash: http://127.0.0.1:8080/#map=4/39/-97. FOLDER gets NAME-360x740-light.png and so on.
// --block refuses requests whose path matches the pattern, as a broken network would. --at is the place of the device. CHROMIUM names the browser.
import { mkdirSync } from "node:fs";
import { chromium } from "../../web/node_modules/@playwright/test/index.mjs";

const [address, folder, name] = process.argv.slice(2).filter((a) => !a.startsWith("--"));
const option = (key) => process.argv.find((a) => a.startsWith(`--${key}=`))?.slice(key.length + 3);
if (!name) throw new Error("expected an address, a folder and a name");
const sizes = ["360x740", "768x1024", "1440x900", "3840x2160"];
const looks = [
  ...sizes.flatMap((size) => ["light", "dark"].map((theme) => ({ size, theme, as: theme }))),
  ...["360x740", "1440x900"].flatMap((size) =>
    ["light", "dark"].flatMap((theme) => ["deuteranopia", "protanopia", "tritanopia", "achromatopsia"].map((seen) => ({ size, theme, seen, as: `${theme}-${seen}` })))
  ),
  { size: "1440x900", theme: "light", seen: "achromatopsia", print: true, as: "print" },
];
/** A4 without its margins, CSS pixels. */
const PAPER = { width: 703, height: 1032 };
const only = option("only")?.split(",");
const [latitude, longitude] = option("at")?.split(",").map(Number) ?? [];
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
});
// One page for the looks that differ in colors only: the map is drawn once.
for (const size of sizes) {
  for (const theme of ["light", "dark"]) {
    const wanted = looks.filter((l) => l.size === size && l.theme === theme && (!only || only.includes(`${size}-${l.as}`)));
    if (wanted.length === 0) continue;
    const [width, height] = size.split("x").map(Number);
    const phone = width < 640;
    const context = await browser.newContext({
      viewport: { width, height },
      deviceScaleFactor: phone ? 2 : 1,
      hasTouch: phone,
      isMobile: phone,
      locale: "en-US",
      timezoneId: "America/Chicago",
      colorScheme: theme,
      serviceWorkers: option("block") ? "block" : "allow",
      ...(latitude === undefined ? {} : { geolocation: { latitude, longitude }, permissions: ["geolocation"] }),
    });
    const page = await context.newPage();
    page.on("pageerror", (e) => console.log(`${name} ${size} ${theme}: ${e}`));
    if (option("block")) await page.route((url) => new RegExp(option("block")).test(url.pathname), (route) => route.abort());
    await page.goto(address, { waitUntil: "commit" });
    const drawn = () => !document.querySelector("#map") || (document.querySelector("#map canvas") && !document.querySelector(".map-picture, .map-coming"));
    for (let n = 0; n < 2; n++) { // the picture that the server draws may come between
      await page.waitForFunction(drawn, undefined, { timeout: 60_000, polling: 200 }).catch(() => console.log(`${name} ${size} ${theme}: the map is not drawn`));
      await page.waitForTimeout(Number(option("wait") ?? 2_000));
    }
    const cdp = await context.newCDPSession(page);
    for (const look of wanted) {
      await cdp.send("Emulation.setEmulatedVisionDeficiency", { type: look.seen ?? "none" });
      if (look.print) {
        await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
        await page.setViewportSize(PAPER);
      }
      await page.emulateMedia({ media: look.print ? "print" : "screen" });
      await page.screenshot({ path: `${folder}/${name}-${size}-${look.as}.png`, fullPage: look.print === true });
    }
    await context.close();
  }
}
await browser.close();
