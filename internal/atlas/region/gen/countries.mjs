// Makes ../countries.bin.br and ../outlines.bin.br from Natural Earth. The README in the folder above tells the rest.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { feature } from "topojson-client";
import { atlas } from "./atlas.mjs";

const require = createRequire(import.meta.url);
const world = JSON.parse(readFileSync(require.resolve("world-atlas/countries-10m.json"), "utf8"));
const rows = readFileSync(new URL("countries.tsv", import.meta.url), "utf8").trim().split("\n").slice(1).map((l) => l.split("\t"));
const byNumber = new Map(rows.filter((r) => r[2]).map((r) => [r[2], r[0]]));
const names = new Map(rows.map((r) => [r[0], r[3]]));

// unnumbered are the areas of Natural Earth without a number of ISO 3166-1: the country that they are taken for (several, where the data
// name none and several claim them), and what is said of them.
const unnumbered = {
  Akrotiri: ["CY", "the British Sovereign Base Area of Akrotiri"],
  Dhekelia: ["CY", "the British Sovereign Base Area of Dhekelia"],
  "Cyprus U.N. Buffer Zone": ["CY", "the buffer zone of the United Nations in Cyprus"],
  "N. Cyprus": ["CY", "Northern Cyprus, outside the control of the government of Cyprus"],
  Kosovo: ["XK", "Kosovo, claimed by Serbia; XK is no code of ISO 3166-1 but in common use"],
  Somaliland: ["SO", "Somaliland, outside the control of the government of Somalia"],
  "Siachen Glacier": ["IN,PK", "the Siachen Glacier, claimed by India and Pakistan"],
  Baikonur: ["KZ", "Baikonur, leased to Russia"],
  "USNB Guantanamo Bay": ["CU", "Guantanamo Bay, held by the United States"],
  "Spratly Is.": ["BN,CN,MY,PH,TW,VN", "the Spratly Islands, claimed in whole or in part by six"],
  "Scarborough Reef": ["CN,PH,TW", "Scarborough Reef, claimed by China, the Philippines and Taiwan"],
  "Bajo Nuevo Bank": ["CO", "the Bajo Nuevo Bank, claimed by others too"],
  "Serranilla Bank": ["CO", "the Serranilla Bank, claimed by others too"],
  "Clipperton I.": ["FR"],
  "Coral Sea Is.": ["AU"],
  "Indian Ocean Ter.": ["CC"],
};

// parts are polygons that the data count to one country and ISO 3166-1, or the United Nations, to another: all whose middle is within
// west, south, east, north.
const parts = [
  ["FR", "GF", [-56, 1, -50, 7]],
  ["FR", "GP", [-62, 15.8, -60.9, 16.6]],
  ["FR", "MQ", [-61.4, 14.2, -60.7, 15]],
  ["FR", "RE", [55, -22, 56.5, -20]],
  ["FR", "YT", [44.8, -13.2, 45.5, -12.4]],
  ["NO", "SJ", [-10, 70, -7, 72]],
  ["NO", "SJ", [9, 73.5, 36, 82]],
  ["NO", "BV", [3, -55, 4, -54]],
  ["NL", "BQ", [-69, 11, -62, 19]],
  ["NZ", "TK", [-174, -11, -170, -7]],
  ["CC", "CX", [104, -12, 107, -9]],
  ["RU", "UA", [32, 44, 36.8, 46.4], "Crimea, held by Russia; Ukraine's by resolution 68/262 of the United Nations"],
];
const whole = {
  TW: "Taiwan, claimed by the People's Republic of China",
  PS: "Palestine: the Gaza Strip and the West Bank, held in part by Israel",
  EH: "Western Sahara, a non-self-governing territory, held in part by Morocco",
  FK: "the Falkland Islands (Malvinas), claimed by Argentina",
};
// circles stand for what the data only have as a line, or lack: longitude, latitude, radius in kilometers.
const circles = { VA: [12.4534, 41.9033, 0.4] };

const polygons = (g) => (g.type === "Polygon" ? [g.coordinates] : g.coordinates);
const middle = (ring) => {
  const xs = ring.map((p) => p[0]);
  const ys = ring.map((p) => p[1]);
  return [(Math.min(...xs) + Math.max(...xs)) / 2, (Math.min(...ys) + Math.max(...ys)) / 2];
};

