// The tests of the map in a real browser. They need the binary that `make build` makes, and Chromium: Debian's package chromium,
// or the program that the variable CHROMIUM names. Without it no test runs. A test costs 5 to 10 seconds of processor, most of it
// to load the page and to draw the map without a graphics card. So a change runs a part of them: the ways that all take, and
// what must never be wrong. Those with the tag @slow, and the phone's width, need HAZARDD_TESTS=all.
import { defineConfig } from "@playwright/test";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const runs = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};
const chromium = process.env["CHROMIUM"] ?? (process.env["PATH"] ?? "").split(delimiter).flatMap((dir) => [join(dir, "chromium"), join(dir, "chromium-browser")]).find(runs);
if (!chromium) console.log("skipped: the map in a browser, because Chromium is not installed");
const level = process.env["HAZARDD_TESTS"];
const all = level === "all";

export default defineConfig({
  testDir: ".",
  testIgnore: chromium ? [] : "**",
  ...(all ? {} : { grepInvert: level === "ci" ? /@slow/ : /@slow|@ci/ }),
  outputDir: "../../bin/e2e",
  fullyParallel: false,
  forbidOnly: true,
  retries: 1, // a browser that draws without a graphics card may starve beside other work; what fails twice is wrong
  workers: 2,
  timeout: 180_000, // of a test, for machines with many neighbours
  expect: { timeout: 30_000 }, // six times the default, as for Vitest
  reporter: [["list"], ["./summary.ts"]],
  use: {
    browserName: "chromium",
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
    colorScheme: "light",
    reducedMotion: "reduce",
    launchOptions: {
      ...(chromium && { executablePath: chromium }),
      // WebGL without a graphics card; and no name leads anywhere, so that a request to elsewhere fails too.
      args: ["--disable-gpu-rasterization", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"],
    },
  },
  projects: [
    { name: "wide", use: { viewport: { width: 1440, height: 900 } } },
    ...(all ? [{ name: "phone", use: { viewport: { width: 360, height: 740 }, hasTouch: true } }] : []),
  ],
});
