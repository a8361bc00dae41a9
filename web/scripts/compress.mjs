// Compresses what the build has made (.br and .gz beside each file), and fails when what is loaded before the first row, or before the map, is larger than its limit.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const dist = new URL("../dist/", import.meta.url).pathname;
// Bytes, coded as a browser without brotli (plain HTTP) takes them: of all that a first visit loads before it shows a row, and before it draws the map.
const LIMITS = { rows: 72_000, map: 370_000 };
const MIN = 1_200; // bytes; what is smaller fits one packet anyway
// What is loaded only when the map comes close, or when it is asked for.
const LATER = JSON.parse(readFileSync(new URL("../later.json", import.meta.url), "utf8"));

const files = readdirSync(dist, { recursive: true, encoding: "utf8" })
  .filter((name) => statSync(join(dist, name)).isFile() && !/\.(br|gz)$/.test(name))
  .sort();
// A file whose name says that it is loaded later is not, if one of the first load cannot do without it.
const needed = new Set(files.filter((name) => !LATER.some((prefix) => name.startsWith(prefix))));
// Nor if the page asks for it at once, whatever it is named.
for (const [, to] of readFileSync(join(dist, "index.html"), "utf8").matchAll(/(?:src|href)="\.\/([^"]+)"/g)) if (files.includes(to)) needed.add(to);
for (const name of needed) {
  if (!name.endsWith(".js")) continue;
  for (const [, , to] of readFileSync(join(dist, name), "utf8").matchAll(/(from|import)\s*"\.\/([^"]+\.js)"/g)) needed.add(`assets/${to}`);
}
// Before the first row come the page, the first script, the words and what these import at once.
const rows = new Set(files.filter((name) => /^assets\/(first-|words-en-map-)/.test(name)).concat("index.html"));
for (const [, to] of readFileSync(join(dist, "index.html"), "utf8").matchAll(/(?:src|href)="\.\/([^"]+)"/g)) if (files.includes(to)) rows.add(to);
for (const name of rows) {
  if (!name.endsWith(".js")) continue;
  for (const [, , to] of readFileSync(join(dist, name), "utf8").matchAll(/(from|import)\s*"\.\/([^"]+\.js)"/g)) rows.add(`assets/${to}`);
}
const loaded = { rows: 0, map: 0 };
for (const name of files) {
  const content = readFileSync(join(dist, name));
  let gz = content.length;
  let br = content.length;
  if (content.length >= MIN && /\.(html|js|css|json|geojson|svg|txt|webmanifest|pbf)$/.test(name)) {
    const gzip = gzipSync(content, { level: 9 });
    const brot = brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length } });
    writeFileSync(join(dist, name + ".gz"), gzip);
    writeFileSync(join(dist, name + ".br"), brot);
    gz = gzip.length;
    br = brot.length;
  }
  const later = !needed.has(name);
  if (!later) loaded.map += gz;
  if (rows.has(name)) loaded.rows += gz;
  console.log(`${String(content.length).padStart(9)} ${String(gz).padStart(8)} gz ${String(br).padStart(8)} br  ${name}${later ? "  (later)" : rows.has(name) ? "  (rows)" : ""}`);
}
let over = false;
for (const [until, limit] of Object.entries(LIMITS)) {
  console.log(`until the ${until}: ${loaded[until]} bytes with gzip; limit ${limit}`);
  over ||= loaded[until] > limit;
}
if (over) {
  console.error("what is loaded first is over its limit");
  process.exit(1);
}
