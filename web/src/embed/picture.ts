// The server's picture of the map in the widget: what it shows, and whose turn it is on a wall.
import type { Summary } from "../model";

interface Size {
  readonly width: number;
  readonly height: number;
}

/** How many of the worst a wall shows in turn. */
const WORST = 3;
/** The zooms of pictures, as the server has them; and how near a single hazard is shown. */
const [FAR, NEAR, CLOSE] = [3, 10, 7];

/** Which of the worst has its turn at a moment, milliseconds; undefined: there is none. */
export const inTurn = (list: readonly Summary[], now: number, turn: number): Summary | undefined => list[Math.floor(now / turn) % Math.min(list.length, WORST)];

/** Mercator's y, from 0 in the north to 1. */
const mercator = (latitude: number): number => 0.5 - Math.log(Math.tan(Math.PI / 4 + (Math.max(-85, Math.min(85, latitude)) * Math.PI) / 360)) / (2 * Math.PI);

/** The view in which a box fills a picture of that size, but for a margin. */
export function viewOf([west, south, east, north]: readonly [number, number, number, number], { width, height }: Size, nearest: number): { longitude: number; latitude: number; zoom: number } {
  const across = (east - west + (west > east ? 360 : 0)) / 360;
  const [top, bottom] = [mercator(north), mercator(south)];
  const fits = Math.log2(Math.min(width / Math.max(across, 1e-6), height / Math.max(bottom - top, 1e-6)) / 512) - 0.3;
  const middle = west + across * 180;
  return {
    longitude: middle > 180 ? middle - 360 : middle,
    latitude: Math.max(-85, Math.min(85, (Math.atan(Math.sinh(Math.PI * (1 - top - bottom))) * 180) / Math.PI)),
    zoom: Math.min(Math.max(fits, FAR), nearest),
  };
}

/** Where the picture is: around a hazard, else of the widget's area, else around what matters most. `change` makes that of another change another picture. */
export function pictureOf({ of, query, size, dark, change }: { of: Summary | undefined; query: string; size: Size; dark: boolean; change: number }): string {
  const asked = new URLSearchParams(query);
  const box = asked.get("bbox")?.split(",").map(Number) as [number, number, number, number] | undefined;
  const q = new URLSearchParams({ width: String(size.width), height: String(Math.min(size.height, 1_200)) });
  const view = of ? viewOf(of.bbox as unknown as [number, number, number, number], size, CLOSE) : box && viewOf(box, size, NEAR);
  if (view) {
    q.set("longitude", view.longitude.toFixed(3));
    q.set("latitude", view.latitude.toFixed(3));
    q.set("zoom", view.zoom.toFixed(2));
  }
  if (dark) q.set("theme", "dark");
  for (const name of ["type", "severity"]) if (asked.has(name)) q.set(name, asked.get(name)!);
  q.set("_", String(change));
  return `hazards/active/map.svg?${q}`;
}
