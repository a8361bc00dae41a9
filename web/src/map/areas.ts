// Where hazards are: the box of every hazard, and the geometries of those that are looked at. What the map draws comes in tiles (surface.ts).
//
// A hazard is in a window when any of its areas is, so the boxes of all active hazards are read at once, after the list. Geometries follow for
// what must be exact, the selected hazard and from near all in the window: one request for all of them, the most severe first. What was read is kept for as long as the hazard stays as it is.
// There is one request at a time, and after a failure a pause that grows and is never the same on two pages.
import { signal } from "@preact/signals";
import type { Feature, FeatureCollection, Geometry } from "geojson";
import { LoggedOutError, type Api } from "../api";
import { contains, squareKilometres } from "../geometry";
import { within, type Bounds } from "../filter";
import type { Hazards } from "../diff";
import { isDrill, severity, type Hazard, type Summary } from "../model";
import { meets, touches, type Box } from "../place";

export interface AreaProperties {
  readonly id: number; // hazard_ID
  /** An outline is no area: the hazard is somewhere in it, and it is drawn as a line. */
  readonly role: "alert" | "impact" | "track" | "outline";
  readonly severity: string;
  readonly rank: number;
  readonly drill: 0 | 1;
}

export type Area = Feature<Geometry, AreaProperties>;

interface Shape {
  readonly role: AreaProperties["role"];
  readonly geometry: Geometry;
}

/** What is known of a hazard as of its version. */
interface Known {
  readonly version: string;
  /** Around its areas; of what is only known to be somewhere in a region or country, around that. */
  readonly boxes: readonly Box[];
  readonly shapes: readonly Shape[];
  /** The version that the shapes are of; undefined: only the boxes have been read. */
  readonly shapesOf: string | undefined;
  readonly about?: About;
}

/** The region or country that a hazard is somewhere in, if nothing smaller is known, and the box around that. */
interface About {
  readonly place_known_as?: string;
  readonly possible?: Box;
}

type Answer = FeatureCollection<Geometry | null, About & { readonly update_Date?: string; readonly hazard_ID?: number; readonly role?: string; readonly area_role?: string }>;

/** Hazards of one request; the service takes no more. */
const AT_ONCE = 500;
/** From so many on whose place is not known, the boxes of all are read. */
const MANY = 100;
/** Geometries that are kept of hazards that nobody wants now. */
const KEPT = 1_000;
/** A hazard has fewer parts than this; the rest of a feature's id is the hazard's number. */
const PARTS = 64;

// Milliseconds.
/** What is wanted within this time is asked for together. */
const SOON = 100;
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 10_000;

/** What a pause is, and chance, for tests. */
export interface Surroundings {
  readonly pause: (milliseconds: number) => Promise<void>;
  readonly random: () => number;
}

const browser: Surroundings = { pause: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)), random: Math.random };

const sizes = new WeakMap<readonly Shape[], number>();

export class Areas {
  #known = new Map<number, Known>();
  #all: Hazards = new Map();
  #at: number | undefined;
  #wanted: readonly Hazard[] = [];
  #running = false;
  /** What has been told of each hazard. */
  #told = new Map<number, { readonly shapes: readonly Shape[]; readonly severity: string; readonly drill: 0 | 1 }>();

  /** Counts what has come: who computes by touches looks at it. */
  readonly news = signal(0);
  /** Whether the last request failed, and the next is waited for. */
  readonly failing = signal(false);
  /** Gets what differs of the areas that are known of those wanted: those that came or changed, and the ids of those that went. */
  #shown: (came: readonly Area[], went: readonly number[]) => void = () => {};

  set shown(to: (came: readonly Area[], went: readonly number[]) => void) {
    this.#shown = to;
    this.#told.clear();
    this.#tell();
  }

  constructor(private readonly api: Api, private readonly around: Surroundings = browser) {}

