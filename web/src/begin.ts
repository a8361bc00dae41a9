// The picture of the map that a phone begins with: where it is, and how the first script hands it to the page.
import type { Filter } from "./filter";
import type { Summary } from "./model";
import type { View } from "./url";

/** A phone. */
export const NARROW = "(max-width: 760px)";

/** Whether the reader has asked for few bytes: then a phone keeps the picture until it is touched. */
export const saves = (): boolean => (navigator as { readonly connection?: { readonly saveData?: boolean } }).connection?.saveData === true;

/** The height of the map on a phone's first screen, above the list; CSS pixels, as in style.css. */
export const ABOVE = 266;

/** Whose data the picture shows. */
export const CREDITS = "Natural Earth, GeoNames (CC BY 4.0)";

/** Sizes of pictures are multiples of this, in CSS pixels: phones that are nearly as large get the same picture. */
const STEP = 80;

export interface Size {
  readonly width: number;
  readonly height: number;
}

const round = (n: number): number => Math.min(Math.max(Math.ceil(n / STEP) * STEP, 240), 1_200);

/** The size of a picture for a place of that size: that of one that is there, if it does. */
export function sizeFor({ width, height }: Size, there: Size | undefined): Size {
  const wanted = { width: round(width), height: round(height) };
  const fits = there && there.width >= width && there.height >= height && there.width <= wanted.width + STEP && there.height <= wanted.height + 2 * STEP;
  return fits ? { width: there.width, height: there.height } : wanted;
}

/** Whether a picture can show that window: the map shows the others. */
export const canShow = ({ center, zoom }: View): boolean => zoom >= 3 && zoom <= 10 && Math.abs(center[1]) <= 80;

/** Where the picture of a window is; without a view, around what matters most. */
export function addressOf(view: View | undefined, { types, severities, categories }: Filter, dark: boolean, size: Size): string {
  const query = new URLSearchParams({ width: String(size.width), height: String(size.height) });
  if (view) {
    query.set("longitude", (view.center[0] - 360 * Math.round(view.center[0] / 360)).toFixed(4));
    query.set("latitude", view.center[1].toFixed(4));
    query.set("zoom", view.zoom.toFixed(2));
  }
  if (dark) query.set("theme", "dark");
  for (const [name, list] of [["type", types], ["severity", severities], ["category", categories]] as const) if (list.length) query.set(name, list.join(","));
  return `/hazards/active/map.svg?${query}`;
}

/** Rows that are asked for before all others. */
const FIRST = 30;

/** Where the summaries of the most important hazards of a filter are. */
export function rowsAddress({ types, severities, categories }: Filter): string {
  const query = new URLSearchParams({ limit: String(FIRST) });
  for (const [name, list] of [["type", types], ["severity", severities], ["category", categories]] as const) if (list.length > 0) query.set(name, list.join(","));
  return `/hazards/active/summary?${query}`;
}

/** A picture as it came. */
export interface Drawn {
  readonly svg: string;
  readonly headers: Headers;
  /** Of what time it is, by the server's clock, milliseconds. */
  readonly at: number;
  /** Of the picture in this page. */
  readonly url: string;
}

/** What the first script has asked for; "map": nothing, as the map's code is there; undefined: the answer was none that can be shown. */
export interface First extends Size {
  readonly address: string;
  readonly drawn: Promise<Drawn | "map" | undefined>;
  /** Where it stands in the page until the page's own picture does. */
  readonly place: HTMLElement;
}

/** The first rows that the first script has asked for; undefined: the answer was none. */
export interface FirstRows {
  readonly address: string;
  readonly rows: Promise<readonly Summary[] | undefined>;
}

declare global {
  interface Window {
    hazarddFirst?: First | undefined;
    hazarddRows?: FirstRows | undefined;
    /** Files of the map's code by address, and whether each has come into the browser's cache. */
    hazarddFetched?: ReadonlyMap<string, Promise<boolean>> | undefined;
  }
}
