// For which types of hazards nobody states anything at a place.
import type { Bounds } from "./filter";

/** GET /coverage?point=: the word for each type that a source states there. */
export interface Told {
  readonly types: readonly { readonly type_ID: string; readonly answer: string }[];
}

/** Those of the types that no source states. */
export const unstated = (types: readonly string[], told: Told): string[] => types.filter((type) => !told.types.some((t) => t.type_ID === type && t.answer !== "unknown"));

/** The middle of a window as a parameter, which knows no turns of the world. */
export function middleOf([west, south, east, north]: Bounds): string {
  const x = (west + east) / 2;
  return [x - 360 * Math.floor((x + 180) / 360), (south + north) / 2].map((n) => n.toFixed(2)).join();
}
