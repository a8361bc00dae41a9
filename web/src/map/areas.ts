// The areas and tracks of hazards: fetched when they come into view, a few at a time, the most severe first, and kept for as long as the hazard
// stays as it is.
import type { Feature, FeatureCollection, Geometry } from "geojson";
import { LostError, type Api } from "../api";
import { isDrill, severity, type Hazard } from "../model";

export interface AreaProperties {
  readonly id: number; // hazard_ID
  readonly role: "alert" | "impact" | "track";
  readonly severity: string;
  readonly rank: number;
  readonly drill: 0 | 1;
}

export type Area = Feature<Geometry, AreaProperties>;

interface Kept {
  readonly version: string;
  readonly shapes: readonly { readonly role: AreaProperties["role"]; readonly geometry: Geometry }[];
}

/** Requests at once: the rest of the page needs the connection too. */
const AT_ONCE = 4;
/** Shapes that are kept of hazards out of view. */
const KEPT = 1_000;
/** A hazard has fewer parts than this; the rest of a feature's id is the hazard's number. */
const PARTS = 64;
/** Shapes that come within this time are drawn together, milliseconds: each drawing cuts all of them into tiles again. */
const SOON = 150;

export class Areas {
  #kept = new Map<number, Kept>();
  #wanted: readonly Hazard[] = [];
  #running = new Set<number>();
  #told = "";
  #soon: ReturnType<typeof setTimeout> | undefined;

  /** Gets the areas that are known of those wanted. */
  shown: (areas: readonly Area[]) => void = () => {};

  constructor(private readonly api: Api) {}

  /** Says which hazards' areas to show, in the order in which they are fetched. */
  want(hazards: readonly Hazard[]): void {
    this.#wanted = hazards;
    this.#tell();
    this.#next();
  }

  /** The bounds of a hazard's areas, if they are known: west, south, east, north. */
  bounds(h: Hazard): [number, number, number, number] | undefined {
    const kept = this.#kept.get(h.hazard_ID);
    if (!kept || kept.shapes.length === 0) return undefined;
    const box: [number, number, number, number] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const s of kept.shapes)
      eachPosition(s.geometry, (x, y) => {
        // Beside the hazard's point, so that an area across the antimeridian is not as wide as the world.
        const near = x + 360 * Math.round((h.longitude - x) / 360);
        box[0] = Math.min(box[0], near);
        box[1] = Math.min(box[1], y);
        box[2] = Math.max(box[2], near);
        box[3] = Math.max(box[3], y);
      });
    return box;
  }

  async #fetch(h: Hazard): Promise<void> {
    this.#running.add(h.hazard_ID);
    try {
      const answer = await this.api.get<FeatureCollection<Geometry, { role: string }>>(`/hazards/${h.hazard_ID}/alert-geography`, { headers: { Accept: "application/geo+json" } });
      const shapes = answer.features
        .filter((f) => f.geometry && f.properties.role !== "point")
        .slice(0, PARTS)
        .map((f) => ({ role: f.properties.role as AreaProperties["role"], geometry: f.geometry }));
      this.#keep(h, shapes);
    } catch (error) {
      // A hazard without an area is shown as its point. After a lost connection it is asked for again with the next wish.
      if (!(error instanceof LostError)) this.#keep(h, []);
    } finally {
      this.#running.delete(h.hazard_ID);
    }
    this.#soon ??= setTimeout(() => this.#tell(), SOON);
    this.#next();
  }

  #keep(h: Hazard, shapes: Kept["shapes"]): void {
    this.#kept.delete(h.hazard_ID);
    this.#kept.set(h.hazard_ID, { version: version(h), shapes });
    if (this.#kept.size > KEPT + this.#wanted.length) {
      const wanted = new Set(this.#wanted.map((w) => w.hazard_ID));
      for (const id of this.#kept.keys()) {
        if (this.#kept.size <= KEPT) break;
        if (!wanted.has(id)) this.#kept.delete(id);
      }
    }
  }

  #next(): void {
    for (const h of this.#wanted) {
      if (this.#running.size >= AT_ONCE) return;
      if (!this.#running.has(h.hazard_ID) && this.#kept.get(h.hazard_ID)?.version !== version(h)) void this.#fetch(h);
    }
  }

  /** Shows what is known, if it is not what was shown. An area that is being read again stays as it was. */
  #tell(): void {
    clearTimeout(this.#soon);
    this.#soon = undefined;
    const areas: Area[] = [];
    let key = "";
    for (const h of this.#wanted) {
      const kept = this.#kept.get(h.hazard_ID);
      if (!kept || kept.shapes.length === 0) continue;
      key += `${h.hazard_ID}:${kept.version}:${h.severity_ID}:${h.category_ID};`;
      kept.shapes.forEach((s, i) => {
        areas.push({
          type: "Feature",
          id: h.hazard_ID * PARTS + i,
          geometry: s.geometry,
          properties: { id: h.hazard_ID, role: s.role, severity: h.severity_ID, rank: severity(h.severity_ID).rank, drill: isDrill(h) ? 1 : 0 },
        });
      });
    }
    if (key === this.#told) return;
    this.#told = key;
    this.shown(areas);
  }
}

const version = (h: Hazard): string => h.update_Date;

function eachPosition(g: Geometry, f: (x: number, y: number) => void): void {
  if (g.type === "GeometryCollection") {
    for (const part of g.geometries) eachPosition(part, f);
    return;
  }
  const walk = (c: unknown): void => {
    if (!Array.isArray(c)) return;
    if (typeof c[0] === "number") f(c[0], c[1] as number);
    else for (const inner of c) walk(inner);
  };
  walk(g.coordinates);
}
