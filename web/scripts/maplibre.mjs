// Splits MapLibre into three files, in maplibre/: what the page and its worker share, the page's part, the worker's part. MapLibre's own files for a
// strict policy have the shared part twice, a hundred kilobytes; its one file makes the worker out of text, which the page's policy forbids.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const code = readFileSync(new URL("../node_modules/maplibre-gl/dist/maplibre-gl.js", import.meta.url), "utf8");
const to = new URL("../maplibre/", import.meta.url);
const licence = code.slice(0, code.indexOf("*/") + 3);
const starts = [...code.matchAll(/^define\("(shared|worker|index)",\[[^\]]*\],\(/gm)];
if (starts.map(([, name]) => name).join() !== "shared,worker,index") throw new Error("maplibre-gl.js has other parts than shared, worker and index: read its define calls");
const part = Object.fromEntries(starts.map((m, i) => {
  const end = i + 1 < starts.length ? starts[i + 1].index : code.indexOf("\n//", m.index);
  return [m[1], code.slice(m.index + m[0].length - 1, code.lastIndexOf(");", end))];
}));

rmSync(to, { recursive: true, force: true });
mkdirSync(to);
const write = (name, text) => writeFileSync(new URL(name, to), text);
// The page runs the shared part as a module without exports, the worker as a script. The worker names it in its own text: from a service worker's
// cache it comes without what an address ends with.
const text = `${licence}globalThis.maplibreShared={};${part.shared}(globalThis.maplibreShared);\n`;
const shared = `maplibre-shared-${createHash("sha256").update(text).digest("hex").slice(0, 8)}.js`;
write(shared, text);
write("maplibre-worker.js", `${licence}importScripts(${JSON.stringify(shared)});${part.worker}(globalThis.maplibreShared);\n`);
write("index.js", `${licence}const maplibregl={};${part.index}(maplibregl,globalThis.maplibreShared);export default maplibregl;\n`);
write("files.ts", `export { default as shared } from "./${shared}?url";\nexport { default as worker } from "./maplibre-worker.js?url";\n`);
