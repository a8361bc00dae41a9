// M7: at city scale the map had no roads, and ended at zoom 13. The operator's basemap is an archive that this test makes.
import { GeoJSONVT } from "@maplibre/geojson-vt";
import { fromGeojsonVt } from "@maplibre/vt-pbf";
import type { Page } from "@playwright/test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
// @ts-expect-error -- a program of the build, without types
import { archive } from "../basemap/archive.mjs";
import { expect, expectAccessible, middle, test as base } from "./test";
import { Server } from "./server";

/** The tile of zoom 14 that Hamburg's town hall is in, and those above it. */
const [X, Y, DEEPEST] = [8647, 5293, 14];
const longitude = (x: number) => (x / 2 ** DEEPEST) * 360 - 180;
const latitude = (y: number) => (Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / 2 ** DEEPEST))) * 180) / Math.PI;
const [WEST, EAST, NORTH, SOUTH] = [longitude(X), longitude(X + 1), latitude(Y), latitude(Y + 1)];
const MIDDLE = [(WEST + EAST) / 2, (NORTH + SOUTH) / 2] as const;

/** Where a place is whose name is Arabic, and the colour of its letters. */
const ARABIC: [number, number] = [WEST + (EAST - WEST) / 4, MIDDLE[1] + (NORTH - SOUTH) / 8];
const LETTERS = [0x4c, 0x50, 0x57] as const;

/** A city: land with a street from west to east through its middle, a canal south of it, and a name in two languages. */
function city(): Buffer {
  const [x, y] = MIDDLE;
  const quarter = (NORTH - SOUTH) / 4;
  const square = (west: number, south: number, east: number, north: number) => ({ type: "Polygon", coordinates: [[[west, south], [east, south], [east, north], [west, north], [west, south]]] });
  const features: Record<string, object[]> = {
    earth: [{ geometry: square(WEST, SOUTH, EAST, NORTH), properties: { kind: "earth" } }],
    water: [{ geometry: square(WEST, SOUTH, EAST, y - quarter), properties: { kind: "canal" } }],
    roads: [{ geometry: { type: "LineString", coordinates: [[WEST, y], [EAST, y]] }, properties: { kind: "major_road", name: "Lange Straße", "name:es": "Calle Larga" } }],
    places: [{ geometry: { type: "Point", coordinates: [x, y + quarter] }, properties: { kind: "locality", name: "Musterstadt", "name:es": "Ciudad Muestra", min_zoom: 5 } }, {
      geometry: { type: "Point", coordinates: ARABIC },
      properties: { kind: "locality", name: "مدينة النموذج", min_zoom: 5 },
    }],
  };
  const tiles = [];
  for (let z = 0; z <= DEEPEST; z++) {
    const by = 2 ** (DEEPEST - z);
    const layers: Record<string, object> = {};
    for (const [name, of] of Object.entries(features)) {
      const index = new GeoJSONVT({ type: "FeatureCollection", features: of.map((f) => ({ type: "Feature", ...f })) } as never, {
        maxZoom: z,
        indexMaxZoom: z,
        indexMaxPoints: 0,
        tolerance: 0,
        buffer: 64,
      });
      const tile = index.getTile(z, Math.floor(X / by), Math.floor(Y / by));
      if (tile) layers[name] = tile;
    }
    tiles.push({ z, x: Math.floor(X / by), y: Math.floor(Y / by), data: fromGeojsonVt(layers as never, { version: 2, extent: 4096 }) });
  }
  const bytes: Buffer = archive(tiles, {
    attribution: '<a href="https://tiles.example.org" onclick="alert(1)">Mapmakers & sons</a>',
    vector_layers: Object.keys(features).map((id) => ({ id, fields: {} })),
  });
  [WEST, SOUTH, EAST, NORTH].forEach((degrees, i) => bytes.writeInt32LE(Math.round(degrees * 1e7), 102 + 4 * i)); // the tool that cut it is of the world
  return bytes;
}

