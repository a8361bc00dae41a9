// Which hazards are shown, and in which order.
import { isDrill, typeName, type Hazard } from "./model";

export interface Filter {
  /** Empty: all. */
  readonly types: readonly string[];
  readonly severities: readonly string[];
  readonly categories: readonly string[];
  /** Words that must all be in the name, the description or the type's name. */
  readonly text: string;
  /** The hazards in whose whole records the server has found these words; undefined: not asked. */
  readonly found?: ReadonlySet<number> | undefined;
}

export const noFilter: Filter = { types: [], severities: [], categories: [], text: "" };

export const isFiltering = (f: Filter): boolean => f.types.length > 0 || f.severities.length > 0 || f.categories.length > 0 || f.text.trim() !== "";

/** Case and accents do not count: "Popocatepetl" finds Popocatépetl. */
export const fold = (s: string): string => s.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

// What a hazard is searched by is folded once: records do not change, they are replaced.
const folded = new WeakMap<Hazard, string>();

function haystack(h: Hazard): string {
  let s = folded.get(h);
  if (s === undefined) {
    s = fold(`${h.hazard_Name}\n${h.description}\n${typeName(h.type_ID)}\n${h.creator}`);
    folded.set(h, s);
  }
  return s;
}

/**
 * Returns a test for hazards. It ignores the dimension `without`, to count the results of its
 * choices.
 */
export function matcher(f: Filter, without?: "types" | "severities" | "categories"): (h: Hazard) => boolean {
  const types = without === "types" ? [] : f.types;
  const severities = without === "severities" ? [] : f.severities;
  const categories = without === "categories" ? [] : f.categories;
  const words = fold(f.text).split(/\s+/).filter(Boolean);
  return (h) =>
    (types.length === 0 || types.includes(h.type_ID)) &&
    (severities.length === 0 || severities.includes(h.severity_ID)) &&
    (categories.length === 0 || categories.includes(h.category_ID)) &&
    (words.every((w) => haystack(h).includes(w)) || (h.brief === true && f.found?.has(h.hazard_ID) === true));
}

/**
 * Counts the hazards for each choice of a dimension, with the present choices in other dimensions.
 * Drills only count in their own category.
 */
export function counts(hazards: Iterable<Hazard>, f: Filter, of: "types" | "severities" | "categories"): ReadonlyMap<string, number> {
  const match = matcher(f, of);
  const n = new Map<string, number>();
  for (const h of hazards) {
    if (!match(h) || (of !== "categories" && isDrill(h))) continue;
    const id = of === "types" ? h.type_ID : of === "severities" ? h.severity_ID : h.category_ID;
    n.set(id, (n.get(id) ?? 0) + 1);
  }
  return n;
}

/** West, south, east, north in degrees. West may be below -180 or east above 180 when the map shows the other side of the antimeridian. */
export type Bounds = readonly [west: number, south: number, east: number, north: number];

/** Whether a point is in the window, which may cross the antimeridian or show the world more than once. */
export function within(b: Bounds, longitude: number, latitude: number): boolean {
  const [west, south, east, north] = b;
  if (latitude < south || latitude > north) return false;
  if (east - west >= 360) return true;
  const ahead = (((longitude - west) % 360) + 360) % 360;
  return ahead <= east - west;
}

/** A choice taken in or out. */
export const toggled = (list: readonly string[], id: string): readonly string[] => (list.includes(id) ? list.filter((x) => x !== id) : [...list, id]);
