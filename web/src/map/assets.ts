// The places of the reader's organizations on the map: read for the window alone, so many at once as an answer holds, and drawn beneath the hazards.
// What is kept is what the last window needed. It is loaded when somebody asks for it.
import { effect, signal } from "@preact/signals";
import type { Feature, FeatureCollection, Geometry, Point } from "geojson";
import type { GeoJSONSource, Map as Drawn, MapLayerMouseEvent, Subscription } from "maplibre-gl";
import type { Schemas } from "../api";
import { within, type Bounds } from "../filter";
import { turns } from "../place";
import type { Page } from "../ui/context";
import { number } from "../words";
import { takeOff } from "./overlay";

type Asset = Feature<Geometry, Schemas["Asset"]>;
type Answer = FeatureCollection<Geometry, Schemas["Asset"]> & { readonly more: boolean };

/** Places of one answer: the most that the service gives. */
const MOST = 5_000;
/** How long the map must stand still before it is asked, milliseconds. */
const STILL = 300;
/** How much is read beyond each edge of the window, in windows. */
const BEYOND = 0.25;
const COLOUR = "#6b21a8";
const SOURCES = ["assets-areas", "assets"];

export class AssetLayer {
  /** How many places are in the window, and whether more are there than were read. */
  readonly state = signal<{ readonly n: number; readonly more: boolean } | "reading" | "failed">("reading");
  #assets: readonly Asset[] = [];
  #more = false;
  /** The window that the places are of. */
  #of: Bounds | undefined;
  #asking = new AbortController();
  readonly #ends: (() => void)[] = [];

  constructor(private readonly page: Page) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    this.#ends.push(
      effect(() => {
        const view = page.map.value;
        if (!view) return;
        this.#listen(view.map);
        view.overlay("assets", (map, before) => this.#draw(map, before));
      }),
      effect(() => {
        const window = page.store.bounds.value;
        clearTimeout(timer);
        if (window) timer = setTimeout(() => void this.#look(window), STILL);
      }),
      () => clearTimeout(timer),
    );
    page.assets.value = this;
  }

