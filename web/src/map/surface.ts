// The surface of danger: vector tiles that the service makes (internal/format/vectortile), and how they look.
//
// Per place only the worst level is filled, and equal levels are one area. Solid beats stripes, stripes beat dots, dots beat a line: so the order stays
// without colour. A tile is asked for again when hazards change, with the tag of what is there; until its answer is there, the map shows the one before.
import type { AddProtocolAction, ExpressionSpecification, FilterSpecification, LayerSpecification, Map as MapLibre, VectorTileSource } from "maplibre-gl";
import { LostError, type Api } from "../api";
import { isFiltering, type Filter } from "../filter";
import { DEEPEST, pathOf, queryOf, takeEarly } from "./ahead";

const PROTOCOL = "hazards";

type Theme = "light" | "dark";
type Colour = readonly [red: number, green: number, blue: number];

/** How a level looks: its fill, the pattern on it with the share that it covers, and its line; all with their opacity. */
export interface Look {
  readonly fill?: readonly [Colour, number];
  readonly pattern?: readonly [Colour, number, share: number];
  readonly line: readonly [Colour, number, width: number];
  /** Around the line, wider. */
  readonly halo?: readonly [Colour, width: number];
}

/** A test measures the contrast of these (test/surface.test.ts). In the dark the ladder turns over: there yellow is 14 times as light as land, and red 4 times. */
export const looks: Readonly<Record<Theme, Readonly<Record<"worst" | "WARNING" | "WATCH" | "ADVISORY" | "INFORMATION", Look>>>> = {
  light: {
    worst: { fill: [[255, 0, 0], 1], line: [[90, 0, 0], 1, 3.2], halo: [[255, 255, 255], 7] },
    WARNING: { fill: [[255, 0, 0], 0.72], line: [[143, 0, 0], 1, 1.8], halo: [[255, 255, 255], 3.8] },
    WATCH: { fill: [[255, 255, 0], 0.36], pattern: [[107, 92, 0], 0.45, 0.136], line: [[95, 82, 0], 1, 1.6] },
    ADVISORY: { fill: [[0, 255, 0], 0.13], pattern: [[0, 115, 26], 0.42, 0.098], line: [[0, 115, 26], 0.75, 1] },
    INFORMATION: { line: [[28, 120, 196], 0.9, 1] },
  },
  dark: {
    worst: { fill: [[255, 0, 0], 1], line: [[255, 255, 255], 1, 3.2], halo: [[0, 0, 0], 7] },
    WARNING: { fill: [[255, 72, 72], 0.92], line: [[255, 217, 217], 1, 1.6], halo: [[0, 0, 0], 3.8] },
    WATCH: { fill: [[255, 255, 0], 0.08], pattern: [[255, 255, 0], 0.3, 0.136], line: [[255, 255, 0], 0.75, 1.3] },
    ADVISORY: { fill: [[0, 255, 0], 0.07], pattern: [[0, 255, 0], 0.3, 0.098], line: [[0, 255, 0], 0.5, 1] },
    INFORMATION: { line: [[49, 153, 240], 0.8, 1] },
  },
};

/** From this zoom on all levels have lines. */
const LINES = 5;
/** From this zoom on the areas of single warnings and watches are thin lines in the fill. */
const SINGLE = 7;
/** Tiles that are kept, for their tags and for when the connection is lost. */
const KEPT = 200;

/** MapLibre checks each part that is added against the whole style, which it writes out for that each time. */
export const UNCHECKED = { validate: false };

/** The sources: of what is real, and of drills. */
const REAL = "surface";
const DRILLS = "surface-drills";

/** Milliseconds. */
const LEAST_PAUSE = 2_000;
const PAUSES = [1_000, 2_000, 4_000, 8_000, 15_000];

export const css = ([r, g, b]: Colour, opacity = 1): string => `rgba(${r},${g},${b},${opacity})`;

interface Kept {
  readonly tag: string;
  readonly data: ArrayBuffer;
}

