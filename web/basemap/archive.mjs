// Writes a PMTiles archive, version 3 (https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md): one file that is
// read by HTTP Range requests. Tiles lie in the order of their ids, so that what a first look needs is at the start.
import { gzipSync } from "node:zlib";
import { createHash } from "node:crypto";
import { zxyToTileId } from "pmtiles";

const HEADER = 127; // bytes, section 3
const ROOT = 16_384 - HEADER; // bytes; a reader's first request is for header and root, section 4
const GZIP = 2; // section 3.4, compression
const MVT = 1; // section 3.4, tile type

const gzip = (bytes) => gzipSync(bytes, { level: 9 });

function varint(out, n) {
  for (; n >= 0x80; n = Math.floor(n / 128)) out.push((n % 128) | 0x80);
  out.push(n);
}

// directory is one directory, section 4: entries are { id, run, length, offset }.
function directory(entries) {
  const out = [];
  varint(out, entries.length);
  let last = 0;
  for (const e of entries) {
    varint(out, e.id - last);
    last = e.id;
  }
  for (const e of entries) varint(out, e.run);
  for (const e of entries) varint(out, e.length);
  entries.forEach((e, i) => {
    const before = entries[i - 1];
    varint(out, before && e.offset === before.offset + before.length ? 0 : e.offset + 1);
  });
  return gzip(Uint8Array.from(out));
}

// directories is a root that fits a reader's first request, and the leaves that it leads to.
function directories(entries) {
  const whole = directory(entries);
  if (whole.length <= ROOT) return { root: whole, leaves: Buffer.alloc(0) };
  for (let size = 2048; ; size *= 2) {
    const leaves = [];
    const heads = [];
    let offset = 0;
    for (let i = 0; i < entries.length; i += size) {
      const leaf = directory(entries.slice(i, i + size));
      heads.push({ id: entries[i].id, run: 0, length: leaf.length, offset });
      leaves.push(leaf);
      offset += leaf.length;
    }
    const root = directory(heads);
    if (root.length <= ROOT) return { root, leaves: Buffer.concat(leaves) };
  }
}

// archive makes the file of tiles, each { z, x, y, data }, with metadata (section 5). The same tiles make the same bytes.
export function archive(tiles, metadata) {
  const sorted = tiles.map((t) => ({ id: zxyToTileId(t.z, t.x, t.y), data: t.data })).sort((a, b) => a.id - b.id);
  const entries = [];
  const blobs = [];
  const places = new Map(); // of content, by its hash: all land without a border is one and the same tile
  let end = 0;
  for (const { id, data } of sorted) {
    const hash = createHash("sha256").update(data).digest("hex");
    let at = places.get(hash);
    if (!at) {
      const blob = gzip(data);
      at = { offset: end, length: blob.length };
      places.set(hash, at);
      blobs.push(blob);
      end += blob.length;
    }
    const last = entries.at(-1);
    if (last && last.offset === at.offset && last.id + last.run === id) last.run++;
    else entries.push({ id, run: 1, ...at });
  }

  const { root, leaves } = directories(entries);
  const meta = gzip(JSON.stringify(metadata));
  const header = Buffer.alloc(HEADER);
  header.write("PMTiles", 0, "ascii");
  header[7] = 3;
  let offset = HEADER;
  [root.length, meta.length, leaves.length, end].forEach((length, i) => {
    header.writeBigUInt64LE(BigInt(offset), 8 + 16 * i);
    header.writeBigUInt64LE(BigInt(length), 16 + 16 * i);
    offset += length;
  });
  [sorted.length, entries.length, blobs.length].forEach((n, i) => header.writeBigUInt64LE(BigInt(n), 72 + 8 * i));
  header[96] = 1; // clustered
  header[97] = GZIP;
  header[98] = GZIP;
  header[99] = MVT;
  const zooms = tiles.map((t) => t.z);
  header[100] = zooms.reduce((a, b) => Math.min(a, b));
  header[101] = zooms.reduce((a, b) => Math.max(a, b));
  [-180, -85.0511287, 180, 85.0511287].forEach((degrees, i) => header.writeInt32LE(Math.round(degrees * 1e7), 102 + 4 * i));
  return Buffer.concat([header, root, meta, leaves, ...blobs]);
}
