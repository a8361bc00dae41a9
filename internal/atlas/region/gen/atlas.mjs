// Makes an atlas: areas by code whose borders are stored once, simplified, in one compressed file. atlas.go in the folder above
// reads it and has the format.
import { brotliCompressSync, constants } from "node:zlib";
import { topology } from "topojson-server";
import { presimplify } from "topojson-simplify";

const polygons = (g) => (g.type === "Polygon" ? [g.coordinates] : g.type === "MultiPolygon" ? g.coordinates : []);

// area is twice the signed area of a closed ring, in its own units.
const area = (ring) => {
  let sum = 0;
  for (let i = 1; i < ring.length; i++) sum += ring[i - 1][0] * ring[i][1] - ring[i][0] * ring[i - 1][1];
  return sum;
};

const perimeter = (ring) => ring.reduce((sum, p, i) => sum + (i > 0 ? Math.hypot(p[0] - ring[i - 1][0], p[1] - ring[i - 1][1]) : 0), 0);

// triangle weighs a position by the area of the triangle that it makes with its neighbors, in square degrees at the equator.
const triangle = ([[a, b], [c, d], [e, f]]) =>
  (Math.abs((a - e) * (d - b) - (a - c) * (f - b)) / 2) * Math.cos((Math.max(-89, Math.min(89, d)) * Math.PI) / 180);

// atlas returns { bytes, raw, areas, arcs, positions }. Features are { code, name, note, geometry }, sorted by code.
//   unit   steps per degree that positions are rounded to
//   weight a position stays if its triangle is at least this large (square degrees),
//   share  or this share of the smallest area that has the position, or of the square of its width (twice the area by the
//          perimeter): small and narrow areas keep their detail
//   least  an island or a hole stays if it is at least this share of its area; the largest always does
export function atlas(features, { unit, weight, share, least = 0 }) {
  const round = ([x, y]) => [Math.round(x * unit) / unit, Math.round(y * unit) / unit];
  const cleaned = features.map((f) => {
    const rings = polygons(f.geometry).map((p) => p.map((ring) => ring.map(round)));
    const sizes = rings.map((p) => Math.abs(area(p[0])));
    const around = rings.reduce((sum, p) => sum + perimeter(p[0]), 0);
    const total = sizes.reduce((a, b) => a + b, 0);
    const largest = sizes.indexOf(Math.max(...sizes));
    const kept = rings
      .filter((_, i) => i === largest || sizes[i] >= least * total)
      .map((p) => [p[0], ...p.slice(1).filter((ring) => Math.abs(area(ring)) > least * total)]);
    return { type: "Feature", properties: {}, size: Math.min(total / 2, 30 * (total / around) ** 2), geometry: { type: "MultiPolygon", coordinates: kept } };
  });
  const t = presimplify(topology({ all: { type: "FeatureCollection", features: cleaned } }), triangle);
  const geometries = t.objects.all.geometries;

  const threshold = new Float64Array(t.arcs.length).fill(weight);
  geometries.forEach((g, i) => {
    for (const p of g.arcs ?? []) for (const ring of p) for (let a of ring) {
      if (a < 0) a = ~a;
      threshold[a] = Math.min(threshold[a], cleaned[i].size * share);
    }
  });
  const cut = (i) => {
    const arc = t.arcs[i];
    let least = threshold[i];
    const [first, last] = [arc[0], arc.at(-1)];
    if (first[0] === last[0] && first[1] === last[1]) {
      // A ring of its own keeps four positions between its ends, so that a small island keeps its shape.
      const inner = arc.slice(1, -1).map((p) => p[2]).sort((a, b) => b - a);
      least = Math.min(least, inner[Math.min(3, inner.length - 1)] ?? 0);
    }
    const out = [];
    arc.forEach((p, j) => {
      if (j > 0 && j < arc.length - 1 && p[2] < least) return;
      const q = [Math.round(p[0] * unit), Math.round(p[1] * unit)];
      const o = out.at(-1);
      if (!o || o[0] !== q[0] || o[1] !== q[1]) out.push(q);
    });
    if (out.length === 1) out.push(out[0]);
    return out;
  };
  let arcs = t.arcs.map((_, i) => cut(i));
  const joined = (ring) => ring.flatMap((a) => (a < 0 ? arcs[~a].toReversed() : arcs[a]));
  // Rings that were lost get all their positions back.
  for (const g of geometries) for (const p of g.arcs ?? []) for (const ring of p) {
    if (area(joined(ring)) === 0) for (const a of ring) {
      const i = a < 0 ? ~a : a;
      if (threshold[i] > 0) {
        threshold[i] = 0;
        arcs[i] = cut(i);
      }
    }
  }

  // The arcs in the order in which areas name them, so that what is near is near in the file.
  const order = new Map();
  const bytes = [];
  const uvarint = (n) => {
    while (n >= 128) {
      bytes.push((n % 128) + 128);
      n = Math.floor(n / 128);
    }
    bytes.push(n);
  };
  const varint = (n) => uvarint(n < 0 ? -2 * n - 1 : 2 * n);
  const text = (s) => {
    const b = Buffer.from(s ?? "", "utf8");
    uvarint(b.length);
    for (const c of b) bytes.push(c);
  };
  for (const g of geometries) for (const p of g.arcs ?? []) for (const ring of p) for (const a of ring) {
    const i = a < 0 ? ~a : a;
    if (!order.has(i)) order.set(i, order.size);
  }
  uvarint(unit);
  uvarint(order.size);
  let positions = 0;
  let [x, y] = [0, 0];
  for (const i of order.keys()) {
    uvarint(arcs[i].length);
    positions += arcs[i].length;
    for (const p of arcs[i]) {
      varint(p[0] - x);
      varint(p[1] - y);
      [x, y] = p;
    }
  }
  uvarint(features.length);
  let next = 0;
  features.forEach((f, i) => {
    text(f.code);
    text(f.name);
    text(f.note);
    const g = geometries[i].arcs ?? [];
    uvarint(g.length);
    for (const p of g) {
      uvarint(p.length);
      for (const ring of p) {
        uvarint(ring.length);
        for (const a of ring) {
          // 0 is the arc after the newest so far, 2n and 2n+1 the n-th newest, forwards and backwards.
          const n = order.get(a < 0 ? ~a : a);
          if (n === next) {
            uvarint(a < 0 ? 1 : 0);
            next++;
          } else uvarint(2 * (next - n) + (a < 0 ? 1 : 0));
        }
      }
    }
  });
  const raw = Buffer.from(bytes);
  const packed = brotliCompressSync(raw, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: raw.length },
  });
  return { bytes: packed, raw: raw.length, areas: features.length, arcs: order.size, positions };
}
