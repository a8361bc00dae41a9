// How fingers, or a mouse, move a picture of the map and make it larger, and what window they leave.
import { canShow } from "../begin";
import type { Bounds } from "../filter";
import type { View } from "../url";

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Where something is from the middle of the picture: CSS pixels to the right and down. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** What was done to a picture: its middle is elsewhere, and it is so many times as large. */
export interface Moved extends Point {
  readonly scale: number;
}

export const still: Moved = { x: 0, y: 0, scale: 1 };

/** Degrees at the equator, as far north as Mercator's map has a latitude; and back. */
const mercator = (latitude: number): number => (Math.log(Math.tan(Math.PI / 4 + (latitude * Math.PI) / 360)) * 180) / Math.PI;
const unmercator = (y: number): number => (Math.atan(Math.sinh((y * Math.PI) / 180)) * 180) / Math.PI;
/** Degrees of a pixel, at the equator. */
const degrees = (zoom: number): number => 360 / (512 * 2 ** zoom);

/** What a window of that size shows, as MapLibre would. */
export function boundsOf({ center: [longitude, latitude], zoom }: View, { width, height }: Size): Bounds {
  const d = degrees(zoom);
  const y = mercator(latitude);
  return [longitude - (width / 2) * d, unmercator(y - (height / 2) * d), longitude + (width / 2) * d, unmercator(y + (height / 2) * d)];
}

/** The window that is in the middle once a picture of `view` was moved. */
export function viewAfter({ center: [longitude, latitude], zoom }: View, { x, y, scale }: Moved): View {
  const d = degrees(zoom) / scale;
  const east = longitude - x * d;
  return { center: [east - 360 * Math.round(east / 360), unmercator(mercator(latitude) + y * d)], zoom: zoom + Math.log2(scale) };
}

/** Where a place is on a picture of that window. */
export function where({ center: [longitude, latitude], zoom }: View, place: { readonly longitude: number; readonly latitude: number }): Point {
  const east = place.longitude - longitude;
  return { x: (east - 360 * Math.round(east / 360)) / degrees(zoom), y: (mercator(latitude) - mercator(place.latitude)) / degrees(zoom) };
}

/** The fingers on a picture, by the id of their pointer. */
export class Fingers {
  readonly #at = new Map<number, Point>();
  #from = { middle: { x: 0, y: 0 }, apart: 0, moved: still };
  moved = still;

  /** `view` is the window of the picture. It is moved no farther, and made no larger, than a picture can be asked for. */
  constructor(private readonly view: () => View) {}

  get down(): number {
    return this.#at.size;
  }

  put(id: number, at: Point): void {
    this.#at.set(id, at);
    this.#begin();
  }

  /** Whether the picture moved. */
  move(id: number, at: Point): boolean {
    if (!this.#at.has(id)) return false;
    this.#at.set(id, at);
    const { middle, apart } = this.#now();
    const { middle: before, apart: wide, moved } = this.#from;
    const scale = apart && wide ? (moved.scale * apart) / wide : moved.scale;
    const n = scale / moved.scale;
    const next = { x: middle.x - (before.x - moved.x) * n, y: middle.y - (before.y - moved.y) * n, scale };
    if (!canShow(viewAfter(this.view(), next))) return false;
    this.moved = next;
    return true;
  }

  /** Whether the finger was on the picture. */
  lift(id: number): boolean {
    const was = this.#at.delete(id);
    this.#begin();
    return was;
  }

  #begin(): void {
    this.#from = { ...this.#now(), moved: this.moved };
  }

  /** The middle of the first two fingers, and how far they are apart. */
  #now(): { middle: Point; apart: number } {
    const [a = { x: 0, y: 0 }, b = a] = [...this.#at.values()];
    return { middle: { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 }, apart: Math.hypot(a.x - b.x, a.y - b.y) };
  }
}