  /** Takes the places off the map. */
  end(): void {
    for (const end of this.#ends) end();
    this.#asking.abort();
    const view = this.page.map.peek();
    if (view) takeOff(view, "assets", SOURCES);
    this.page.assets.value = undefined;
  }

  /** Reads what is in a window, unless it is known. */
  async #look(window: Bounds): Promise<void> {
    const of = this.#of;
    if (of && !this.#more && window.every((v, i) => (i < 2 ? v >= of[i]! : v <= of[i]!))) return this.#count(window);
    this.#asking.abort();
    const { signal } = (this.#asking = new AbortController());
    const [dx, dy] = [(window[2] - window[0]) * BEYOND, (window[3] - window[1]) * BEYOND];
    const wide: Bounds = [window[0] - dx, Math.max(-90, window[1] - dy), window[2] + dx, Math.min(90, window[3] + dy)];
    try {
      const { api } = this.page.store;
      const answers: Answer[] = [];
      for (const org of api.user?.orgs ?? [])
        for (const w of turns(wide)) answers.push(await api.geo<Answer>(`/organizations/${org}/assets?${new URLSearchParams({ bbox: turned(w).join(","), limit: String(MOST) })}`, signal));
      this.#assets = answers.flatMap((a) => a.features);
      this.#more = answers.some((a) => a.more);
      this.#of = wide;
    } catch {
      if (!signal.aborted) this.state.value = "failed";
      return;
    }
    const map = this.page.map.peek()?.map;
    for (const id of SOURCES) map?.getSource<GeoJSONSource>(id)?.setData(this.#collection(id));
    this.#count(window);
  }

  #count(window: Bounds): void {
    this.state.value = { n: this.#more ? this.#assets.length : this.#assets.filter(({ properties: p }) => within(window, p.lon, p.lat)).length, more: this.#more };
  }

  /** Areas as they are, and a point for every place. */
  #collection(source: string): FeatureCollection {
    if (source === "assets-areas") return { type: "FeatureCollection", features: this.#assets.filter((a) => a.properties.is_area) };
    return {
      type: "FeatureCollection",
      features: this.#assets.map((a) => ({ type: "Feature", geometry: { type: "Point", coordinates: [a.properties.lon, a.properties.lat] }, properties: a.properties })),
    };
  }

  #draw(map: Drawn, before: string): void {
    map.addSource("assets-areas", { type: "geojson", data: this.#collection("assets-areas") });
    map.addSource("assets", { type: "geojson", data: this.#collection("assets"), cluster: true, clusterRadius: 36, clusterMaxZoom: 11, maxzoom: 13 });
    map.addLayer({ id: "assets-areas", type: "line", source: "assets-areas", paint: { "line-color": COLOUR, "line-width": 2 } }, before);
    const shared = { "icon-allow-overlap": true, "icon-ignore-placement": true } as const;
    map.addLayer({ id: "assets", type: "symbol", source: "assets", filter: ["!", ["has", "point_count"]], layout: { ...shared, "icon-image": "asset" } }, before);
    map.addLayer({
      id: "assets-clusters",
      type: "symbol",
      source: "assets",
      filter: ["has", "point_count"],
      layout: { ...shared, "icon-image": ["concat", "asset|", ["to-string", ["get", "point_count"]]] },
    }, before);
  }

  /** Makes the pictures, names what is pointed at, and opens what stands for several. */
  #listen(map: Drawn): void {
    const name = (e: MapLayerMouseEvent) => {
      const p = e.features?.[0]?.properties;
      if (p) this.page.note.value = [p["name"], p["kind"], p["organization"]].filter(Boolean).join(" · ");
    };
    const open = async (e: MapLayerMouseEvent) => {
      const f = e.features?.[0];
      if (!f) return;
      const zoom = await map.getSource<GeoJSONSource>("assets")?.getClusterExpansionZoom(f.properties["cluster_id"] as number).catch(() => undefined);
      if (zoom !== undefined) map.jumpTo({ center: (f.geometry as Point).coordinates as [number, number], zoom });
    };
    const listening: Subscription[] = [
      map.on("styleimagemissing", ({ id }) => {
        const [kind, n] = id.split("|");
        if (kind === "asset" && !map.hasImage(id)) map.addImage(id, picture(n && number(Number(n))), { pixelRatio: RATIO });
      }),
      map.on("mousemove", "assets", name),
      map.on("click", "assets", name),
      map.on("mouseleave", "assets", () => (this.page.note.value = "")),
      map.on("click", "assets-clusters", (e) => void open(e)),
    ];
    this.#ends.push(() => {
      for (const l of listening) l.unsubscribe();
    });
  }
}

/** A window within longitudes from -180 to 180; one that crosses the antimeridian is two, of which this is one. */
const turned = ([west, south, east, north]: Bounds): Bounds => [Math.max(-180, west), south, Math.min(180, east), north];

/** Pixels of a picture for one of the map. */
const RATIO = 2;

/** A square, which no hazard is; of several, with their number. */
function picture(n: string | undefined): ImageData {
  const font = "700 11px system-ui, sans-serif";
  const c = document.createElement("canvas").getContext("2d")!;
  c.font = font;
  const [width, height] = n ? [Math.max(20, c.measureText(n).width + 10), 20] : [14, 14];
  c.canvas.width = Math.ceil(width * RATIO);
  c.canvas.height = height * RATIO;
  c.scale(RATIO, RATIO);
  for (const [edge, colour] of [[0, "#10181f"], [1, "#ffffff"], [3, COLOUR]] as const) {
    c.fillStyle = colour;
    c.fillRect(edge, edge, width - 2 * edge, height - 2 * edge);
  }
  if (n) {
    c.font = font;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillStyle = "#ffffff";
    c.fillText(n, width / 2, height / 2 + 0.5);
  }
  return c.getImageData(0, 0, c.canvas.width, c.canvas.height);
}
