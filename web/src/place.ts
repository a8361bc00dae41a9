// Whether a window of the map holds something: by boxes, and exactly by geometry. All in degrees of WGS84, longitude first.
import type { Geometry, Position } from "geojson";
import { contains } from "./geometry";
import type { Bounds } from "./filter";

/** West, south, east, north as RFC 7946 has them: a west greater than the east crosses the antimeridian. */
export type Box = readonly [west: number, south: number, east: number, north: number];

/**
 * Yields the window shifted by whole turns of the world, wherever it overlaps longitudes from -180
 * to 180.
 */
export function* turns([west, south, east, north]: Bounds): Generator<Bounds> {
  if (east - west >= 360) {
    yield [-180, south, 180, north];
    return;
  }
  const turn = 360 * Math.floor((west + 180) / 360);
  for (const by of [turn, turn + 360]) if (west - by <= 180 && east - by >= -180) yield [west - by, south, east - by, north];
}

/** Whether a box and the window have a place in common. */
export function meets(window: Bounds, [west, south, east, north]: Box): boolean {
  if (south > window[3] || north < window[1]) return false;
  for (const [w, , e] of turns(window)) {
    if (west <= east ? w <= east && west <= e : w <= east || e >= west) return true;
  }
  return false;
}

/** Whether a geometry and the window have a place in common. */
export function touches(window: Bounds, g: Geometry): boolean {
  for (const w of turns(window)) if (touchesFlat(w, g)) return true;
  return false;
}

function touchesFlat(w: Bounds, g: Geometry): boolean {
  if (g.type === "GeometryCollection") return g.geometries.some((part) => touchesFlat(w, part));
  let met = false;
  eachLine(g, (line) => {
    met ||= line.length === 1 ? inside(w, line[0]!) : line.some((b, i) => i > 0 && crosses(w, line[i - 1]!, b));
  });
  // No side of the area is in the window: all of the window is in the area, or nothing.
  return met || contains(g, [(w[0] + w[2]) / 2, (w[1] + w[3]) / 2]);
}

const inside = ([west, south, east, north]: Bounds, [x, y]: Position): boolean => x! >= west && x! <= east && y! >= south && y! <= north;

/** Whether the straight line from a to b has a place in the window (Liang and Barsky). */
function crosses([west, south, east, north]: Bounds, a: Position, b: Position): boolean {
  let [from, to] = [0, 1];
  const [dx, dy] = [b[0]! - a[0]!, b[1]! - a[1]!];
  for (const [p, q] of [[-dx, a[0]! - west], [dx, east - a[0]!], [-dy, a[1]! - south], [dy, north - a[1]!]] as const) {
    if (p === 0) {
      if (q < 0) return false;
    } else if (p < 0) from = Math.max(from, q / p);
    else to = Math.min(to, q / p);
    if (from > to) return false;
  }
  return true;
}

/** Calls f with each ring, line and point of a geometry. */
function eachLine(g: Geometry, f: (line: readonly Position[]) => void): void {
  switch (g.type) {
    case "Point":
      return f([g.coordinates]);
    case "MultiPoint":
      return g.coordinates.forEach((p) => f([p]));
    case "LineString":
      return f(g.coordinates);
    case "MultiLineString":
    case "Polygon":
      return g.coordinates.forEach(f);
    case "MultiPolygon":
      return g.coordinates.forEach((rings) => rings.forEach(f));
    case "GeometryCollection":
      return g.geometries.forEach((part) => eachLine(part, f));
  }
}
