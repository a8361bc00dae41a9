// The map itself: MapLibre, and what is drawn on it. It knows hazards, and nothing of the page around it.
import maplibregl, { type ExpressionSpecification, type FilterSpecification, type GeoJSONSource, type LayerSpecification, type MapGeoJSONFeature } from "maplibre-gl";
import workerAddress from "maplibre-gl/dist/maplibre-gl-csp-worker.js?url";
import type { Feature, FeatureCollection, Geometry, Point } from "geojson";
import { basemapStyle, registerBasemap } from "../basemap";
import { contains } from "../geometry";
import { between, isEmpty, type Hazards } from "../diff";
import type { Bounds } from "../filter";
import { isDrill, severities, severity, type Hazard } from "../model";
import { language, text, type Language } from "../words";
import type { Town } from "../towns";
import type { View } from "../url";
import type { Streets } from "../streets";
import type { Area } from "./areas";
import { Images, SYMBOL } from "./images";

maplibregl.setWorkerUrl(workerAddress);
registerBasemap(maplibregl);

/** Starts what a map needs before there is one: its workers. */
export function warm(): void {
  maplibregl.prewarm();
}

export type Theme = "light" | "dark";

/** Where on the screen something is: CSS pixels from the map's upper left corner. */
export interface Place {
  readonly x: number;
  readonly y: number;
}

export interface Listener {
  /** The window has moved and stands still. */
  moved(view: View, bounds: Bounds): void;
  /** All of the window is drawn. */
  settled(): void;
  /** Hazards under a click, by number; several lie on top of each other. None: the click hit nothing. */
  picked(ids: readonly number[], place: Place): void;
  hovered(id: number | undefined, place: Place): void;
  /** A click when places are asked for; false: they are not. */
  placed(longitude: number, latitude: number): boolean;
}

type HazardProperties = { id: number; icon: string; rank: number };
type HazardFeature = Feature<Point, HazardProperties>;

/** Here the ground ends: closer than this the basemap shows nothing but a coast that is too smooth. */
export const MAX_ZOOM = 13;
/** From here on streets are looked for; and how far they can be looked at beyond the last zoom with tiles, which hold more than a screen shows. */
const STREETS_FROM = 7;
const BEYOND = 3;
/** No archive ends deeper. Until the operator's has been read, a link may lead so far. */
const STREETS_END = 20;
/** From here on hazards stand alone. */
const CLUSTER_MAX_ZOOM = 10;
/** Pictures of clusters that are kept. */
const CLUSTER_PICTURES = 1_500;
/** What is nearer to the edge, in CSS pixels, does not count as in view. */
const MARGIN = 50;
const empty: FeatureCollection = { type: "FeatureCollection", features: [] };
// Drills are drawn first: none may cover what is real.
const HAZARD_SOURCES = ["drills", "hazards"] as const;
const PICKED = HAZARD_SOURCES.flatMap((s) => [s, `${s}-clusters`]);
const AREA_LAYERS = ["areas-fill", "areas-track"];

function feature(h: Hazard): HazardFeature {
  return {
    type: "Feature",
    id: h.hazard_ID,
    geometry: { type: "Point", coordinates: [h.longitude, h.latitude] },
    properties: { id: h.hazard_ID, icon: Images.symbolId(h.type_ID, h.category_ID, h.severity_ID), rank: severity(h.severity_ID).rank },
  };
}

export class MapView {
  readonly map: maplibregl.Map;
  readonly #images = new Images();
  readonly #clusters: string[] = [];
  #ready = false;
  #gaps = false;
  #theme: Theme;
  #language = language();
  #hazards: Hazards = new Map();
  readonly #areas = new Map<number, Area>();
  #focus: readonly Feature[] = [];
  #fresh: readonly Feature[] = [];
  #draft: FeatureCollection = empty;
  #me: readonly Feature[] = [];
  #gapsShown: readonly Feature[] = [];
  #selected = -1;
  #covered = { left: 0, right: 0, bottom: 0 };
  /** What the page says of the operator's basemap; undefined: there is none. */
  readonly #said = document.querySelector<HTMLMetaElement>('meta[name="hazardd-basemap"]')?.content;
  #streets: { readonly streets: Streets; readonly code: typeof import("../streets") } | undefined;
  #finding = false;