const test = base.extend<{}, { server: Server }>({
  server: [
    async ({}, use) => {
      const dir = mkdtempSync(join(tmpdir(), "hazardd-streets-"));
      const file = join(dir, "city.pmtiles");
      writeFileSync(file, city());
      const server = await Server.start("--public", "map", "--basemap", file);
      await use(server);
      await server.remove();
      rmSync(dir, { recursive: true });
    },
    { scope: "worker" },
  ],
});

/** How many pixels have about this colour in the middle of the map, where nothing but the map is. */
async function pixels(page: Page, [r, g, b]: readonly [number, number, number]): Promise<number> {
  const { x, y } = await middle(page);
  const shot = (await page.screenshot({ clip: { x: x - 60, y: y - 60, width: 120, height: 120 } })).toString("base64");
  return page.evaluate(
    async ([data, r, g, b]) => {
      const image = await createImageBitmap(new Blob([Uint8Array.from(atob(data!), (c) => c.charCodeAt(0))], { type: "image/png" }));
      const c = new OffscreenCanvas(image.width, image.height).getContext("2d")!;
      c.drawImage(image, 0, 0);
      const { data: p } = c.getImageData(0, 0, image.width, image.height);
      let n = 0;
      for (let i = 0; i < p.length; i += 4) if (Math.abs(p[i]! - r!) + Math.abs(p[i + 1]! - g!) + Math.abs(p[i + 2]! - b!) < 6) n++;
      return n;
    },
    [shot, r, g, b] as const,
  );
}

const zoomOf = (page: Page) => Number(/map=([\d.]+)/.exec(page.url())?.[1]);
const goes = async (page: Page, map: string) => {
  await page.goto("about:blank");
  await page.goto(`/#map=${map}`);
  await page.locator("#map canvas").waitFor();
};

test("streets are drawn at city scale with their credits, and the map goes as deep", { tag: "@slow" }, async ({ page }) => {
  await goes(page, `16/${MIDDLE[1].toFixed(4)}/${MIDDLE[0].toFixed(4)}`);
  const credits = page.locator(".maplibregl-ctrl-attrib");
  await expect(credits).toContainText("OpenStreetMap contributors");
  await expect(credits).toContainText("Mapmakers & sons");
  await expect(credits.locator("[onclick]")).toHaveCount(0);
  await expect.poll(() => pixels(page, [0xff, 0xff, 0xff]), { message: "the street" }).toBeGreaterThan(300);
  expect(zoomOf(page)).toBe(16);
  await expect(page.getByText("The map ends here")).toHaveCount(0);
  await expectAccessible(page, "the map with streets");
});

test("beside the archive the map ends where the ground ends, and says why", { tag: "@slow" }, async ({ page }) => {
  await goes(page, "16/48.1/11.5");
  await expect.poll(() => zoomOf(page)).toBe(13);
  await expect(page.getByText("The map ends here")).toBeVisible();
  expect(await pixels(page, [0xff, 0xff, 0xff])).toBe(0);
});

test("a name from right to left is written by code that comes with it", { tag: "@slow" }, async ({ page }) => {
  const code = page.waitForResponse(/mapbox-gl-rtl-text/);
  await goes(page, `16/${ARABIC[1].toFixed(4)}/${ARABIC[0].toFixed(4)}`);
  const answer = await code;
  expect([answer.status(), new URL(answer.url()).pathname.startsWith("/assets/")]).toEqual([200, true]);
  await expect.poll(() => pixels(page, LETTERS), { message: "the name" }).toBeGreaterThan(5);
});

test("the dark map has streets too", { tag: "@slow" }, async ({ page }) => {
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  await goes(page, `16/${MIDDLE[1].toFixed(4)}/${MIDDLE[0].toFixed(4)}`);
  await expect.poll(() => pixels(page, [0x38, 0x43, 0x4e]), { message: "the street" }).toBeGreaterThan(300);
});