/** What is shown. */
export interface Wanted {
  readonly filter: Filter;
  readonly at: number | undefined;
  /** The hazards that pass the filter; another value means that some changed. */
  readonly hazards: ReadonlyMap<number, unknown>;
  readonly drills: boolean;
}

/** The tiles on one map. */
export class Surface {
  readonly #kept = new Map<string, Kept>();
  readonly #missing = new Set<string>();
  #map: MapLibre | undefined;
  #wanted: Wanted | undefined;
  #queries: Record<string, string | undefined> = {};
  #asked = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;

  /** `change` is that of the list on the screen; `failing` hears whether tiles that are wanted have not come. */
  constructor(private readonly api: Pick<Api, "request">, private readonly change: () => number, private readonly failing: (are: boolean) => void) {}

  /** Says what to show. What is as before is not asked for again. */
  show(wanted: Wanted): void {
    const before = this.#wanted;
    this.#wanted = wanted;
    if (!this.#map) return;
    this.#aim();
    if (before && before.hazards !== wanted.hazards) this.#refresh();
  }

  /** Puts the sources and layers on a map, again after each change of its style; `before` is the layer that they lie beneath. */
  install(map: MapLibre, theme: Theme, before: string | undefined): void {
    this.#map = map;
    for (const source of [REAL, DRILLS]) map.addSource(source, { type: "vector", tiles: [this.#address(this.#queries[source] ?? "")], minzoom: 0, maxzoom: DEEPEST });
    for (const layer of layersOf(theme)) map.style.addLayer(layer, before, UNCHECKED);
    this.#aim(true);
  }

  /** Asks again for what has not come. */
  fill(): void {
    if (this.#missing.size === 0) return;
    this.#missing.clear(); // what is not in sight any more is not asked for again
    this.#ask();
  }

  end(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    this.#map = undefined;
  }

  /** Loads a tile for MapLibre. */
  readonly load: AddProtocolAction = async ({ url }, { signal }) => {
    const path = url.slice(PROTOCOL.length + 2);
    const before = this.#kept.get(path);
    try {
      const early = await takeEarly(path)?.catch(() => undefined);
      const current = early && Number(early.headers.get("Hazardd-Change")) >= this.change(); // of a moment's answer it says nothing
      const answer = current ? early : await this.api.request(path, { signal, headers: before ? { "If-None-Match": before.tag } : {}, allow: [304] });
      const now = answer.status === 304 && before ? before : { tag: answer.headers.get("ETag") ?? "", data: await answer.arrayBuffer() };
      this.#kept.delete(path);
      this.#kept.set(path, now);
      for (const old of this.#kept.keys()) {
        if (this.#kept.size <= KEPT) break;
        this.#kept.delete(old);
      }
      this.#missing.delete(path);
      if (this.#missing.size === 0) {
        this.#failures = 0;
        this.failing(false);
      }
      return { data: now.data.slice(0) }; // MapLibre gives it to its worker
    } catch (error) {
      if (signal.aborted) {
        this.#missing.delete(path);
        throw error;
      }
      this.#missing.add(path);
      this.failing(true);
      // Without a connection the page asks again once it is back (fill).
      clearTimeout(this.#retry);
      if (!(error instanceof LostError)) this.#retry = setTimeout(() => this.fill(), PAUSES[Math.min(this.#failures++, PAUSES.length - 1)]);
      if (before) return { data: before.data.slice(0) };
      throw error;
    }
  };

  /** Leads the sources to the tiles of the filter. */
  #aim(anew = false): void {
    const { filter, at, hazards, drills } = this.#wanted ?? { filter: { types: [], severities: [], categories: [], text: "" }, at: undefined, hazards: new Map<number, unknown>(), drills: false };
    const ids = filter.text.trim() === "" || !isFiltering(filter) ? [] : [...hazards.keys()].sort((a, b) => a - b);
    for (const source of [REAL, DRILLS]) {
      const query = source === DRILLS && !drills ? undefined : queryOf(filter, source === DRILLS, at, ids);
      if (!anew && query === this.#queries[source] && source in this.#queries) continue;
      const hidden = this.#queries[source] === undefined;
      if (query !== undefined && (anew || query !== this.#queries[source])) (this.#map!.getSource(source) as VectorTileSource).setTiles([this.#address(query)]);
      this.#queries[source] = query;
      if (anew || hidden !== (query === undefined)) {
        for (const l of this.#map!.getStyle().layers) if ("source" in l && l.source === source) this.#map!.setLayoutProperty(l.id, "visibility", query === undefined ? "none" : "visible", UNCHECKED);
      }
    }
  }

  #address(query: string): string {
    return `${PROTOCOL}:/${pathOf(query)}`;
  }

  /** Asks for all tiles in sight again, soon. */
  #refresh(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#ask();
    }, Math.max(200, this.#asked + LEAST_PAUSE - Date.now()));
  }

  #ask(): void {
    this.#asked = Date.now();
    for (const source of [REAL, DRILLS]) if (this.#queries[source] !== undefined && this.#map?.getSource(source)) this.#map.refreshTiles(source);
  }
}

/** Edges of stand-ins, which a click does not find. */
const standIn: ExpressionSpecification = ["in", ["get", "place_kind"], ["literal", ["region", "country"]]];
const polygon: ExpressionSpecification = ["==", ["geometry-type"], "Polygon"];

/**
 * The hazards whose areas or tracks are within meters of a place, by number. They are looked up in the tiles when somebody points there: a layer for it,
 * though nobody sees it, cost seconds where ten thousand areas are, for their triangles.
 */
export function areasAt(map: MapLibre, longitude: number, latitude: number, meters: number): number[] {
  const near = ["<=", ["distance", { type: "Point", coordinates: [longitude, latitude] }], meters];
  const filter = ["all", ["any", polygon, ["!", standIn]], near] as unknown as FilterSpecification;
  return [REAL, DRILLS].flatMap((source) => map.querySourceFeatures(source, { sourceLayer: "areas", filter, ...UNCHECKED })).map((f) => Number(f.id));
}

/** The colour of a level's line. */
const lineColour = (theme: Theme): ExpressionSpecification => {
  const l = looks[theme];
  return ["match", ["get", "severity"], ...(["WARNING", "WATCH", "ADVISORY", "INFORMATION"] as const).flatMap((s) => [s, css(l[s].line[0], l[s].line[1])]),
    "#666666"] as unknown as ExpressionSpecification;
};

/** Layers of the surface, from the bottom. */
export function layersOf(theme: Theme): LayerSpecification[] {
  const all = looks[theme];
  const danger = { source: REAL, "source-layer": "danger" } as const;
  const areas = { source: REAL, "source-layer": "areas" } as const;
  const drills = { source: DRILLS, "source-layer": "areas" } as const;
  const is = (severity: string): ExpressionSpecification => ["==", ["get", "severity"], severity];
  const worst: ExpressionSpecification = ["==", ["get", "worst"], true];
  const ofClass = (c: keyof typeof all): FilterSpecification => (c === "worst" ? worst : ["all", is(c), ["!", worst]]);
  const lines: ExpressionSpecification = ["==", ["geometry-type"], "LineString"];
  const round = { "line-join": "round", "line-cap": "round" } as const;
  const out: LayerSpecification[] = [];
  for (const c of ["ADVISORY", "WATCH", "WARNING", "worst"] as const) {
    const { fill, pattern } = all[c];
    // Neighbors share their edge: without lines along it the fills meet.
    if (fill) out.push({ id: `surface-fill-${c}`, type: "fill", ...danger, filter: ofClass(c), paint: { "fill-color": css(fill[0]), "fill-opacity": fill[1], "fill-antialias": false } });
    if (pattern) out.push({ id: `surface-pattern-${c}`, type: "fill", ...danger, filter: ofClass(c), paint: { "fill-pattern": `surface|${c}|${theme}`, "fill-antialias": false } });
  }
  for (const c of ["WATCH", "WARNING"] as const) {
    out.push({
      id: `surface-single-${c}`,
      type: "line",
      ...areas,
      minzoom: SINGLE,
      filter: ["all", polygon, is(c)],
      layout: { "line-join": "round" },
      paint: { "line-color": css(all[c].line[0], all[c].line[1]), "line-width": 0.8, ...(c === "WATCH" ? { "line-dasharray": [6, 4] } : {}) },
    });
  }
  for (const c of ["INFORMATION", "ADVISORY", "WATCH", "WARNING", "worst"] as const) {
    const { line, halo } = all[c];
    const minzoom = c === "INFORMATION" || c === "ADVISORY" ? { minzoom: LINES } : {};
    if (halo) out.push({ id: `surface-halo-${c}`, type: "line", ...danger, filter: ofClass(c), layout: round, paint: { "line-color": css(halo[0]), "line-width": halo[1] } });
    out.push({ id: `surface-line-${c}`, type: "line", ...danger, ...minzoom, filter: ofClass(c), layout: round, paint: { "line-color": css(line[0], line[1]), "line-width": line[2] } });
  }
  out.push(
    { id: "surface-over", type: "line", ...areas, minzoom: LINES, filter: is("TERMINATION"), layout: round, paint: { "line-color": "#666666", "line-width": 1.6, "line-dasharray": [0.1, 2.4] } },
    {
      id: "surface-standin",
      type: "line",
      ...areas,
      filter: ["all", lines, standIn],
      layout: { "line-join": "round" },
      paint: { "line-color": lineColour(theme), "line-width": 1.6, "line-dasharray": [4, 3] },
    },
    { id: "surface-track-edge", type: "line", ...areas, filter: ["all", lines, ["!", standIn]], layout: round, paint: { "line-color": theme === "dark" ? "#000000" : "#ffffff", "line-width": 4.6 } },
    { id: "surface-track", type: "line", ...areas, filter: ["all", lines, ["!", standIn]], layout: round, paint: { "line-color": lineColour(theme), "line-width": 2.2 } },
    // No real area has a line of black and white.
    { id: "surface-drills-back", type: "line", ...drills, layout: { "line-join": "round" }, paint: { "line-color": theme === "dark" ? "#000000" : "#ffffff", "line-width": 4 } },
    {
      id: "surface-drills-line",
      type: "line",
      ...drills,
      layout: { "line-join": "round" },
      paint: { "line-color": theme === "dark" ? "#ffffff" : "#000000", "line-width": 4, "line-dasharray": [1.6, 1.6] },
    },
  );
  return out;
}

/** The picture of a level's pattern: stripes of 11 pixels, or dots of 8. It draws on a canvas whose unit is the CSS pixel. */
export function paintPattern(c: CanvasRenderingContext2D, level: string, theme: Theme): void {
  const { pattern } = looks[theme][level === "WATCH" ? "WATCH" : "ADVISORY"];
  const [colour, opacity, share] = pattern!;
  c.fillStyle = c.strokeStyle = css(colour, opacity);
  if (level === "WATCH") {
    const n = EDGES.WATCH;
    c.lineWidth = (share * n) / Math.SQRT2;
    c.beginPath();
    for (const x of [-n, 0, n]) {
      c.moveTo(x - 1, n + 1);
      c.lineTo(x + n + 1, -1);
    }
    c.stroke();
    return;
  }
  const n = EDGES.ADVISORY;
  const radius = n * Math.sqrt(share / (2 * Math.PI)); // two dots
  for (const [x, y] of [[n / 4, n / 4], [(3 * n) / 4, (3 * n) / 4]] as const) {
    c.beginPath();
    c.arc(x, y, radius, 0, 2 * Math.PI);
    c.fill();
  }
}

/** The edges of the patterns' pictures, in CSS pixels. */
export const EDGES = { WATCH: 11, ADVISORY: 8 } as const;
