// Writes what makes the map an app: its icons, and the service worker with the list of the files that it keeps. It runs after vite.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";

const dist = new URL("../dist/", import.meta.url).pathname;

// The sign of src/icon.svg, in units of 32: rings around the middle, the outermost first.
const rings = [[15, [0x0f, 0x17, 0x20]], [13.5, [0xff, 0, 0]], [9.5, [0x0f, 0x17, 0x20]], [5, [0xff, 0xff, 0xff]]];

/** The sign as a PNG (RFC 2083) of so many pixels; `full`: on a ground that fills the square, for systems that cut a shape out of it. */
function png(size, full) {
  const STEPS = 4; // samples of a pixel's edge
  const rows = Buffer.alloc(size * (size * 4 + 1));
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const sum = [0, 0, 0, 0];
      for (let i = 0; i < STEPS * STEPS; i++) {
        const at = (v, step) => (((v + (step + 0.5) / STEPS) / size) * 32 - 16) * (full ? 1.25 : 1);
        const r = Math.hypot(at(x, i % STEPS), at(y, Math.floor(i / STEPS)));
        const colour = rings.findLast(([radius]) => r <= radius)?.[1] ?? (full ? rings[0][1] : undefined);
        if (!colour) continue;
        colour.forEach((c, k) => (sum[k] += c));
        sum[3] += 1;
      }
      const to = y * (size * 4 + 1) + 1 + x * 4;
      for (let k = 0; k < 3; k++) rows[to + k] = sum[3] ? Math.round(sum[k] / sum[3]) : 0;
      rows[to + 3] = Math.round((255 * sum[3]) / (STEPS * STEPS));
    }
  }
  const crcTable = Array.from({ length: 256 }, (_, n) => {
    for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
    return n >>> 0;
  });
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    let crc = 0xffffffff;
    for (const b of body) crc = crcTable[(crc ^ b) & 255] ^ (crc >>> 8);
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length, 0);
    body.copy(out, 4);
    out.writeUInt32BE((crc ^ 0xffffffff) >>> 0, body.length + 4);
    return out;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head.set([8, 6, 0, 0, 0], 8);
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

writeFileSync(join(dist, "assets/app-192.png"), png(192, false));
writeFileSync(join(dist, "assets/app-512.png"), png(512, true));
writeFileSync(join(dist, "favicon.ico"), png(48, false)); // browsers take a PNG by that name

const assets = readdirSync(join(dist, "assets")).filter((name) => !/\.(br|gz)$/.test(name) && !name.startsWith("worker-")).sort();
const source = readFileSync(new URL("../worker/worker.js", import.meta.url), "utf8");
const page = readFileSync(join(dist, "index.html"), "utf8");
const version = createHash("sha256").update(source).update(page).update(assets.join("\n")).digest("hex").slice(0, 12);
const name = `assets/worker-${version}.js`;
writeFileSync(join(dist, name), source.replace("__FILES__", JSON.stringify(assets.map((a) => `assets/${a}`))).replaceAll("__VERSION__", version));
writeFileSync(join(dist, "index.html"), page.replace("</head>", `  <meta name="hazardd-worker" content="./${name}" />\n  </head>`));
