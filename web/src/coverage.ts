// Which official warnings are read for the window, and so whether an empty window means "no hazards". The terms are those of GET /coverage. The
// window is asked about, which is little. Once the map shows a country that nobody reads, and so hatches it, the outlines of all countries are
// read, once, and their words again and again. A picture of the map hatches by itself.
import type { Geometry, MultiPolygon, Position } from "geojson";
import type { Bounds } from "./filter";
import type * as place from "./place";
import type { Page } from "./ui/context";

/** GET /coverage?geometry=none: what is said of a country or an area, without its outline. */
interface Said {
  readonly type: "Feature";
  readonly id: string;
  readonly bbox: [west: number, south: number, east: number, north: number];
  readonly properties: { readonly kind: "country" | "area"; readonly state: "covered" | "stale" | "unknown" };
}

/** GET /coverage?geometry=topology: lines, each position from the one before, and the lines of each outline. */
export interface Topology {
  readonly transform: { readonly scale: readonly [number, number] };
  readonly objects: { readonly coverage: { readonly geometries: readonly { readonly id: string; readonly arcs: readonly (readonly (readonly number[])[])[] }[] } };
  readonly arcs: readonly (readonly (readonly [number, number])[])[];
}

/** How often the words are read again, milliseconds: they change as sources fail and come back. */
const AGAIN = 300_000;

/** The outlines of a topology by id. */
export function outlinesOf({ arcs, objects, transform: { scale } }: Topology): Map<string, MultiPolygon> {
  const lines = arcs.map((steps) => {
    let [x, y] = [0, 0];
    return steps.map(([dx, dy]): Position => [(x += dx) * scale[0], (y += dy) * scale[1]]);
  });
  // Each line of a ring begins where the one before ends.
  const ring = (numbers: readonly number[]) => numbers.flatMap((n, i) => (n < 0 ? [...lines[~n]!].reverse() : lines[n]!).slice(i && 1));
  return new Map(objects.coverage.geometries.map((g) => [g.id, { type: "MultiPolygon", coordinates: g.arcs.map((rings) => rings.map(ring)) }]));
}

/** A window as a parameter, which knows no turns of the world. */
export function boxOf([west, south, east, north]: Bounds): string {
  const turned = (x: number) => x - 360 * Math.floor((x + 180) / 360);
  return [east - west < 360 ? turned(west) : -180, south, east - west < 360 ? turned(east) : 180, north].map((n) => n.toFixed(4)).join();
}

/** Whether it is a country whose warnings nobody reads. */
const isGap = ({ properties: { kind, state } }: Said): boolean => kind === "country" && state === "unknown";

/** Reads what is covered, of the window or of the world, now and again until it is over. The page has the functions of place.ts. */
export function follow({ map, store }: Page, over: AbortSignal, { meets, touches }: Pick<typeof place, "meets" | "touches">): void {
  if (over.aborted) return;
  let outlines: ReadonlyMap<string, Geometry> | undefined;
  let shown = map.peek();
  let reading = new AbortController();
  const get = async <T>(query: string, signal: AbortSignal) => (await store.api.request(`/coverage?geometry=${query}`, { signal })).json() as Promise<T>;
  const said = async (box: string, signal: AbortSignal) => (await get<{ features: readonly Said[] }>(`none${box}`, signal)).features;

  const readWindow = async (window: Bounds, signal: AbortSignal) => {
    const list = await said(`&bbox=${boxOf(window)}`, signal);
    if (map.peek() && list.some(isGap)) return readWorld(signal);
    const any = list.some((f) => f.properties.state !== "unknown");
    store.coverage.value = { gaps: [], covers: (asked) => (asked === window ? any : undefined) };
  };
  const readWorld = async (signal: AbortSignal) => {
    const list = await said("", signal);
    // What is not there yet is not drawn, so all that there is must be there.
    if (!list.every((f) => outlines?.has(f.id))) outlines = outlinesOf(await get<Topology>("topology", signal));
    const features = list.flatMap((f) => {
      const geometry = outlines!.get(f.id);
      return geometry ? [{ ...f, geometry }] : [];
    });
    store.coverage.value = {
      gaps: features.filter(isGap),
      covers: (window) => features.some((f) => f.properties.state !== "unknown" && meets(window, f.bbox) && touches(window, f.geometry)),
    };
  };

  const read = () => {
    reading.abort();
    reading = new AbortController();
    const window = store.bounds.peek();
    if (!window) return;
    // After an error nothing new is said: neither that a place is covered, nor that it is not.
    void (outlines ? readWorld(reading.signal) : readWindow(window, reading.signal)).catch(() => {});
  };
  const timer = setInterval(read, AGAIN);
  // The methods of signals: to import the library here would part the chunk that it is in, at some 400 bytes of the first load.
  let of: unknown;
  const look = () => {
    const now = outlines ?? store.bounds.peek();
    if (now === of && shown === map.peek()) return;
    of = now;
    shown = map.peek();
    read();
  };
  const ends = [map.subscribe(look), store.bounds.subscribe(look)];
  over.addEventListener("abort", () => {
    clearInterval(timer);
    reading.abort();
    for (const end of ends) end();
  });
}