// The archive is at an address that the browser reads by ranges; the page's policy names its host alone.
base("an archive elsewhere is read by the browser", { tag: "@slow" }, async ({ page, watch: _ }) => {
  const bytes = city();
  const asked: string[] = [];
  const host = createServer((q, a) => {
    const range = /^bytes=(\d+)-(\d+)$/.exec(q.headers.range ?? "");
    asked.push(q.headers.range ?? "whole");
    a.setHeader("Access-Control-Allow-Origin", "*");
    a.setHeader("Access-Control-Allow-Headers", "range");
    if (q.method === "OPTIONS") return a.end();
    const [from, to] = range ? [Number(range[1]), Math.min(Number(range[2]), bytes.length - 1)] : [0, bytes.length - 1];
    a.writeHead(206, { "Content-Range": `bytes ${from}-${to}/${bytes.length}`, "Content-Length": to - from + 1 });
    return a.end(bytes.subarray(from, to + 1));
  }).listen(0, "127.0.0.1");
  await once(host, "listening");
  const server = await Server.start("--public", "map", "--basemap", `http://127.0.0.1:${(host.address() as AddressInfo).port}/city.pmtiles`);
  try {
    const elsewhere = await page.context().browser()!.newPage({ baseURL: server.url });
    const said: string[] = [];
    elsewhere.on("console", (m) => m.text().includes("GL Driver Message") || said.push(m.text()));
    await goes(elsewhere, `16/${MIDDLE[1].toFixed(4)}/${MIDDLE[0].toFixed(4)}`);
    await expect(elsewhere.locator(".maplibregl-ctrl-attrib")).toContainText("Mapmakers & sons");
    await expect.poll(() => pixels(elsewhere, [0xff, 0xff, 0xff]), { message: "the street" }).toBeGreaterThan(300);
    expect(asked.length).toBeGreaterThan(1);
    expect(asked).not.toContain("whole");
    expect(said).toEqual([]);
    await elsewhere.close();
  } finally {
    await server.remove();
    host.close();
  }
});

// The operator's layers: tiles of another host, chosen in the legend, and kept on the device.
base("a layer of the operator is shown when it is chosen, with its credits", { tag: "@slow" }, async ({ page, watch: _ }) => {
  // A picture of one pixel, magenta.
  const tile = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==", "base64");
  const asked: string[] = [];
  const host = createServer((q, a) => {
    asked.push(q.url!);
    a.setHeader("Access-Control-Allow-Origin", "*");
    a.writeHead(200, { "Content-Type": "image/png" });
    return a.end(tile);
  }).listen(0, "127.0.0.1");
  await once(host, "listening");
  const layer = `name=radar title="Rain radar" url=http://127.0.0.1:${(host.address() as AddressInfo).port}/{z}/{x}/{y}.png attribution="Weather service"`;
  const server = await Server.start("--public", "map", "--layers", layer);
  try {
    const elsewhere = await page.context().browser()!.newPage({ baseURL: server.url, viewport: { width: 1200, height: 800 } });
    const said: string[] = [];
    elsewhere.on("console", (m) => m.text().includes("GL Driver Message") || said.push(m.text()));
    await goes(elsewhere, "6/53.5/10");
    expect(asked).toEqual([]);
    await elsewhere.getByRole("button", { name: "Legend" }).click();
    await elsewhere.getByRole("checkbox", { name: "Rain radar" }).check();
    const credits = elsewhere.locator(".maplibregl-ctrl-attrib");
    await expect(credits).toContainText("Weather service");
    await expect.poll(() => asked.length, { message: "tiles" }).toBeGreaterThan(0);
    await expectAccessible(elsewhere, "the legend with layers");
    await elsewhere.reload();
    await expect(credits).toContainText("Weather service");
    await elsewhere.getByRole("button", { name: "Legend" }).click();
    await elsewhere.getByRole("checkbox", { name: "Rain radar" }).uncheck();
    await expect(credits).not.toContainText("Weather service");
    expect(said).toEqual([]);
    await elsewhere.close();
  } finally {
    await server.remove();
    host.close();
  }
});
