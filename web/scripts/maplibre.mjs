// Splits MapLibre into three files, in maplibre/: what the page and its worker share, the page's part, the worker's part. MapLibre's own files for a
// strict policy have the shared part twice, a hundred kilobytes; its one file makes the worker out of text, which the page's policy forbids.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const code = readFileSync(new URL("../node_modules/maplibre-gl/dist/maplibre-gl.js", import.meta.url), "utf8");
const to = new URL("../maplibre/", import.meta.url);
const licence = code.slice(0, code.indexOf("*/") + 3);
const starts = [...code.matchAll(/^define\("(shared|worker|index)",\[[^\]]*\],\(/gm)];
if (starts.map(([, name]) => name).join() !== "shared,worker,index") throw new Error("maplibre-gl.js has other parts than shared, worker and index: read its define calls");
const part = Object.fromEntries(starts.map((m, i) => {
  const end = i + 1 < starts.length ? starts[i + 1].index : code.indexOf("\n//", m.index);
  return [m[1], code.slice(m.index + m[0].length - 1, code.lastIndexOf(");", end))];
}));

mkdirSync(to, { recursive: true });
// The page runs the shared part as a module without exports, the worker as a script.
writeFileSync(new URL("maplibre-shared.js", to), `${licence}globalThis.maplibreShared={};${part.shared}(globalThis.maplibreShared);\n`);
writeFileSync(new URL("maplibre-worker.js", to), `${licence}importScripts(new URL(self.location.hash.slice(1),self.location));${part.worker}(globalThis.maplibreShared);\n`);
writeFileSync(new URL("index.js", to), `${licence}const maplibregl={};${part.index}(maplibregl,globalThis.maplibreShared);export default maplibregl;\n`);
