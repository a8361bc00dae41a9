// Cuts the basemap: `node basemap/build.mjs` in web/ writes basemap/dist/world.pmtiles. README.md says what of, and why so.
import { GeoJSONVT } from "@maplibre/geojson-vt";
import { fromGeojsonVt } from "@maplibre/vt-pbf";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { archive } from "./archive.mjs";
import { cities, countries, seas } from "./places.mjs";
import { provinces, waters, world } from "./shapes.mjs";

export const DEEPEST = 7; // the last zoom with tiles; MapLibre enlarges these for what is deeper. 1:10,000,000 has no more detail.
const EXTENT = 4096; // units along a tile's side
const BUFFER = 40; // units, 5 pixels: more than half the width of the widest line

const shownAt = (features, zoom) => features.filter((f) => zoom === DEEPEST || (f.properties.from ?? 0) <= zoom);

// layering reads the data once; what it returns is all layers at a zoom.
function layering() {
  const { land, borders } = world();
  const { lakes, rivers } = waters();
  const inner = provinces();
  const towns = cities();
  const [names, marine] = [countries(towns), seas()];
  return (zoom) => {
    const deepest = zoom === DEEPEST;
    return {
      land: land(zoom, deepest),
      river: zoom < 3 ? [] : rivers(zoom),
      lake: lakes(zoom, deepest),
      province: zoom < 3 ? [] : inner(zoom, deepest),
      border: borders(zoom),
      sea: shownAt(marine, zoom),
      country: shownAt(names, zoom),
      city: shownAt(towns, zoom),
    };
  };
}

// cut is the tiles of one zoom, those with something in them.
function cut(zoom, layers) {
  const tiles = new Map();
  for (const [name, features] of Object.entries(layers)) {
    if (features.length === 0) continue;
    const points = features[0].geometry.type === "Point";
    const index = new GeoJSONVT({ type: "FeatureCollection", features }, {
      maxZoom: zoom, indexMaxZoom: zoom, indexMaxPoints: 0, tolerance: 0, extent: EXTENT, buffer: points ? 0 : BUFFER, coordinates: "unitSquare",
    });
    for (let x = 0; x < 2 ** zoom; x++) {
      for (let y = 0; y < 2 ** zoom; y++) {
        const tile = index.getTile(zoom, x, y);
        if (!tile || tile.features.length === 0) continue;
        const key = `${x} ${y}`;
        if (!tiles.has(key)) tiles.set(key, { x, y, layers: {} });
        tiles.get(key).layers[name] = tile;
      }
    }
  }
  return [...tiles.values()].map(({ x, y, layers }) => ({ z: zoom, x, y, data: fromGeojsonVt(layers, { version: 2, extent: EXTENT }) }));
}

// build is the whole archive. The same packages make the same bytes.
export function build() {
  const at = layering();
  const tiles = [];
  for (let zoom = 0; zoom <= DEEPEST; zoom++) tiles.push(...cut(zoom, at(zoom)));
  return archive(tiles, {
    name: "hazardd basemap",
    format: "pbf",
    attribution: "Made with Natural Earth; towns: GeoNames (CC BY 4.0)",
    vector_layers: ["land", "river", "lake", "province", "border", "sea", "country", "city"].map((id) => ({ id, fields: {} })),
  });
}

// inputs is a hash of all that the archive depends on: this folder's programs, and the packages by the lock file.
function inputs() {
  const hash = createHash("sha256").update(process.versions.zlib);
  const here = new URL(".", import.meta.url);
  for (const name of [...readdirSync(here).filter((n) => n.endsWith(".mjs")), "../package-lock.json"].sort()) hash.update(readFileSync(new URL(name, here)));
  return hash.digest("hex");
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const file = new URL("dist/world.pmtiles", import.meta.url);
  const stamp = new URL("dist/inputs.sha256", import.meta.url);
  const now = inputs();
  if (existsSync(file) && existsSync(stamp) && readFileSync(stamp, "utf8") === now) {
    console.log("basemap: nothing has changed");
  } else {
    const began = performance.now();
    const bytes = build();
    mkdirSync(new URL("dist/", import.meta.url), { recursive: true });
    writeFileSync(file, bytes);
    writeFileSync(stamp, now);
    console.log(`basemap: ${bytes.length} bytes in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  }
}
