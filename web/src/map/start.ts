// Where the map of a large screen begins, if neither the address nor the last visit says so.
import type { Position } from "geojson";
import { wrap } from "../geometry";
import type { View } from "../url";

/** So much of the places is in the window: the islands of a country may be far from it. The worst are always in it. */
const MOST = 0.9;
const WORST = 3;
/** Places that are farther apart from west to east are shown on the whole world; degrees. */
const WORLD = 120;
/** What is around the outer places, in degrees; and the nearest zoom. */
const AROUND = 2.5;
const NEAREST = 5;

/** The window that holds most of these places, the worst first; undefined: there are none, or they are all over the world. */
export function windowOf(places: readonly Position[], size: { readonly width: number; readonly height: number }): View | undefined {
  if (places.length === 0) return undefined;
  const sorted = places.map(([longitude]) => wrap(longitude!)).sort((a, b) => a - b);
  const n = Math.ceil(MOST * sorted.length);
  // The shortest arc with that many: it may go over the antimeridian.
  const arcs = sorted.map((west, i) => [west, i + n > sorted.length ? sorted[(i + n - 1) % sorted.length]! + 360 : sorted[i + n - 1]!] as const);
  const [west, east] = arcs.reduce((a, b) => (b[1] - b[0] < a[1] - a[0] ? b : a));
  const middle = (west + east) / 2;
  const held = places.map(([longitude, latitude]) => [wrap(longitude! - middle), latitude!] as const).filter(([x], i) => i < WORST || Math.abs(x) <= (east - west) / 2);
  const [xs, ys] = [held.map(([x]) => x), held.map(([, y]) => y)];
  const [left, right] = [Math.min(...xs) - AROUND, Math.max(...xs) + AROUND];
  if (right - left > WORLD) return undefined;
  const [bottom, top] = [mercator(Math.min(...ys) - AROUND), mercator(Math.max(...ys) + AROUND)];
  const zoom = Math.log2(Math.min((size.width * 360) / (right - left), size.height / (top - bottom)) / 512);
  return { center: [wrap(middle + (left + right) / 2), latitudeOf((bottom + top) / 2)], zoom: Math.min(zoom, NEAREST) };
}

// Heights on the map, of which the world is 1 high.
const mercator = (latitude: number): number => Math.log(Math.tan(Math.PI / 4 + (Math.max(-80, Math.min(80, latitude)) * Math.PI) / 360)) / (2 * Math.PI);
const latitudeOf = (y: number): number => (Math.atan(Math.exp(y * 2 * Math.PI)) * 360) / Math.PI - 90;