  /** Says which hazards there are, now or at an earlier moment, milliseconds: the boxes of all are read. */
  all(hazards: Hazards, at: number | undefined): void {
    if (at !== this.#at) this.#known.clear();
    this.#at = at;
    this.#all = hazards;
    const wanted = this.#wantedIds();
    for (const id of this.#known.keys()) if (!hazards.has(id) && !wanted.has(id)) this.#known.delete(id);
    void this.#run();
  }

  /** Takes over the boxes of summaries: those of hazards of which no version as late is known, and whose place is known. */
  boxes(list: readonly Summary[]): void {
    for (const s of list) {
      const version = String(Date.parse(s.updated));
      if (s.place_kind === "region" || s.place_kind === "country" || this.#at !== undefined || this.#known.get(s.hazard_ID)?.version === version) continue;
      const [west, south, east, north] = s.bbox as Box;
      this.#known.set(s.hazard_ID, { version, boxes: west === east && south === north ? [] : [[west, south, east, north]], shapes: [], shapesOf: undefined });
    }
    this.news.value++;
  }

  /** Says which hazards' areas to show, in the order in which they are fetched. */
  want(hazards: readonly Hazard[]): void {
    this.#wanted = hazards;
    this.#tell();
    void this.#run();
  }

  /** The region or country that a hazard is somewhere in, in English; undefined: its place is known better, or has not been read yet. */
  knownAs(h: Hazard): string | undefined {
    this.news.value; // who computes by it computes again
    return this.#known.get(h.hazard_ID)?.about?.place_known_as;
  }

  /** Whether a hazard is in the window, with its point or any of its areas, or possibly is. As long as its area is not known, its point alone is asked. */
  touches(h: Hazard, window: Bounds): boolean {
    if (within(window, h.longitude, h.latitude)) return true;
    const known = this.#known.get(h.hazard_ID);
    if (!known?.boxes.some((b) => meets(window, b))) return false;
    return known.shapesOf !== known.version || !!this.knownAs(h) || known.shapes.some((s) => touches(window, s.geometry));
  }

  /** Whether one of a hazard's areas contains a place. */
  contains(h: Hazard, longitude: number, latitude: number): boolean {
    const known = this.#known.get(h.hazard_ID);
    const x = ((((longitude + 180) % 360) + 360) % 360) - 180;
    const here: Bounds = [x, latitude, x, latitude];
    return known !== undefined && known.boxes.some((b) => meets(here, b)) && known.shapes.some((s) => contains(s.geometry, [x, latitude]));
  }

  /** The hazards that may be at a place, by their boxes. */
  about(longitude: number, latitude: number): Hazard[] {
    this.news.value; // who computes by it computes again
    const x = ((((longitude + 180) % 360) + 360) % 360) - 180;
    return [...this.#all.values()].filter((h) => this.#known.get(h.hazard_ID)?.boxes.some((b) => meets([x, latitude, x, latitude], b))).slice(0, AT_ONCE);
  }

  /** Whether a hazard has an area, or is somewhere in one, as far as is known. */
  has(h: Hazard): boolean {
    return this.#known.get(h.hazard_ID)?.boxes.some((b) => b[0] !== b[2] || b[1] !== b[3]) ?? false;
  }

  /** The size of a hazard's areas in square kilometres, as far as they have been read; undefined: not known, or it has none. */
  size(h: Hazard): number | undefined {
    const known = this.#known.get(h.hazard_ID);
    if (!known?.shapes.length) return undefined;
    let size = sizes.get(known.shapes);
    if (size === undefined) {
      const of = (role: string) => known.shapes.filter((s) => s.role === role).reduce((sum, s) => sum + squareKilometres(s.geometry), 0);
      sizes.set(known.shapes, size = of("alert") || of("impact"));
    }
    return size || undefined;
  }

  /** How many of the hazards are of unknown extent: their areas, or the latest of them, have not been read yet. */
  unknown(): number {
    return this.#stale().length;
  }

  /** The bounds of a hazard's areas, if they are known: west, south, east, north, beside the hazard's point. */
  bounds(h: Hazard): [number, number, number, number] | undefined {
    const boxes = this.#known.get(h.hazard_ID)?.boxes ?? [];
    if (boxes.length === 0) return undefined;
    const out: [number, number, number, number] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const [west, south, east, north] of boxes) {
      const width = east - west + (west > east ? 360 : 0);
      const near = west + 360 * Math.round((h.longitude - west - width / 2) / 360);
      out[0] = Math.min(out[0], near);
      out[1] = Math.min(out[1], south);
      out[2] = Math.max(out[2], near + width);
      out[3] = Math.max(out[3], north);
    }
    return out;
  }

  /** Reads what is missing, until nothing is. */
  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      await this.around.pause(SOON);
      for (let failures = 0, next = this.#next(); next; next = this.#next()) {
        try {
          await next();
          failures = 0;
          this.failing.value = false;
        } catch (error) {
          if (error instanceof LoggedOutError) return;
          this.failing.value = true;
          const pause = Math.min(FIRST_PAUSE * 2 ** failures++, LONGEST_PAUSE);
          await this.around.pause(pause * (0.5 + this.around.random()));
        }
        this.news.value++;
        this.#tell();
      }
    } finally {
      this.#running = false;
    }
  }

  #stale(): Hazard[] {
    return [...this.#all.values()].filter((h) => this.#known.get(h.hazard_ID)?.version !== h.update_Date);
  }

  #wantedIds(): ReadonlySet<number> {
    return new Set(this.#wanted.map((h) => h.hazard_ID));
  }

  /** The request to make now. */
  #next(): (() => Promise<void>) | undefined {
    const stale = this.#stale();
    if (this.#at !== undefined && stale.length > 0) return () => this.#past(this.#at!);
    if (stale.length > MANY) return () => this.#read("/hazards/active/areas", stale);
    const bare = this.#wanted.filter((h) => this.#known.get(h.hazard_ID)?.shapesOf !== h.update_Date);
    const lone = bare.find((h) => !this.#all.has(h.hazard_ID));
    if (lone) return () => this.#alone(lone);
    const missing = [...new Set([...stale, ...bare])].slice(0, AT_ONCE);
    return missing.length > 0 ? () => this.#read(`/hazards/active/areas?ids=${missing.map((h) => h.hazard_ID).join(",")}`, missing) : undefined;
  }

  /** Reads boxes or areas. What the answer has not of those asked for is not active any more; the list will say so too. */
  async #read(path: string, asked: readonly Hazard[]): Promise<void> {
    const answer = await this.api.request(path);
    const found = this.#keep((await answer.json()) as Answer, asked, (f) => Number(f.id));
    if (found.size > 0 && answer.headers.get("Link")?.includes('rel="next"')) return; // the others are asked for next
    for (const h of asked) if (!found.has(h.hazard_ID)) this.#nothing(h);
  }

  /** Reads all areas of a moment in the past, which has no boxes of its own. */
  async #past(at: number): Promise<void> {
    const answer = await this.api.geo<Answer>(`/hazards/active?f=geojson&at=${encodeURIComponent(new Date(at).toISOString())}`);
    if (at !== this.#at) return;
    const asked = [...this.#all.values()];
    const found = this.#keep(answer, asked, (f) => f.properties.hazard_ID!);
    for (const h of asked) if (!found.has(h.hazard_ID)) this.#nothing(h);
  }

  /** Reads the area of a hazard that is not among the others: one that is over. */
  async #alone(h: Hazard): Promise<void> {
    const feature = await this.api.geo<Answer["features"][number]>(`/hazards/${h.hazard_ID}?f=geojson`);
    this.#keep({ type: "FeatureCollection", features: [feature] }, [h], () => h.hazard_ID);
  }

  #nothing(h: Hazard): void {
    this.#known.set(h.hazard_ID, { version: h.update_Date, boxes: [], shapes: [], shapesOf: h.update_Date });
  }

