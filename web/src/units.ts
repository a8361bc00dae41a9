// Distances and sizes in the reader's units: miles where the browser is set to a place that uses them (CLDR, measurement system "US"). Headlines stay
// metric, the same for all readers. Only panels need what is in measures.ts.
import { rounded } from "./geometry";
import { number, text } from "./words";

export const MILE = 1.609344; // km
/** Whether the reader's units are those of a place, BCP 47: "en-US". */
export const inMiles = (tag: string): boolean => /-(US|LR)\b/.test(tag);
export const miles = inMiles(globalThis.navigator?.language ?? "");

/** A distance, of metres, to one digit after the point below ten. */
export function far(metres: number, mi = miles): string {
  const n = metres / 1000 / (mi ? MILE : 1);
  return number(n, { maximumFractionDigits: n < 10 ? 1 : 0, style: "unit", unit: mi ? "mile" : "kilometer" });
}

/** The size of an area, of km². */
export const size = (km2: number, mi = miles): string => (mi ? `${rounded(km2 / MILE ** 2)} mi²` : text.list.size({ km2: rounded(km2) }));