  constructor(
    container: HTMLElement,
    private readonly listener: Listener,
    options: { theme: Theme; view: View | undefined; reducedMotion: () => boolean },
  ) {
    this.#theme = options.theme;
    this.#reducedMotion = options.reducedMotion;
    const map = (this.map = new maplibregl.Map({
      container,
      style: basemapStyle(options.theme),
      center: options.view ? [...options.view.center] : [-40, 22],
      zoom: options.view?.zoom ?? startZoom(container),
      maxZoom: this.#said ? STREETS_END : MAX_ZOOM,
      minZoom: 0.3,
      attributionControl: { compact: true },
      dragRotate: false,
      pitchWithRotate: false,
      rollEnabled: false,
      touchPitch: false,
      fadeDuration: 0,
      locale: { "Map.Title": text.map.label },
    }));
    map.touchZoomRotate.disableRotation();
    map.keyboard.disableRotation();
    map.addControl(new maplibregl.ScaleControl({ maxWidth: 110 }), "bottom-left");
    map.on("style.load", () => this.#install());
    map.on("styleimagemissing", ({ id }) => this.#image(id));
    map.on("moveend", () => this.#moved());
    map.on("idle", () => this.listener.settled());
    map.on("error", (e) => {
      // A part of the map that did not come leaves a gap, which is filled when the connection is back; the page tells of that.
      if ("sourceId" in e) this.#gaps = true;
      else console.error(e.error);
    });
    map.on("click", (e) => void this.#click(e));
    map.on("mousemove", (e) => this.#hover(e));
    map.on("mouseout", () => this.listener.hovered(undefined, { x: 0, y: 0 }));
    this.#moved();
  }

  #reducedMotion: () => boolean;
  readonly #overlays = new Map<string, (map: maplibregl.Map, before: string) => void>();

  remove(): void {
    this.map.remove();
  }

  setTheme(theme: Theme): void {
    if (theme === this.#theme) return;
    this.#theme = theme;
    this.#ready = false;
    this.map.setStyle(basemapStyle(theme), { diff: false });
  }

  /** Draws the letters of all pictures in the words of a language. */
  setWords(l: Language): void {
    this.map.getCanvas().setAttribute("aria-label", text.map.label);
    if (this.#language === l) return;
    this.#language = l;
    this.#ready = false;
    this.map.setStyle(basemapStyle(this.#theme), { diff: false });
  }

  /** Draws these hazards. What is as before is not drawn again. */
  setHazards(hazards: Hazards): void {
    const diff = between(this.#hazards, hazards);
    this.#hazards = hazards;
    if (!this.#ready || isEmpty(diff)) return;
    const changes = diff.added.length + diff.changed.length + diff.removed.length;
    if (changes > Math.max(200, hazards.size / 2)) {
      for (const drill of [false, true]) this.#source(drill ? "drills" : "hazards").setData(this.#collection(drill));
      return;
    }
    for (const drill of [false, true]) {
      const of = (h: Hazard) => isDrill(h) === drill;
      const add = [...diff.added, ...diff.changed.map((c) => c.to)].filter(of).map(feature);
      const remove = [...diff.removed.filter(of), ...diff.changed.filter((c) => of(c.from) && !of(c.to)).map((c) => c.from)].map((h) => h.hazard_ID);
      if (add.length + remove.length > 0) this.#source(drill ? "drills" : "hazards").updateData({ add, remove });
    }
  }

  /** Draws areas that came or changed, and removes those that went, by id. */
  changeAreas(came: readonly Area[], went: readonly number[]): void {
    for (const id of went) this.#areas.delete(id);
    for (const a of came) this.#areas.set(a.id as number, a);
    if (this.#ready) this.#source("areas").updateData({ add: [...came], remove: [...went] });
  }

  /** Rings the selected hazard and the one that is pointed at. */
  setFocus(selected: Hazard | undefined, hovered: Hazard | undefined): void {
    this.#focus = [
      ...(hovered && hovered !== selected ? [ring(hovered, "hovered")] : []),
      ...(selected ? [ring(selected, "selected")] : []),
    ];
    this.#selected = selected?.hazard_ID ?? -1;
    if (!this.#ready) return;
    this.#source("focus").setData({ type: "FeatureCollection", features: [...this.#focus] });
    for (const layer of ["areas-selected", "areas-selected-track"]) this.map.setFilter(layer, ["==", ["get", "id"], this.#selected]);
  }

  /** Marks hazards that have just come or become worse. */
  setFresh(hazards: readonly Hazard[]): void {
    if (hazards.length === 0 && this.#fresh.length === 0) return;
    this.#fresh = hazards.map((h) => ring(h, "fresh"));
    if (this.#ready) this.#source("fresh").setData({ type: "FeatureCollection", features: [...this.#fresh] });
  }

  /** Hatches where no official warnings are read. */
  setGaps(gaps: readonly Feature[]): void {
    this.#gapsShown = gaps;
    if (this.#ready) this.#source("gaps").setData({ type: "FeatureCollection", features: [...gaps] });
  }

  /** Marks where the reader is. */
  setMe(at: readonly [longitude: number, latitude: number] | undefined): void {
    this.#me = at ? [{ type: "Feature", geometry: { type: "Point", coordinates: [...at] }, properties: {} }] : [];
    if (this.#ready) this.#source("me").setData({ type: "FeatureCollection", features: [...this.#me] });
  }

  /** The map as it is now, as the address of a picture. */
  picture(): string {
    this.map.redraw(); // what was drawn is gone once it is on the screen
    return this.map.getCanvas().toDataURL("image/png");
  }

  /** What somebody is drawing: any GeoJSON, shown above all areas. */
  setDraft(draft: FeatureCollection | undefined): void {
    this.#draft = draft ?? empty;
    if (this.#ready) this.#source("draft").setData(this.#draft);
  }

  /** The towns that the basemap shows at this scale, each once. */
  allTowns(): Town[] {
    if (!this.map.getSource("base")) return [];
    const found = new Map<string, Town>();
    for (const f of this.map.querySourceFeatures("base", { sourceLayer: "city" })) {
      if (f.geometry.type !== "Point" || Number(f.properties["from"] ?? 0) > this.map.getZoom()) continue;
      const [longitude, latitude] = f.geometry.coordinates as [number, number];
      const name = String(f.properties["name"]);
      found.set(`${name} ${longitude.toFixed(1)} ${latitude.toFixed(1)}`, { name, longitude, latitude });
    }
    return [...found.values()];
  }

  /** The towns in an area, the largest first, as far as the basemap has them in what it shows. */
  towns(area: Geometry): string[] {
    if (!this.map.getSource("base")) return [];
    const people = new Map<string, number>();
    for (const f of this.map.querySourceFeatures("base", { sourceLayer: "city" })) {
      if (f.geometry.type === "Point" && contains(area, f.geometry.coordinates)) people.set(String(f.properties["name"]), Number(f.properties["people"] ?? 0));
    }
    return [...people].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  }

  /** Shows all of a box at once. Tells when what is in it is drawn. */
  async look(box: readonly [west: number, south: number, east: number, north: number]): Promise<void> {
    this.map.fitBounds([...box], { padding: { top: 40, left: 40 + this.#covered.left, right: 110 + this.#covered.right, bottom: 40 + this.#covered.bottom }, maxZoom: 12, animate: false });
    await this.map.once("idle");
  }

  /** Draws something beside all this, again after each change of the basemap, beneath the marks of hazards; undefined: not any more. */
  overlay(id: string, draw: ((map: maplibregl.Map, before: string) => void) | undefined): void {
    if (!draw) this.#overlays.delete(id);
    else this.#overlays.set(id, draw);
    if (this.#ready) draw?.(this.map, "fresh");
  }

  /** Asks again for what did not come while the server was away. */
  fill(): void {
    if (!this.#gaps) return;
    this.#gaps = false;
    for (const id of ["base", "streets"]) if (this.map.getSource(id)) this.map.refreshTiles(id);
  }

  /** Whether two places are one on the screen, for a finger or a pointer. */
  near(a: readonly number[], b: readonly number[], pixels = 14): boolean {
    // The map shows the world again on either side.
    return this.map.project([a[0]! + 360 * Math.round((b[0]! - a[0]!) / 360), a[1]!]).dist(this.map.project([b[0]!, b[1]!])) <= pixels;
  }

  /** Lets corners be dragged, until the end that it returns is called; longitudes and latitudes in degrees. */
  dragCorners(corners: () => readonly (readonly number[])[], moved: (index: number, longitude: number, latitude: number) => void): () => void {
    let held = -1;
    const down = (e: maplibregl.MapMouseEvent | maplibregl.MapTouchEvent) => {
      const touch = "points" in e;
      held = touch && e.points.length > 1 ? -1 : corners().findIndex((c) => this.near(c, [e.lngLat.lng, e.lngLat.lat], touch ? 24 : 10));
      if (held >= 0) e.preventDefault(); // the map stays
    };
    const move = (e: maplibregl.MapMouseEvent | maplibregl.MapTouchEvent) => {
      const at = e.lngLat.wrap();
      if (held >= 0) moved(held, at.lng, at.lat);
    };
    const up = () => (held = -1);
    for (const kind of ["mousedown", "touchstart"] as const) this.map.on(kind, down);
    for (const kind of ["mousemove", "touchmove"] as const) this.map.on(kind, move);
    window.addEventListener("pointerup", up);
    window.addEventListener("pointercancel", up);
    return () => {
      for (const kind of ["mousedown", "touchstart"] as const) this.map.off(kind, down);
      for (const kind of ["mousemove", "touchmove"] as const) this.map.off(kind, move);
      window.removeEventListener("pointerup", up);
      window.removeEventListener("pointercancel", up);
    };
  }

  setPlacing(on: boolean): void {
    this.map.getCanvas().style.cursor = on ? "crosshair" : "";
  }

  /** Says what other things cover, in CSS pixels: what is brought into view comes into the middle of the rest. The map does not move. */
  setCovered(covered: { left: number; right: number; bottom: number }): void {
    this.#covered = covered;
  }

  /** Brings a hazard into view: its area if there is one, else its point. */
  show(h: Hazard, area: readonly [number, number, number, number] | undefined, closer: boolean): void {
    const motion = this.#reducedMotion() ? { animate: false } : { duration: 700 };
    if (area && (area[2] - area[0] > 0.01 || area[3] - area[1] > 0.01)) {
      this.map.fitBounds([...area], { padding: { top: 60, left: 60 + this.#covered.left, right: 60 + this.#covered.right, bottom: 60 + this.#covered.bottom }, maxZoom: 10, ...motion });
      return;
    }
    const zoom = closer ? Math.max(this.map.getZoom(), 7) : this.map.getZoom();
    this.map.easeTo({ center: [h.longitude, h.latitude], zoom, offset: [(this.#covered.left - this.#covered.right) / 2, -this.#covered.bottom / 2], ...motion });
  }

  /** Whether a point is in the part of the window that nothing covers. */
  shows(longitude: number, latitude: number): boolean {
    const p = this.map.project([longitude, latitude]);
    const { clientWidth, clientHeight } = this.map.getContainer();
    return p.x > this.#covered.left + MARGIN && p.x < clientWidth - this.#covered.right - MARGIN && p.y > MARGIN && p.y < clientHeight - this.#covered.bottom - MARGIN;
  }

  jump(view: View): void {
    this.map.jumpTo({ center: [...view.center], zoom: view.zoom });
  }

  zoomBy(steps: number): void {
    this.map.zoomTo(this.map.getZoom() + steps, { animate: !this.#reducedMotion(), duration: 250 });
  }

  /** Whether the map ends here because its ground does. */
  ends(): boolean {
    return this.map.getMaxZoom() === MAX_ZOOM && this.map.getZoom() >= MAX_ZOOM - 0.1;
  }

  /** Reads what the operator's basemap holds, once that can be seen; after a failure again at the next move. */
  async #findStreets(): Promise<void> {
    if (!this.#said || this.#streets || this.#finding || this.map.getZoom() < STREETS_FROM) return;
    this.#finding = true;
    try {
      const code = await import("../streets");
      this.#streets = { code, streets: await code.findStreets(JSON.parse(this.#said), maplibregl.setRTLTextPlugin) };
      if (this.#ready) this.#putStreets();
      this.#moved();
    } catch {
      this.map.setMaxZoom(MAX_ZOOM);
    } finally {
      this.#finding = false;
    }
  }

  #putStreets(): void {
    this.#streets?.code.putStreets(this.map, this.#streets.streets, this.#theme, this.#language.id);
  }

  /** Lets the map come as close as what lies in its middle has detail. */
  #limit(): void {
    if (!this.#streets) return;
    const { code, streets } = this.#streets;
    const c = this.map.getCenter();
    const most = code.covers(streets, c.lng, c.lat) ? Math.min(Math.max(streets.deepest + BEYOND, MAX_ZOOM), STREETS_END) : MAX_ZOOM;
    if (most !== this.map.getMaxZoom()) this.map.setMaxZoom(most);
  }

  world(): void {
    this.map.easeTo({ center: [this.map.getCenter().lng, 15], zoom: startZoom(this.map.getContainer()), animate: !this.#reducedMotion(), duration: 600 });
  }

  #source(id: string): GeoJSONSource {
    return this.map.getSource(id) as GeoJSONSource;
  }

  #collection(drill: boolean): FeatureCollection {
    return { type: "FeatureCollection", features: [...this.#hazards.values()].filter((h) => isDrill(h) === drill).map(feature) };
  }

  #image(id: string): void {
    const picture = this.#images.make(id, (better) => {
      if (this.map.hasImage(id)) this.map.updateImage(id, better.data);
    });
    if (!picture || this.map.hasImage(id)) return;
    this.map.addImage(id, picture.data, { pixelRatio: picture.pixelRatio });
    // Each cluster is a picture of its own. What is drawn has a copy: the oldest is made again when it is needed again.
    if (!id.startsWith("cluster|")) return;
    this.#clusters.push(id);
    if (this.#clusters.length > CLUSTER_PICTURES) {
      const old = this.#clusters.shift()!;
      if (this.map.hasImage(old)) this.map.removeImage(old);
    }
  }

  /** Puts our sources and layers on the basemap; again after each change of it. */
  #install(): void {
    const map = this.map;
    const firstLabel = map.getStyle().layers.find((l) => l.type === "symbol")?.id;
    // How many of each level are in a cluster: "1,0,4,2,1" from the least severe on.
    const levels = Object.fromEntries(severities.map((s) => [`n${s.rank}`, ["+", ["case", ["==", ["get", "rank"], s.rank], 1, 0]]])) as unknown as Record<string, ExpressionSpecification>;
    const parts = severities.flatMap((s, i) => [...(i > 0 ? [","] : []), ["to-string", ["get", `n${s.rank}`]]]);
    // The cluster with the most of the worst lies above the others.
    const weight = ["+", ...severities.map((s) => ["*", ["get", `n${s.rank}`], 10 ** s.rank])] as unknown as ExpressionSpecification;
    for (const source of HAZARD_SOURCES) {
      map.addSource(source, {
        type: "geojson",
        data: this.#collection(source === "drills"),
        cluster: true,
        clusterRadius: source === "drills" ? 70 : 44, // pixels; drills are larger, with their ring and word
        clusterMaxZoom: CLUSTER_MAX_ZOOM,
        clusterProperties: levels,
        maxzoom: CLUSTER_MAX_ZOOM + 2,
      });
    }
    map.addSource("areas", { type: "geojson", data: { type: "FeatureCollection", features: [...this.#areas.values()] }, tolerance: 0.5 });
    map.addSource("focus", { type: "geojson", data: { type: "FeatureCollection", features: [...this.#focus] } });
    map.addSource("fresh", { type: "geojson", data: { type: "FeatureCollection", features: [...this.#fresh] } });
    map.addSource("gaps", { type: "geojson", data: { type: "FeatureCollection", features: [...this.#gapsShown] }, tolerance: 0.5 });
    map.addSource("me", { type: "geojson", data: { type: "FeatureCollection", features: [...this.#me] } });
    map.addSource("draft", { type: "geojson", data: this.#draft });

    const dark = this.#theme === "dark";
    const edge = dark ? "#000000" : "#1b2733";
    const colour = ["match", ["get", "severity"], ...severities.flatMap((s) => [s.id, s.colour]), severity("").colour] as unknown as ExpressionSpecification;
    const polygon: FilterSpecification = ["==", ["geometry-type"], "Polygon"];
    // What is only known to be somewhere in a region has its outline, dashed and never filled.
    const outline: FilterSpecification = ["==", ["get", "role"], "outline"];
    const line: FilterSpecification = ["all", ["==", ["geometry-type"], "LineString"], ["!", outline]];
    const add = (layer: LayerSpecification, before?: string) => map.addLayer(layer, before);
    const byRank: ExpressionSpecification = ["get", "rank"];

    add({ id: "gaps", type: "fill", source: "gaps", paint: { "fill-pattern": `gap|${this.#theme}`, "fill-opacity": 0.8 } }, firstLabel);
    // Areas lie beneath the basemap's names.
    add({
      id: "areas-fill",
      type: "fill",
      source: "areas",
      filter: polygon,
      layout: { "fill-sort-key": byRank },
      paint: { "fill-pattern": ["concat", "pattern|", ["get", "severity"], "|", ["to-string", ["get", "drill"]]], "fill-opacity": ["case", ["==", ["get", "role"], "impact"], 0.6, 0.9] },
    }, firstLabel);
    add({
      id: "areas-edge",
      type: "line",
      source: "areas",
      filter: polygon,
      layout: { "line-sort-key": byRank, "line-join": "round" },
      paint: { "line-color": edge, "line-width": 3, "line-opacity": 0.55 },
    }, firstLabel);
    // The line tells the severity too: from dots to unbroken.
    const dashes: Record<string, number[] | undefined> = { TERMINATION: [1, 4], INFORMATION: [0.5, 2], ADVISORY: [2, 2], WATCH: [5, 2] };
    for (const s of severities) {
      add({
        id: `areas-line-${s.id}`,
        type: "line",
        source: "areas",
        filter: ["all", polygon, ["==", ["get", "severity"], s.id], ["==", ["get", "drill"], 0]],
        layout: { "line-join": "round" },
        paint: { "line-color": s.colour, "line-width": s.id === "WARNING" ? 2.4 : 1.8, ...(dashes[s.id] ? { "line-dasharray": dashes[s.id]! } : {}) },
      }, firstLabel);
    }
    // No real area has a line of black and white.
    for (const [id, colour, dash] of [["areas-line-drill-back", "#ffffff", undefined], ["areas-line-drill", "#000000", [3, 3]]] as const) {
      add({
        id,
        type: "line",
        source: "areas",
        filter: ["all", polygon, ["==", ["get", "drill"], 1]],
        layout: { "line-join": "round" },
        paint: { "line-color": colour, "line-width": 2.4, ...(dash ? { "line-dasharray": [...dash] } : {}) },
      }, firstLabel);
    }
    add({ id: "areas-outline", type: "line", source: "areas", filter: outline, paint: { "line-color": colour, "line-width": 2.4, "line-dasharray": [3, 3] } }, firstLabel);
    add({
      id: "areas-track-edge",
      type: "line",
      source: "areas",
      filter: line,
      layout: { "line-cap": "round", "line-join": "round" },
      paint: { "line-color": edge, "line-width": 5, "line-opacity": 0.8 },
    }, firstLabel);
    add({
      id: "areas-track",
      type: "line",
      source: "areas",
      filter: line,
      layout: { "line-cap": "round", "line-join": "round", "line-sort-key": byRank },
      paint: { "line-color": colour, "line-width": 2.6 },
    }, firstLabel);
    add({
      id: "areas-points",
      type: "circle",
      source: "areas",
      filter: ["==", ["geometry-type"], "Point"],
      paint: { "circle-radius": 3.5, "circle-color": colour, "circle-stroke-color": edge, "circle-stroke-width": 1.2 },
    }, firstLabel);
    add({
      id: "areas-selected",
      type: "line",
      source: "areas",
      filter: ["==", ["get", "id"], this.#selected],
      layout: { "line-join": "round" },
      paint: { "line-color": dark ? "#ffffff" : "#0b2f57", "line-width": 2.5, "line-gap-width": 3 },
    }, firstLabel);
    add({
      id: "areas-selected-track",
      type: "line",
      source: "areas",
      filter: ["==", ["get", "id"], this.#selected],
      layout: { "line-join": "round" },
      paint: { "line-color": colour, "line-width": 3 },
    }, firstLabel);

    add({ id: "me", type: "circle", source: "me", paint: { "circle-radius": 7, "circle-color": "#0b63ce", "circle-stroke-color": "#ffffff", "circle-stroke-width": 3 } });
    add({ id: "draft-fill", type: "fill", source: "draft", filter: polygon, paint: { "fill-color": "#a21caf", "fill-opacity": 0.2 } });
    add({ id: "draft-line", type: "line", source: "draft", paint: { "line-color": "#a21caf", "line-width": 2.5, "line-dasharray": [2, 1.5] } });

    const mark = dark ? "#ffffff" : "#0b2f57";
    // A picture, as the symbols are: what draws it is ready when the first comes.
    add({ id: "fresh", type: "symbol", source: "fresh", layout: { "icon-image": "ring|fresh", "icon-allow-overlap": true, "icon-ignore-placement": true } });
    add({
      id: "focus-ring",
      type: "circle",
      source: "focus",
      paint: {
        "circle-radius": SYMBOL / 2 + 4,
        "circle-color": mark,
        "circle-opacity": ["case", ["==", ["get", "kind"], "selected"], 0.28, 0.14],
        "circle-stroke-width": ["case", ["==", ["get", "kind"], "selected"], 3, 2],
        "circle-stroke-color": mark,
      },
    });
    for (const source of HAZARD_SOURCES) {
      const drill = source === "drills" ? "1" : "0";
      const shared = { "icon-allow-overlap": true, "icon-ignore-placement": true } as const;
      add({
        id: source,
        type: "symbol",
        source,
        filter: ["!", ["has", "point_count"]],
        layout: { ...shared, "icon-image": ["get", "icon"], "symbol-sort-key": byRank },
      });
      add({
        id: `${source}-clusters`,
        type: "symbol",
        source,
        filter: ["has", "point_count"],
        layout: { ...shared, "icon-image": ["concat", "cluster|", ...parts, "|", drill] as unknown as ExpressionSpecification, "symbol-sort-key": weight },
      });
    }
    for (const id of ["draft-point"])
      add({
        id,
        type: "circle",
        source: "draft",
        filter: ["==", ["geometry-type"], "Point"],
        paint: { "circle-radius": 7, "circle-color": "#a21caf", "circle-stroke-color": "#ffffff", "circle-stroke-width": 2 },
      });
    for (const draw of this.#overlays.values()) draw(map, "fresh");
    this.#ready = true;
    this.#putStreets();
  }

  #moved(): void {
    this.#limit();
    const c = this.map.getCenter();
    const b = this.map.getBounds();
    void this.#findStreets();
    this.listener.moved({ center: [c.lng, c.lat], zoom: this.map.getZoom() }, [b.getWest(), b.getSouth(), b.getEast(), b.getNorth()]);
  }

  #at(point: maplibregl.Point, layers: readonly string[], slack: number): MapGeoJSONFeature[] {
    if (!this.#ready) return [];
    const box: [maplibregl.PointLike, maplibregl.PointLike] = [[point.x - slack, point.y - slack], [point.x + slack, point.y + slack]];
    return this.map.queryRenderedFeatures(box, { layers: [...layers] });
  }

  async #click(e: maplibregl.MapMouseEvent): Promise<void> {
    if (this.listener.placed(e.lngLat.lng, e.lngLat.lat)) return;
    const touch = (e.originalEvent as PointerEvent).pointerType === "touch" || matchMedia("(pointer: coarse)").matches;
    const hits = this.#at(e.point, PICKED, touch ? 10 : 2);
    const found = hits[0];
    if (found?.properties["cluster"] === true) {
      await this.#openCluster(found, e.point);
      return;
    }
    if (found) {
      this.listener.picked(distinct(hits.filter((f) => f.properties["cluster"] !== true)), e.point);
      return;
    }
    // Of areas on top of each other the most severe is drawn last, and found first.
    const areas = this.#at(e.point, AREA_LAYERS, touch ? 6 : 1);
    this.listener.picked(distinct(areas).slice(0, 30), e.point);
  }

  async #openCluster(f: MapGeoJSONFeature, place: Place): Promise<void> {
    const id = f.properties["cluster_id"] as number;
    const source = this.#source(f.source);
    const center = (f.geometry as Point).coordinates as [number, number];
    try {
      const zoom = await source.getClusterExpansionZoom(id);
      if (zoom > CLUSTER_MAX_ZOOM || zoom > MAX_ZOOM) {
        const leaves = await source.getClusterLeaves(id, 100, 0);
        this.listener.picked(leaves.map((l) => Number(l.id)), place);
        return;
      }
      this.map.easeTo({ center, zoom: zoom + 0.4, animate: !this.#reducedMotion(), duration: 500 });
    } catch {
      // The cluster has changed meanwhile: the next click finds the new one.
    }
  }

  #hover(e: maplibregl.MapMouseEvent): void {
    if (this.map.isMoving()) return;
    const hits = this.#at(e.point, PICKED, 1);
    const area = hits.length === 0 ? this.#at(e.point, AREA_LAYERS, 0) : [];
    const canvas = this.map.getCanvas();
    if (canvas.style.cursor !== "crosshair") canvas.style.cursor = hits.length + area.length > 0 ? "pointer" : "";
    const first = hits[0];
    this.listener.hovered(first && first.properties["cluster"] !== true ? Number(first.properties["id"]) : area[0] ? Number(area[0].properties["id"]) : undefined, e.point);
  }
}

const ring = (h: Hazard, kind: string): Feature => ({ type: "Feature", geometry: { type: "Point", coordinates: [h.longitude, h.latitude] }, properties: { kind } });

const distinct = (features: readonly MapGeoJSONFeature[]): number[] => [...new Set(features.map((f) => Number(f.properties["id"])))];

/** The zoom at which the world fills a container. */
const startZoom = (container: HTMLElement): number => Math.min(2.4, Math.max(0.6, Math.log2(Math.max(container.clientWidth, 320) / 620)));
