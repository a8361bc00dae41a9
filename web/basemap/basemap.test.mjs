// Tests the archive that the build has left in dist/: run `npm run basemap` first.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { VectorTile } from "@mapbox/vector-tile";
import { PbfReader } from "pbf";
import { PMTiles } from "pmtiles";
import { archive } from "./archive.mjs";
import { DEEPEST, build } from "./build.mjs";
import { area, project, unproject, unrolled } from "./mercator.mjs";

const LIMIT = 12_000_000; // bytes of the archive, which every binary carries
const FIRST_LOOK = 160_000; // bytes that a map of the world loads first: its share of the 600 kB of a first load
const LARGEST_TILE = 250_000; // bytes before coding: what a worker reads at once

// What takes seconds guards the archive alone, which changes with this folder and its packages: it runs in .ci/run.
const seconds = { skip: !["ci", "all"].includes(process.env.HAZARDD_TESTS) && "runs with HAZARDD_TESTS=ci, as in .ci/run" };

// source lets the reader that browsers use read bytes, and counts what it takes.
const source = (bytes) => ({
  taken: 0,
  getKey: () => "test",
  async getBytes(offset, length) {
    const part = bytes.subarray(offset, offset + length);
    this.taken += part.length;
    return { data: part.buffer.slice(part.byteOffset, part.byteOffset + part.length) };
  },
});

let bytes, reader;
before(() => {
  bytes = readFileSync(new URL("dist/world.pmtiles", import.meta.url));
  reader = new PMTiles(source(bytes));
});

async function tile(z, x, y, from = reader) {
  const answer = await from.getZxy(z, x, y);
  return answer && new VectorTile(new PbfReader(new Uint8Array(answer.data)));
}

const at = (z, lon, lat) => tile(z, ...project([lon, lat]).map((v) => Math.floor(v * 2 ** z)));

function features(t, layer) {
  const all = t?.layers[layer];
  return all ? Array.from({ length: all.length }, (_, i) => all.feature(i)) : [];
}

const names = (t, layer) => features(t, layer).map((f) => f.properties.name);

// covered tells whether a layer's areas cover a place, by the even-odd rule.
async function covered(layer, lon, lat, z = DEEPEST) {
  const [fx, fy] = project([lon, lat]).map((v) => v * 2 ** z);
  const t = await tile(z, Math.floor(fx), Math.floor(fy));
  const [px, py] = [(fx % 1) * 4096, (fy % 1) * 4096];
  let inside = false;
  for (const f of features(t, layer)) {
    for (const ring of f.loadGeometry()) {
      for (let i = 0, j = ring.length - 1; i < ring.length; j = i++) {
        const [a, b] = [ring[i], ring[j]];
        if (a.y > py !== b.y > py && px < ((b.x - a.x) * (py - a.y)) / (b.y - a.y) + a.x) inside = !inside;
      }
    }
  }
  return inside;
}

test("the archive and its largest tile are within their limits", seconds, async () => {
  assert.ok(bytes.length < LIMIT, `${bytes.length} bytes`);
  const header = await reader.getHeader();
  assert.deepEqual([header.minZoom, header.maxZoom, header.tileType, header.clustered], [0, DEEPEST, 1, true]);
  let largest = 0;
  for (let x = 0; x < 2 ** DEEPEST; x++) {
    for (let y = 0; y < 2 ** DEEPEST; y++) {
      const answer = await reader.getZxy(DEEPEST, x, y);
      if (answer) largest = Math.max(largest, answer.data.byteLength);
    }
  }
  assert.ok(largest < LARGEST_TILE, `${largest} bytes`);
});

test("a first look at the world stays small", async () => {
  const counted = source(bytes);
  const first = new PMTiles(counted);
  for (let z = 0; z <= 2; z++) for (let x = 0; x < 2 ** z; x++) for (let y = 0; y < 2 ** z; y++) await first.getZxy(z, x, y);
  assert.ok(counted.taken < FIRST_LOOK, `${counted.taken} bytes`);
  console.log(`first look, zooms 0 to 2: ${counted.taken} bytes of ${bytes.length}`);
});

test("every layer is there where it should be", async () => {
  const world = await tile(0, 0, 0);
  assert.deepEqual(Object.keys(world.layers).sort(), ["border", "lake", "land"]);
  const europe = await at(5, 10, 47);
  for (const layer of ["land", "river", "lake", "province", "border", "country", "city"]) assert.ok(features(europe, layer).length > 0, layer);
});

test("land is land and sea is sea, on both sides of 180°", async () => {
  for (const [name, lon, lat, want] of [
    ["the Sahara", 10, 25, true], ["Kansas", -98, 38, true], ["Paris", 2.35, 48.85, true], ["Antarctica", 0, -80, true], ["Chukotka, east of 180°", -175, 66.8, true],
    ["Chukotka, west of 180°", 178, 67, true], ["Wrangel Island", 180 - 1e-6, 71.1, true], ["Viti Levu", 177.8, -17.8, true], ["the South Pacific", 180 - 1e-6, -30, false],
    ["the North Atlantic", -30, 45, false], ["the Bay of Guinea", 0.01, 0.01, false], ["the Caspian Sea", 51, 42, false], ["the Pacific between Fiji and Samoa", -176, -15.5, false],
  ]) {
    for (const z of [3, 5, DEEPEST]) assert.equal(await covered("land", lon, lat, z), want, `${name} at zoom ${z}`);
  }
  assert.equal(await covered("lake", -87, 47.6), true, "Lake Superior");
  assert.equal(await covered("lake", 33, -1), true, "Lake Victoria");
});

