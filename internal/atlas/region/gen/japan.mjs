// Makes ../codes/JMA_AREA.bin.br, the areas that Japan's warnings name, from JMA_GIS, the folder of GeoJSON files that the README in the
// folder above names: regions (class 10, six digits), municipalities (class 20, seven) and coasts of tsunami warnings (three).
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "@turf/buffer";
import { atlas } from "./atlas.mjs";

if (!process.env.JMA_GIS) throw new Error("JMA_GIS is not set: the folder of GeoJSON files that the README names");

// coastKm is how far from its line a coast reaches here, on land and at sea: as far as the tsunami of 2011 came over the plain of Sendai.
const coastKm = 6;

const files = [
  ["AreaForecastLocalM_1saibun_GIS_20190125_01.geojson", "code", /^\d{6}$/, "e2fceb19712f30acbbfa841eabcdabfbc918fe81fc4a7d0957e2b1b2054ba382"],
  ["AreaInformationCity_weather_GIS_20230517_01.geojson", "regioncode", /^\d{7}$/, "7d550c079b5244000415e4fab15009ccf1454d369f4d16be9214bd3cc3ac2397"],
  ["AreaTsunami_GIS_20240520_1.geojson", "code", /^\d{3}$/, "3999e06a9b9ba0cabf77093cee7cf6e83e95a3fd70d32a188dfffb5465b5ba9f"],
];

// lost are the towns that the files have simplified to less than half of what they are (Warabi, Funahashi, Kitagata, Shimizu of Shizuoka, Kanmaki, Taiji): their region stands in for them.
const lost = ["1122300", "1632100", "2142100", "2234100", "2942400", "3042200"];

const read = ([name, code, form, sum]) => {
  const text = readFileSync(join(process.env.JMA_GIS, name));
  const is = createHash("sha256").update(text).digest("hex");
  if (is !== sum) throw new Error(`${name}: its SHA-256 is ${is}, expected ${sum}`);
  const features = JSON.parse(text.toString("utf8")).features;
  return features
    .filter((f) => form.test(f.properties[code]) && f.geometry?.coordinates.length > 0 && !lost.includes(f.properties[code]))
    .map((f) => ({ code: f.properties[code], name: f.properties.name, note: "", geometry: f.geometry }));
};

// thin leaves out positions of a line that are nearer than a kilometer to the one before: the area around it hides them.
const thin = (line) => {
  const kept = [line[0]];
  for (const p of line.slice(1, -1)) {
    const [x, y] = kept.at(-1);
    if (Math.hypot((p[0] - x) * Math.cos((y * Math.PI) / 180), p[1] - y) > 0.01) kept.push(p);
  }
  return [...kept, line.at(-1)];
};

const around = (f) => {
  const lines = f.geometry.type === "LineString" ? [f.geometry.coordinates] : f.geometry.coordinates;
  const area = buffer({ type: "Feature", properties: {}, geometry: { type: "MultiLineString", coordinates: lines.map(thin) } }, coastKm, { units: "kilometers", steps: 4 });
  return { ...f, geometry: area.geometry };
};

const [regions, towns, coasts] = files.map(read);
const byCode = (a, b) => (a.code < b.code ? -1 : a.code > b.code ? 1 : 0);
const all = [...regions, ...towns, ...coasts.map(around)].sort(byCode);
const made = atlas(all, { unit: 2000, weight: 1e-5, share: 3e-4, least: 1e-5 });
writeFileSync(new URL("../codes/JMA_AREA.bin.br", import.meta.url), made.bytes);
console.log(`JMA_AREA: ${made.areas} areas (${regions.length} regions, ${towns.length} towns, ${coasts.length} coasts), ${made.arcs} lines, ${made.positions} positions, ${made.raw} bytes, packed ${made.bytes.length}`);