  /** Keeps what an answer says of the hazards that were asked for, as of the version that each had then: a later one is asked for again. */
  #keep(answer: Answer, asked: readonly Hazard[], idOf: (f: Answer["features"][number]) => number): ReadonlySet<number> {
    const found = new Map<number, { boxes: Box[]; shapes: Shape[] | undefined; about: About }>();
    for (const f of answer.features) {
      const id = idOf(f);
      let of = found.get(id);
      if (!of) found.set(id, of = { boxes: [], shapes: f.geometry ? [] : undefined, about: f.properties });
      const box = f.properties.possible ?? f.bbox;
      if (box) of.boxes.push(box as Box);
      const role = f.properties.role ?? f.properties.area_role;
      if (f.geometry && role !== "point" && of.shapes!.length < PARTS) of.shapes!.push({ role: role as AreaProperties["role"], geometry: f.geometry });
    }
    for (const h of asked) {
      const of = found.get(h.hazard_ID);
      if (!of) continue;
      const before = this.#known.get(h.hazard_ID);
      const shapes = of.shapes ? { shapes: of.shapes, shapesOf: h.update_Date } : { shapes: before?.shapes ?? [], shapesOf: before?.shapesOf };
      this.#known.delete(h.hazard_ID); // what was read last is forgotten last
      this.#known.set(h.hazard_ID, { ...of, version: h.update_Date, ...shapes });
    }
    this.#forget();
    return new Set(found.keys());
  }

  /** Keeps the boxes alone of what nobody wants. */
  #forget(): void {
    const wanted = this.#wantedIds();
    const spare = [...this.#known].filter(([id, k]) => k.shapes.length > 0 && !wanted.has(id));
    for (const [id, k] of spare.slice(0, Math.max(0, spare.length - KEPT))) this.#known.set(id, { ...k, shapes: [], shapesOf: undefined });
  }

  /** Tells what is known, as far as it is not what was told. An area that is being read again stays as it was. */
  #tell(): void {
    const came: Area[] = [];
    const went: number[] = [];
    const told = new Map<number, { shapes: readonly Shape[]; severity: string; drill: 0 | 1 }>();
    for (const h of this.#wanted) {
      const shapes = this.#known.get(h.hazard_ID)?.shapes;
      if (!shapes?.length) continue;
      const before = this.#told.get(h.hazard_ID);
      const drill = isDrill(h) ? 1 : 0;
      if (before?.shapes === shapes && before.severity === h.severity_ID && before.drill === drill) {
        told.set(h.hazard_ID, before);
        continue;
      }
      told.set(h.hazard_ID, { shapes, severity: h.severity_ID, drill });
      for (let i = shapes.length; i < (before?.shapes.length ?? 0); i++) went.push(h.hazard_ID * PARTS + i);
      shapes.forEach((s, i) => {
        came.push({
          type: "Feature",
          id: h.hazard_ID * PARTS + i,
          geometry: s.geometry,
          properties: { id: h.hazard_ID, role: s.role, severity: h.severity_ID, rank: severity(h.severity_ID).rank, drill },
        });
      });
    }
    for (const [id, { shapes }] of this.#told) if (!told.has(id)) shapes.forEach((_, i) => went.push(id * PARTS + i));
    this.#told = told;
    if (came.length + went.length > 0) this.#shown(came, went);
  }
}
