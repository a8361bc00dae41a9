// Buffers: all places within a distance of a point, a line or an area.
//
// Distances are along great circles on the sphere. A drawn side is straight in longitude and
// latitude, as on the map and in GeoJSON. It is cut into short pieces. Around each piece lies a
// capsule, whose corners are computed on the sphere, and the buffer is the union of all capsules.
// The union is computed in the azimuthal equidistant projection around the middle of the drawing,
// where the antimeridian and the poles are not special.
import type { MultiPolygon, Polygon, Position } from "geojson";
import { union } from "polygon-clipping";
import { destination, distance } from "../geometry";
import { inWorld } from "./world";

/** Corners that are drawn by hand. */
export const MOST_CORNERS = 200;
/** Kilometres. */
export const LEAST = 0.01;
export const MOST = 2_000;
/**
 * The largest distance of a drawing from its middle, in kilometers: the projection ends at 20,000.
 */
const REACH = 5_000;
/** Pieces of all sides, and corners of half a circle. */
const PIECES = 200;
const HALF = 16;

const rad = (degrees: number): number => (degrees * Math.PI) / 180;

type Flat = [number, number];

/** The plane around a position: how it is reached, and back. */
function plane([λ0, φ0]: Position): { to: (p: Position) => Flat; from: (p: Flat) => Position } {
  const [sin0, cos0] = [Math.sin(rad(φ0!)), Math.cos(rad(φ0!))];
  return {
    to: (p) => {
      const [λ, φ] = [rad(p[0]! - λ0!), rad(p[1]!)];
      const far = distance([λ0!, φ0!], p);
      const bearing = Math.atan2(Math.sin(λ) * Math.cos(φ), cos0 * Math.sin(φ) - sin0 * Math.cos(φ) * Math.cos(λ));
      return [far * Math.sin(bearing), far * Math.cos(bearing)];
    },
    from: ([x, y]) => destination([λ0!, φ0!], Math.atan2(x, y), Math.hypot(x, y)),
  };
}

/** The direction from a position to another, radians from north. */
function bearing(a: Position, b: Position): number {
  const λ = rad(b[0]! - a[0]!);
  const [φ1, φ2] = [rad(a[1]!), rad(b[1]!)];
  return Math.atan2(Math.sin(λ) * Math.cos(φ2), Math.cos(φ1) * Math.sin(φ2) - Math.sin(φ1) * Math.cos(φ2) * Math.cos(λ));
}

/** What lies around a piece: half a circle at either end. */
function capsule(a: Position, b: Position, metres: number): Position[] {
  const ring: Position[] = [];
  const lone = a[0] === b[0] && a[1] === b[1]; // a single point has no direction
  for (const [at, ahead] of [[a, bearing(a, b) + Math.PI], [b, lone ? 0 : bearing(b, a) + Math.PI]] as const) {
    for (let i = 0; i <= HALF; i++) ring.push(destination(at, ahead - Math.PI / 2 + (Math.PI * i) / HALF, metres));
  }
  return ring;
}

/** Corners with continuous longitudes, so that each side goes in the shorter direction. */
function running(corners: readonly Position[]): Position[] {
  let x = corners[0]![0]!;
  return corners.map(([lon, lat]): Position => [x += ((((lon! - x) % 360) + 540) % 360) - 180, lat!]);
}

/**
 * The places around a drawing: a point, a line or, if it is closed, an area. undefined if it
 * reaches too far. Holes in the buffer are filled.
 */
export function buffer(corners: readonly Position[], closed: boolean, kilometres: number): Polygon | MultiPolygon | undefined {
  const metres = kilometres * 1000;
  const path = running(closed ? [...corners, corners[0]!] : corners);
  const [xs, ys] = [path.map(([x]) => x!), path.map(([, y]) => y!)];
  const middle = [(Math.min(...xs) + Math.max(...xs)) / 2, (Math.min(...ys) + Math.max(...ys)) / 2];
  if (path.some((p) => distance(middle, p) > REACH * 1000)) return undefined;

  // Sides are cut where they are long, by their share of the whole.
  const lengths = path.slice(1).map((b, i) => distance(path[i]!, b));
  const piece = Math.max(lengths.reduce((sum, l) => sum + l, 0) / PIECES, Math.min(metres, 20_000));
  const points: Position[] = [path[0]!];
  lengths.forEach((length, i) => {
    const [a, b] = [path[i]!, path[i + 1]!];
    const n = Math.max(1, Math.ceil(length / piece));
    for (let k = 1; k <= n; k++) points.push([a[0]! + ((b[0]! - a[0]!) * k) / n, a[1]! + ((b[1]! - a[1]!) * k) / n]);
  });

  const { to, from } = plane(middle);
  const capsules = points.length === 1 ? [capsule(points[0]!, points[0]!, metres)] : points.slice(1).map((b, i) => capsule(points[i]!, b, metres));
  const flat = [...capsules, ...(closed ? [points] : [])].map((ring): Flat[][] => [ring.map(to)]);
  const [first, ...others] = union(flat[0]!, ...flat.slice(1));
  const rings = [first!, ...others].map(([outer]) => inWorld({ type: "Polygon", coordinates: [outer!.map(from)] }));
  return rings.length === 1 ? rings[0]! : { type: "MultiPolygon", coordinates: rings.flatMap((p) => (p.type === "Polygon" ? [p.coordinates] : p.coordinates)) };
}
