// Areas as an editor draws them: circles, corners, their size.
import type { Geometry, Polygon, Position } from "geojson";
import { number } from "./words";

/** Mean radius of the earth, metres (IUGG R1). */
const EARTH = 6_371_008.8;

const rad = (degrees: number): number => (degrees * Math.PI) / 180;
const deg = (radians: number): number => (radians * 180) / Math.PI;

/** A longitude from -180 to 180, degrees. */
export const wrap = (longitude: number): number => (Math.abs(longitude) <= 180 ? longitude : ((((longitude + 180) % 360) + 360) % 360) - 180);

/** The shorter way from longitude a to b, degrees: an area across the antimeridian is not as wide as the world. */
const step = (a: number, b: number): number => wrap(b - a);

/** Great-circle distance in metres; positions are longitude and latitude. */
export function distance(a: Position, b: Position): number {
  const [φ1, φ2] = [rad(a[1]!), rad(b[1]!)];
  const h = Math.sin((φ2 - φ1) / 2) ** 2 + Math.cos(φ1) * Math.cos(φ2) * Math.sin(rad(step(a[0]!, b[0]!)) / 2) ** 2;
  return 2 * EARTH * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** Rounds degrees to about a tenth of a meter; more digits would be noise. */
const round = (degrees: number): number => Math.round(degrees * 1e6) / 1e6;

/** Where one comes from a position in a direction, radians from north, after metres along the great circle. */
export function destination(from: Position, bearing: number, metres: number): Position {
  const [φ, δ] = [rad(from[1]!), metres / EARTH];
  const φ2 = Math.asin(Math.min(1, Math.max(-1, Math.sin(φ) * Math.cos(δ) + Math.cos(φ) * Math.sin(δ) * Math.cos(bearing))));
  const λ = rad(from[0]!) + Math.atan2(Math.sin(bearing) * Math.sin(δ), Math.cos(φ) * Math.cos(δ) - Math.sin(φ) * Math.sin(δ) * Math.cos(bearing));
  return [round(wrap(deg(λ))), round(deg(φ2))];
}

/**
 * A circle around a position, with a radius in meters, as a polygon with its corners on the circle
 * (counterclockwise, RFC 7946 section 3.1.6).
 */
export function circle(center: Position, radius: number, corners = 64): Polygon {
  const ring = Array.from({ length: corners }, (_, i) => destination(center, (-2 * Math.PI * i) / corners, radius));
  return { type: "Polygon", coordinates: [[...ring, ring[0]!]] };
}

/** The polygon of these corners, in either direction. */
export function polygon(corners: readonly Position[]): Polygon {
  const ring = corners.map(([x, y]): Position => [round(wrap(x!)), round(y!)]);
  if (signed(ring) < 0) ring.reverse();
  return { type: "Polygon", coordinates: [[...ring, ring[0]!]] };
}

/** Area of a ring on the sphere, square metres; positive when it runs counter-clockwise. */
function signed(ring: readonly Position[]): number {
  let sum = 0;
  ring.forEach((a, i) => {
    const b = ring[(i + 1) % ring.length]!;
    sum += rad(step(a[0]!, b[0]!)) * (2 + Math.sin(rad(a[1]!)) + Math.sin(rad(b[1]!)));
  });
  return (-sum * EARTH * EARTH) / 2;
}

/** Area in square kilometres; of points and lines it is 0. Parts that lie on each other count twice. */
export function squareKilometres(g: Geometry): number {
  const rings = (p: readonly Position[][]): number => p.reduce((sum, ring, i) => sum + (i === 0 ? 1 : -1) * Math.abs(signed(ring)), 0) / 1e6;
  switch (g.type) {
    case "Polygon":
      return rings(g.coordinates);
    case "MultiPolygon":
      return g.coordinates.reduce((sum, p) => sum + rings(p), 0);
    case "GeometryCollection":
      return g.geometries.reduce((sum, part) => sum + squareKilometres(part), 0);
    default:
      return 0;
  }
}

/** All rings of a geometry, their longitudes running on from the first position's, so that they can be drawn side by side. */
export function rings(g: Geometry): Position[][] {
  const all: Position[][] = g.type === "Polygon" ? g.coordinates : g.type === "MultiPolygon" ? g.coordinates.flat() : g.type === "GeometryCollection" ? g.geometries.flatMap(rings) : [];
  const first = all[0]?.[0]?.[0] ?? 0;
  return all.map((ring) => {
    let x = first + step(first, ring[0]?.[0] ?? first);
    return ring.map(([lon, lat], i): Position => {
      if (i > 0) x += step(x, lon!);
      return [x, lat!];
    });
  });
}

/** Whether a position is inside of a geometry's polygons (even-odd rule). */
export function contains(g: Geometry, [longitude, latitude]: Position): boolean {
  let inside = false;
  for (const ring of rings(g)) {
    const x = (ring[0]?.[0] ?? 0) + step(ring[0]?.[0] ?? 0, longitude!);
    for (const shift of [-360, 0, 360]) {
      for (let i = 0, j = ring.length - 1; i < ring.length; j = i++) {
        const [a, b] = [ring[i]!, ring[j]!];
        if (a[1]! > latitude! !== b[1]! > latitude! && x + shift < ((b[0]! - a[0]!) * (latitude! - a[1]!)) / (b[1]! - a[1]!) + a[0]!) inside = !inside;
      }
    }
  }
  return inside;
}

export interface Extent {
  /** Degrees; west may lie below -180 and east above 180. */
  readonly box: readonly [west: number, south: number, east: number, north: number];
  /** Kilometres, through the middle. */
  readonly width: number;
  readonly height: number;
  readonly middle: Position;
}

/** How far a geometry reaches; undefined if it has no area. */
export function extent(g: Geometry): Extent | undefined {
  const all = rings(g).flat();
  if (all.length === 0) return undefined;
  const [xs, ys] = [all.map((p) => p[0]!), all.map((p) => p[1]!)];
  const [west, east] = [Math.min(...xs), Math.max(...xs)];
  const [south, north] = [Math.min(...ys), Math.max(...ys)];
  const [x, y] = [(west + east) / 2, (south + north) / 2];
  // Along the parallel: over half the world, a great circle would be shorter.
  const width = (rad(east - west) * Math.cos(rad(y)) * EARTH) / 1000;
  return { box: [west, south, east, north], width, height: distance([x, south], [x, north]) / 1000, middle: [wrap(x), y] };
}

/** A number with as many digits as people can use. */
export function rounded(n: number): string {
  const digits = n >= 100 ? 0 : n >= 10 ? 1 : n >= 0.01 ? 2 : 6;
  return number(n, { maximumFractionDigits: digits });
}

/** Reads corners, "latitude, longitude" in degrees, one on each line or between semicolons. The error says which line is none. */
export function parseCorners(words: string): { readonly corners: readonly Position[]; readonly wrong: string | undefined } {
  const corners: Position[] = [];
  for (const line of words.split(/[\n;]/)) {
    if (line.trim() === "") continue;
    const [latitude, longitude, rest] = line.trim().split(/\s*,\s*|\s+/).map(Number);
    if (rest !== undefined || !inRange(latitude, 90) || !inRange(longitude, 180)) return { corners, wrong: line.trim() };
    corners.push([longitude!, latitude!]);
  }
  return { corners, wrong: undefined };
}

const inRange = (n: number | undefined, limit: number): boolean => n !== undefined && Math.abs(n) <= limit;

/** A corner as parseCorners reads it. */
export const formatCorner = ([longitude, latitude]: Position): string => `${round(latitude!).toFixed(5)}, ${round(wrap(longitude!)).toFixed(5)}`;