test("rings are closed, and lie in their tile", async () => {
  for (const [z, lon, lat] of [[0, 0, 0], [2, 100, 60], [4, 25, 60], [6, 24, 37.5], [7, 120, 12], [7, -73, -50], [7, 178, -17]]) {
    const t = await at(z, lon, lat);
    const rings = [...features(t, "land"), ...features(t, "lake")].flatMap((f) => f.loadGeometry());
    assert.ok(rings.length > 0, `zoom ${z} at ${lon}, ${lat}`);
    for (const ring of rings) {
      const points = ring.map((p) => [p.x, p.y]);
      assert.deepEqual(points[0], points.at(-1));
      assert.ok(points.length >= 4);
      assert.ok(points.every(([x, y]) => x >= -200 && x <= 4296 && y >= -200 && y <= 4296), "inside the tile and its margin");
    }
    assert.ok(rings.some((ring) => Math.abs(area(ring.map((p) => [p.x, p.y]))) > 0));
  }
});

test("countries, seas and towns are named", async () => {
  const all = [];
  for (let x = 0; x < 32; x++) for (let y = 0; y < 32; y++) all.push(await tile(5, x, y));
  const countries = new Set(all.flatMap((t) => names(t, "country")));
  for (const name of ["Japan", "Fiji", "Côte d'Ivoire", "Bosnia and Herzegovina", "North Macedonia", "DR Congo", "Tuvalu", "Palestine", "Western Sahara", "United States"]) {
    assert.ok(countries.has(name), name);
  }
  assert.deepEqual([...countries].filter((name) => /\.( |$)/.test(name) && !name.startsWith("U.S. ")), [], "no name is cut short");
  const seas = new Set(all.flatMap((t) => names(t, "sea")));
  for (const name of ["Pacific Ocean", "Caribbean Sea", "Tasman Sea"]) assert.ok(seas.has(name), name);
  const towns = new Map(all.flatMap((t) => features(t, "city")).map((f) => [f.properties.name, f.properties]));
  for (const name of ["Tokyo", "Port-au-Prince", "Honiara", "Suva", "Reykjavík", "São Paulo", "Wellington"]) assert.ok(towns.has(name), name);
  assert.equal(towns.get("Tokyo").capital, true);
  assert.ok(towns.get("Tokyo").people > 8e6);
  assert.equal(towns.get("São Paulo").capital, undefined);
});

test("a place is in the tiles of the zoom that it is shown from, and of all after", async () => {
  for (const z of [2, 3, 4, 5, 6]) {
    const town = features(await at(z, 139.7, 35.7), "city");
    assert.ok(town.every((f) => f.properties.from <= z), `zoom ${z}`);
  }
  assert.ok(features(await at(DEEPEST, 9, 45.5), "city").some((f) => f.properties.from > DEEPEST), "the deepest has those of the zooms to come");
});

test("borders that are disputed are told from others", async () => {
  const kosovo = features(await at(6, 20.9, 42.6), "border");
  assert.ok(kosovo.some((f) => f.properties.disputed === true));
  const benelux = features(await at(6, 5, 51), "border");
  assert.ok(benelux.length > 0 && benelux.every((f) => !f.properties.disputed));
});

test("the same packages make the same bytes", seconds, () => {
  assert.ok(build().equals(bytes), "what this process builds differs from what the build has written: run `npm run basemap` again; if it still differs, find out why");
});

test("an archive with leaves is read back whole by the reader that browsers use", seconds, async () => {
  const tiles = [];
  for (let x = 0; x < 256; x++) for (let y = 0; y < 256; y++) tiles.push({ z: 8, x, y, data: Buffer.from(createHash("sha512").update(`${x} ${y}`).digest("hex").slice(0, 1 + ((x * 7919 + y * 104729) % 128))) });
  const written = new PMTiles(source(archive(tiles, { name: "test" })));
  assert.ok((await written.getHeader()).leafDirectoryLength > 0);
  for (const { x, y, data } of [tiles[0], tiles[5000], tiles.at(-1)]) assert.equal(Buffer.from((await written.getZxy(8, x, y)).data).toString(), data.toString());
  assert.equal(await written.getZxy(6, 0, 0), undefined);
});

test("Mercator's square and back", () => {
  for (const [lon, lat] of [[0, 0], [-179.5, 84], [151.2, -33.9]]) {
    const [a, b] = unproject(project([lon, lat]));
    assert.ok(Math.abs(a - lon) < 1e-9 && Math.abs(b - lat) < 1e-9);
  }
  assert.deepEqual(unrolled([[0.9, 0.5], [0.1, 0.5], [0.9, 0.6], [0.9, 0.5]]).map(([x]) => Math.round(x * 10) / 10), [0.9, 1.1, 0.9, 0.9]);
});