// half is what of a ring lies at or above a value on an axis (0: longitude, 1: latitude), or at or below it.
const half = (ring, axis, value, above) => {
  const inside = (p) => (above ? p[axis] >= value : p[axis] <= value);
  const out = [];
  for (let i = 1; i < ring.length; i++) {
    const [a, b] = [ring[i - 1], ring[i]];
    if (inside(a)) out.push(a);
    if (inside(a) === inside(b)) continue;
    const k = (value - a[axis]) / (b[axis] - a[axis]);
    const p = [a[0] + (b[0] - a[0]) * k, a[1] + (b[1] - a[1]) * k];
    p[axis] = value;
    out.push(p);
  }
  return out.length < 3 ? null : [...out, out[0]];
};

// flat is a polygon as polygons between -180 and 180: the data have rings that go across the antimeridian, and one round the South Pole.
const flat = (polygon) => {
  const crosses = (r) => r.some((q, i) => i > 0 && Math.abs(q[0] - r[i - 1][0]) > 180);
  if (!polygon.some(crosses)) return [polygon];
  let turns = 0;
  const unrolled = polygon.map((r) => {
    let by = 0;
    const out = r.map((q, i) => {
      if (i > 0 && Math.abs(q[0] - r[i - 1][0]) > 180) by += q[0] < r[i - 1][0] ? 360 : -360;
      return [q[0] + by, q[1]];
    });
    if (by !== 0) turns++;
    return out;
  });
  if (turns > 0) {
    const polar = (r) => r.flatMap((q, i) => (i > 0 && Math.abs(q[0] - r[i - 1][0]) > 180 ? [[r[i - 1][0], -90], [q[0], -90], q] : [q]));
    return [polygon.map(polar)];
  }
  return [-360, 0, 360].flatMap((by) => {
    const moved = unrolled.map((r) => r.map(([x, y]) => [x + by, y]));
    const cut = moved.map((r) => half(r, 0, -180, true)).map((r) => r && half(r, 0, 180, false)).filter(Boolean);
    return cut.length > 0 ? [cut] : [];
  });
};

const found = new Map(); // "CODE\tnote" → polygons
const add = (code, note, ps) => {
  const key = `${code}\t${note ?? ""}`;
  found.set(key, [...(found.get(key) ?? []), ...ps]);
};
for (const f of feature(world, world.objects.countries).features) {
  const [code, note] = f.id ? [byNumber.get(f.id), undefined] : (unnumbered[f.properties.name] ?? []);
  if (!code) throw new Error(`${f.id} ${f.properties.name}: no country in countries.tsv or in unnumbered`);
  for (const p of polygons(f.geometry).flatMap(flat)) {
    const [x, y] = middle(p[0]);
    const part = parts.find(([from, , b]) => from === code && x >= b[0] && x <= b[2] && y >= b[1] && y <= b[3]);
    if (circles[code]) continue;
    else if (part) add(part[1], part[3] ?? whole[part[1]], [p]);
    else if (code === "MA") {
      // The data give Morocco what it holds of Western Sahara: the border is 27°40' N.
      const [n, s] = [true, false].map((side) => p.map((r) => half(r, 1, 27.6667, side)).filter(Boolean));
      if (n.length > 0) add("MA", note, [n]);
      if (s.length > 0) add("EH", whole.EH, [s]);
    } else add(code, note ?? whole[code], [p]);
  }
}
for (const [code, [lon, lat, km]] of Object.entries(circles)) {
  const ring = [];
  for (let i = 0; i <= 16; i++) {
    const a = (i % 16) * (Math.PI / 8);
    const r = km / 111.195;
    ring.push([lon + (r * Math.cos(a)) / Math.cos((lat * Math.PI) / 180), lat + r * Math.sin(a)]);
  }
  add(code, "the outline is a circle", [[ring]]);
}
const features = [...found]
  .map(([key, coordinates]) => {
    const [code, note] = key.split("\t");
    return { code, name: code.split(",").map((c) => names.get(c)).join(", "), note, geometry: { type: "MultiPolygon", coordinates } };
  })
  .sort((a, b) => (a.code < b.code ? -1 : a.code > b.code ? 1 : a.note < b.note ? -1 : 1));
const missing = rows.filter((r) => !features.some((f) => f.code === r[0]));
if (missing.length > 0) throw new Error(`no area for ${missing.map((r) => r[0]).join(" ")}: add circles`);

for (const [file, options] of [
  ["countries.bin.br", { unit: 1000, weight: 3e-4, share: 1e-4 }],
  ["outlines.bin.br", { unit: 1000, weight: 2e-2, share: 3e-4, least: 5e-4 }],
]) {
  const made = atlas(features, options);
  writeFileSync(new URL(`../${file}`, import.meta.url), made.bytes);
  console.log(`${file}: ${made.areas} areas, ${made.arcs} lines, ${made.positions} positions, ${made.raw} bytes, packed ${made.bytes.length}`);
}
