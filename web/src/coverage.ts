// Which official warnings are read for the window, and so whether an empty window means "no
// hazards". The terms are those of GET /coverage.
import { computed, signal } from "@preact/signals";
import type { Feature, Geometry } from "geojson";
import type { Api } from "./api";
import { meets, touches, type Box } from "./place";
import type { Bounds } from "./filter";

export interface CoverageProperties {
  readonly kind: "country" | "area";
  readonly name: string;
  readonly state: "covered" | "stale" | "unknown";
}

export type Covered = Feature<Geometry, CoverageProperties>;

/** How often the words are read again, milliseconds: they change as sources fail and come back. */
const AGAIN = 300_000;

export class Coverage {
  readonly features = signal<readonly Covered[] | undefined>(undefined);
  /** Where no official warnings are read. */
  readonly gaps = computed(() => (this.features.value ?? []).filter((f) => f.properties.kind === "country" && f.properties.state === "unknown"));

  constructor(private readonly api: Api) {}

  /** Reads the words now and again, until the end that it returns is called. */
  follow(): () => void {
    const read = () => void this.#read();
    const timer = setInterval(read, AGAIN);
    read();
    return () => clearInterval(timer);
  }

  async #read(): Promise<void> {
    try {
      const answer = await this.api.request("/coverage", { headers: { Accept: "application/geo+json" }, allow: [404, 405, 406] });
      if (answer.ok) this.features.value = ((await answer.json()) as { features: readonly Covered[] }).features;
    } catch {
      // Nothing is said then: neither that a place is covered, nor that it is not.
    }
  }

  /** Whether official warnings are read for any part of a window; undefined: not known. */
  covers(window: Bounds | undefined): boolean | undefined {
    const features = this.features.value;
    if (!features || !window) return undefined;
    return features.some((f) => f.properties.state !== "unknown" && (f.bbox ? meets(window, f.bbox as unknown as Box) : true) && touches(window, f.geometry));
  }
}
