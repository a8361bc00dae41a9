// Where the tiles of the surface of danger are, and those of the first window, which are asked for before there is a map: to make one keeps a phone busy.
import type { Api } from "../api";
import { tilesOf } from "../basemap";
import type { Filter } from "../filter";
import type { View } from "../url";

export { groundAhead } from "../basemap";

/** The deepest zoom with tiles. */
export const DEEPEST = 12;
/** Hazards that the surface of a search for words can name. */
const NAMED = 150;

/** What the layers of the surface draw, and no more. The id of a feature is its hazard. */
export const DRAWN = "layers=danger,areas&properties=severity,worst,place_kind";

/** The query of the tiles for a filter; undefined: it leaves nothing of that kind. `ids` are the hazards that a search for words has found. */
export function queryOf(f: Filter, drills: boolean, at: number | undefined, ids: readonly number[]): string | undefined {
  const query = new URLSearchParams();
  const categories = f.categories.filter((c) => (c === "EXERCISE") === drills);
  if (f.categories.length > 0 && categories.length === 0) return undefined;
  if (drills) query.set("category", "EXERCISE");
  else if (categories.length > 0) query.set("category", categories.join(","));
  if (f.types.length > 0) query.set("type", f.types.join(","));
  if (f.severities.length > 0) query.set("severity", f.severities.join(","));
  if (f.text.trim() !== "") {
    if (ids.length === 0) return undefined;
    if (ids.length <= NAMED) query.set("filter", `hazard_ID IN (${ids.join(",")})`);
  }
  if (at !== undefined) query.set("at", new Date(at).toISOString());
  return query.toString();
}

/** Where the tiles of a query are. */
export const pathOf = (query: string): string => `/tiles/{z}/{x}/{y}.mvt?${DRAWN}${query && `&${query}`}`;

const early = new Map<string, Promise<Response>>();

/** Asks for the tiles of a window of that size, CSS pixels. */
export function surfaceAhead(api: Pick<Api, "request">, view: View, size: { readonly width: number; readonly height: number }, filter: Filter, at: number | undefined): void {
  const query = queryOf(filter, false, at, []);
  if (query === undefined) return;
  for (const [z, x, y] of tilesOf(view, size, DEEPEST)) {
    const path = pathOf(query).replace("{z}/{x}/{y}", `${z}/${x}/${y}`);
    if (early.has(path)) continue;
    const answer = api.request(path);
    answer.catch(() => {}); // the map asks again
    early.set(path, answer);
  }
}

/** The answer for a tile that was asked for ahead, once. */
export function takeEarly(path: string): Promise<Response> | undefined {
  const answer = early.get(path);
  early.delete(path);
  return answer;
}
