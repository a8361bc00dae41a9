// The orders of the list, and a list that stays in order while hazards come, change and go.
import { distance } from "./geometry";
import { isDrill, severity, type Hazard } from "./model";
import type { Hazards } from "./diff";

/** A hazard's dates and rank as numbers, read once: records do not change, they are replaced. Milliseconds. */
export interface Moments {
  readonly rank: number;
  readonly start: number;
  readonly end: number;
  readonly updated: number;
  /** When it is over by itself; Infinity: not before somebody ends it. */
  readonly over: number;
}

const read = new WeakMap<Hazard, Moments>();

export function moments(h: Hazard): Moments {
  let m = read.get(h);
  if (!m) {
    const end = Number(h.end_Date);
    m = { rank: severity(h.severity_ID).rank, start: Number(h.start_Date), end, updated: Number(h.last_Update), over: h.autoexpire === "Y" ? end : Infinity };
    read.set(h, m);
  }
  return m;
}

/** Whether the hazard has expired at now, in milliseconds. At its end it is no longer active; of one in short that is likely. */
export const overAt = (h: Hazard, now: number): boolean => moments(h).over <= now;

export type Compare = (a: Hazard, b: Hazard) => number;

/** The service's order of lists: most severe first, then last updated first, then by number. */
export function byLevel(a: Hazard, b: Hazard): number {
  const [x, y] = [moments(a), moments(b)];
  return y.rank - x.rank || y.updated - x.updated || a.hazard_ID - b.hazard_ID;
}

/**
 * The service's order by importance, by hazard id. Hazards without a known rank come first, because
 * they may be important.
 */
export const byImportance = (places: ReadonlyMap<number, number>): Compare => (a, b) => (places.get(a.hazard_ID) ?? -1) - (places.get(b.hazard_ID) ?? -1) || byLevel(a, b);

/** Last updated first. */
export function byTime(a: Hazard, b: Hazard): number {
  return moments(b).updated - moments(a).updated || byLevel(a, b);
}

/** Nearest first, by a hazard's distance in metres. */
export function byDistance(far: (h: Hazard) => number): Compare {
  const known = new Map<Hazard, number>();
  const of = (h: Hazard) => {
    let d = known.get(h);
    if (d === undefined) known.set(h, d = far(h));
    return d;
  };
  return (a, b) => of(a) - of(b) || byLevel(a, b);
}

/** How far a hazard's point is from a place, longitude and latitude in degrees; metres. */
export const away = (h: Hazard, from: readonly [longitude: number, latitude: number]): number => distance([h.longitude, h.latitude], [...from]);

/**
 * A sorted list of either the real hazards or the drills. Hazards that did not change are not
 * compared again.
 */
export class Ordered {
  #of: Hazards = new Map();
  #by: Compare = byLevel;
  #list: readonly Hazard[] = [];

  constructor(private readonly drills: boolean) {}

  /** The hazards in order; the same array as before if none came, changed or went. */
  follow(hazards: Hazards, by: Compare): readonly Hazard[] {
    const before = by === this.#by ? this.#of : new Map<number, Hazard>();
    const came: Hazard[] = [];
    for (const h of hazards.values()) if (isDrill(h) === this.drills && before.get(h.hazard_ID) !== h) came.push(h);
    const stayed = by === this.#by ? this.#list.filter((h) => hazards.get(h.hazard_ID) === h) : [];
    if (by !== this.#by || came.length > 0 || stayed.length < this.#list.length) this.#list = merged(stayed, came.sort(by), by);
    this.#of = hazards;
    this.#by = by;
    return this.#list;
  }
}

/** One list in order of two. */
function merged(a: readonly Hazard[], b: readonly Hazard[], by: Compare): readonly Hazard[] {
  if (b.length === 0) return a;
  const out: Hazard[] = [];
  let i = 0;
  for (const h of b) {
    while (i < a.length && by(a[i]!, h) <= 0) out.push(a[i++]!);
    out.push(h);
  }
  while (i < a.length) out.push(a[i++]!);
  return out;
}
