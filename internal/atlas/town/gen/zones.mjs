// Writes zones.txt of the map's own package of time zones, so that pages and map tell the same zone: node internal/atlas/town/gen/zones.mjs, after npm ci in web.
import { readFileSync, writeFileSync } from "node:fs";
import lookup from "../../../../web/node_modules/@photostructure/tz-lookup/tz.js";

const source = readFileSync(new URL("../../../../web/node_modules/@photostructure/tz-lookup/tz.js", import.meta.url), "utf8");
const tree = /^function tzlookup\(\w,\w\)\{var \w=("(?:[^"\\]|\\.)*"),\w=(\["[^\]]*\])/.exec(source);
if (!tree) throw new Error("the package is made in another way than this program knows");
// oxlint-disable-next-line no-eval -- a literal of a pinned package
const [text, names] = [(0, eval)(tree[1]), JSON.parse(tree[2])];
writeFileSync(new URL("../zones.txt", import.meta.url), `${names.join(" ")}\n${text}`);

// What the package itself says of places all over the world, for the test.
const rows = [];
for (let i = 0; i < 3000; i++) {
  const latitude = Math.round((Math.asin(2 * ((i * 0.618033988749895) % 1) - 1) * 180e3) / Math.PI) / 1e3;
  const longitude = Math.round((((i * 222.49223594996216) % 360) - 180) * 1e3) / 1e3;
  rows.push(`${latitude} ${longitude} ${lookup(latitude, longitude)}`);
}
for (const [latitude, longitude] of [[90, 0], [-90, 0], [0, 180], [0, -180], [35.68, 139.69], [52.52, 13.4], [-27.47, 153.03], [61.2, -149.9]]) rows.push(`${latitude} ${longitude} ${lookup(latitude, longitude)}`);
writeFileSync(new URL("../testdata/zones.txt", import.meta.url), rows.join("\n") + "\n");
