// Makes ../codes/*.bin.br, the areas behind the codes that warnings name, from HAZARDD_SHARED/geocodes. The README in the folder above
// tells the rest.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gunzipSync } from "node:zlib";
import { atlas } from "./atlas.mjs";

if (!process.env.HAZARDD_SHARED) throw new Error("HAZARDD_SHARED is not set: the folder that holds geocodes");
const from = join(process.env.HAZARDD_SHARED, "geocodes");
const to = new URL("../codes/", import.meta.url);
mkdirSync(to, { recursive: true });

const byCode = (a, b) => (a.code < b.code ? -1 : a.code > b.code ? 1 : 0);
let sum = 0;
for (const scheme of ["UGC", "SAME", "EMMA_ID", "WARNCELLID", "Taiwan_Geocode_112", "CPEAS"]) {
  const areas = gunzipSync(readFileSync(join(from, `${scheme}.ndjson.gz`)))
    .toString("utf8")
    .trim()
    .split("\n")
    .map((l) => JSON.parse(l))
    .sort(byCode);
  const made = atlas(areas, JSON.parse(process.env.OPTIONS ?? '{"unit": 2000, "weight": 1e-5, "share": 3e-4, "least": 1e-5}'));
  writeFileSync(new URL(`${scheme}.bin.br`, to), made.bytes);
  sum += made.bytes.length;
  console.log(`${scheme}: ${made.areas} areas, ${made.arcs} lines, ${made.positions} positions, ${made.raw} bytes, packed ${made.bytes.length}`);
}
const aliases = Buffer.from(readFileSync(join(from, "aliases.tsv"), "utf8").split("\n").slice(1).sort().join("\n").trim() + "\n");
const packed = brotliCompressSync(aliases, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 } });
writeFileSync(new URL("aliases.tsv.br", to), packed);
console.log(`aliases: ${packed.length}; in all ${sum + packed.length}`);
