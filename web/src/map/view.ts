// The map itself: MapLibre, and what is drawn on it. It knows hazards, and nothing of the page around it.
import maplibregl, { type ExpressionSpecification, type FilterSpecification, type GeoJSONSource, type LayerSpecification, type MapGeoJSONFeature } from "maplibre-gl";
import type { Feature, FeatureCollection, Geometry, Point } from "geojson";
import { basemapStyle, registerBasemap, strong } from "../basemap";
import { contains } from "../geometry";
import type { Api } from "../api";
import { isEmpty, between, type Hazards } from "../diff";
import type { Bounds, Filter } from "../filter";
import { isDrill, severity, type Hazard } from "../model";
import { byImportance } from "../order";
import { lands, language, text, type Language } from "../words";
import type { Town } from "../towns";
import type { View } from "../url";
import { chosenLayers, idOf, operatorLayers, putLayers } from "../layers";
import type { Streets } from "../streets";
import type { Area } from "./areas";
import { place, type Placed, type Spot } from "./crowd";
import { Images, large, pixels, SYMBOL } from "./images";
import { workerAddress } from "./library";
import { areasAt, Surface, UNCHECKED } from "./surface";
import "./swatches.css";

maplibregl.setWorkerUrl(workerAddress);
registerBasemap(maplibregl);

/** Starts a map's workers before there is one. */
export const warm = (): void => maplibregl.prewarm();

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
  /** Whether what is drawn has gaps, because something did not come. */
  gaps(there: boolean): void;
  /** Hazards under a click, by number; several lie on top of each other. None: the click hit nothing. */
  picked(ids: readonly number[], place: Place): void;
  hovered(id: number | undefined, place: Place): void;
  /** A click when places are asked for; false: they are not. */
  placed(longitude: number, latitude: number): boolean;
  /** Whether parts of the surface of danger that are wanted have not come. */
  lacking(are: boolean): void;
}

/** What the map shows. */
export interface Shown {
  /** Those that pass the filter. */
  readonly hazards: Hazards;
  readonly filter: Filter;
  /** The moment, milliseconds; undefined: now. */
  readonly at: number | undefined;
  /** The places of the hazards by importance, from 0; empty: not known. */
  readonly places: ReadonlyMap<number, number>;
  /** From 0 to 100; undefined: not known. */
  readonly importance: (h: Hazard) => number | undefined;
  /** Whether a hazard has an area, which its surface shows. */
  readonly hasArea: (h: Hazard) => boolean;
  /** The region that a hazard is only known to be somewhere in. */
  readonly knownAs: (h: Hazard) => string | undefined;
}

type HazardProperties = { id: number; icon: string; size: number; sort: number; more: number; where: string };
type HazardFeature = Feature<Point, HazardProperties>;

/** Here the ground ends: closer than this the basemap shows nothing but a coast that is too smooth. */
export const MAX_ZOOM = 13;
/** From here on streets are looked for; and how far they can be looked at beyond the last zoom with tiles, which hold more than a screen shows. */
const STREETS_FROM = 7;
const BEYOND = 3;
/** No archive ends deeper. Until the operator's has been read, a link may lead so far. */
const STREETS_END = 20;
/** Symbols are placed anew when the zoom differs so much from that for which they were. */
const STEP = 0.5;
/** Hazards of one place that a touch lists. */
const LISTED = 100;
/** The length of the equator, meters. */
const EQUATOR = 40_075_017;
/** A pointer that has not moved for so long rests, milliseconds. */
const RESTS = 40;
/** Between frames until the map is drawn once, milliseconds. */
const FRAME = 150;
/** Pictures of numbers that are kept. */
const NUMBERS = 1_500;
/** From this importance on a hazard always has a symbol, the largest; and from that on a larger one. */
const WORST = 70;
const SEVERE = 50;
/** Edges of symbols, CSS pixels. */
const SIZES = [44, 32, 24, 18] as const;
/** From this zoom on everything has a symbol; farther away what is mild has a small one, and none where its area says the same. */
const CLOSE = 5;
/** What is nearer to the edge, in CSS pixels, does not count as in view. */
const MARGIN = 50;
/** The zoom at which a cyclone without an area is shown. */
const FROM_AFAR = 3.5;
/** The zoom at which the towns that feel an earthquake are around it. */
const FELT = 5;
/** An area smaller than this, in CSS pixels, is brought nearer when it is selected. */
const SEEN = 48;
/** How far the winds of a storm reach, in degrees: its track alone would leave them under the edge. */
const WINDS = 2.5;
// Drills are drawn first: none may cover what is real.
const HAZARD_SOURCES = ["drills", "hazards"] as const;
const SELECTED = ["areas-selected-halo", "areas-selected"];
const PICKED = HAZARD_SOURCES.flatMap((s) => [s, `${s}-more`]);

export class MapView {
  readonly map: maplibregl.Map;
  readonly #images = new Images();
  readonly #numbers: string[] = [];
  readonly #surface: Surface;
  #ready = false;
  /** Something did not come since it was last asked for; when that may be asked for again, milliseconds, and how often it was. */
  #gaps = false;
  #pointed: ReturnType<typeof setTimeout> | undefined;
  #fillAt = 0;
  #fills = 0;
  #theme: Theme;
  #language = language();
  #shown: Shown | undefined;
  /** The symbols, by the hazard that each shows, and the zoom for which they are placed. */
  #placed: ReadonlyMap<number, Placed> = new Map();
  #sizes: Map<number, number> = new Map();
  /** The nearest zoom. */
  #most = MAX_ZOOM;
  #zoom = 0;
  readonly #areas = new Map<number, Area>();
  /** The features of each of our sources, as JSON, and the layers that draw it. */
  readonly #data = new Map<string, string>();
  readonly #layersOf = new Map<string, string[]>();
  #focused: readonly (readonly [Hazard, string])[] = [];
  #fresh: readonly Hazard[] = [];
  #draft: readonly Feature[] = [];
  #me: readonly Feature[] = [];
  #gapsShown: readonly Feature[] = [];
  #selected = -1;
  #covered = { left: 0, right: 0, bottom: 0 };
  /** The operator's layers, and the names of those that are shown; when one was last read again, by name, milliseconds. */
  readonly #layers = operatorLayers();
  layers: readonly string[] = this.#layers.length ? chosenLayers() : [];
  readonly #refreshed = new Map<string, number>();
  readonly #refreshing = this.#layers.some((l) => l.refresh) ? setInterval(() => this.#refreshLayers(), 10_000) : undefined;
  /** What the page says of the operator's basemap; undefined: there is none. */
  readonly #said = document.querySelector<HTMLMetaElement>('meta[name="hazardd-basemap"]')?.content;
  #streets: { readonly streets: Streets; readonly code: typeof import("../streets") } | undefined;
  #finding = false;

  constructor(
    container: HTMLElement,
    private readonly listener: Listener,
    options: { api: Pick<Api, "request">; change: () => number; theme: Theme; view: View | undefined; reducedMotion: () => boolean },
  ) {
    this.#theme = options.theme;
    this.#surface = new Surface(options.api, options.change, (are) => listener.lacking(are));
    maplibregl.addProtocol("hazards", this.#surface.load);
    this.#reducedMotion = options.reducedMotion;
    if (this.#said) this.#most = STREETS_END;
    const map = (this.map = new maplibregl.Map({
      container,
      style: basemapStyle(options.theme),
      center: options.view ? [...options.view.center] : [-40, 22],
      zoom: options.view?.zoom ?? startZoom(container),
      maxZoom: this.#most,
      minZoom: -1,
      transformConstrain: (at, zoom) => inWorld(at, Math.min(zoom, this.#most), container),
      attributionControl: { compact: true },
      dragRotate: false,
      pitchWithRotate: false,
      rollEnabled: false,
      touchPitch: false,
      fadeDuration: 0,
      ...(large() > 1 ? { pixelRatio: pixels() } : {}), // which the style sheet makes larger
      validateStyle: false, // tests do
      locale: { "Map.Title": text.map.label },
    }));
    map.touchZoomRotate.disableRotation();
    map.keyboard.disableRotation();
    map.addControl(new maplibregl.ScaleControl({ maxWidth: 110 }), "bottom-left");
    // On a phone the credits would cover the map: a touch opens them again.
    if (container.clientWidth < 640) void map.once("idle", () => container.querySelector(".maplibregl-ctrl-attrib")?.classList.remove("maplibregl-compact-show"));
    map.on("style.load", () => this.#install());
    map.on("styleimagemissing", ({ id }) => this.#image(id));
    map.on("moveend", () => this.#moved());
    map.on("zoom", () => Math.abs(map.getZoom() - this.#zoom) >= STEP && this.#settle());
    map.on("idle", () => {
      this.listener.settled();
      if (this.#gaps) return;
      this.#fills = 0;
      this.listener.gaps(false);
    });
    this.#fewFrames();
    map.on("error", (e) => {
      // A part of the map that did not come leaves a gap, which is filled when the connection is back; the page tells of that.
      if (!("sourceId" in e)) return console.error(e.error);
      if (!this.#gaps) this.#fillAt = performance.now() + Math.min(1_000 * 2 ** this.#fills++, 15_000);
      this.#gaps = true;
      this.listener.gaps(true);
    });
    map.on("click", (e) => void this.#click(e));
    map.on("mousemove", (e) => this.#hover(e));
    map.on("mouseout", () => {
      clearTimeout(this.#pointed);
      this.listener.hovered(undefined, { x: 0, y: 0 });
    });
    this.#moved();
  }

  #reducedMotion: () => boolean;
  readonly #overlays = new Map<string, (map: maplibregl.Map, before: string) => void>();

  /**
   * Until the map is drawn once, or somebody moves it, it is drawn at most every FRAME: each part that comes would have a frame of its own, most of them
   * without anything to see, which keeps a phone from answering a touch.
   */
  #fewFrames(): void {
    const { map } = this;
    const paint = map.triggerRepaint.bind(map);
    let last = -FRAME;
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const draw = () => {
      waiting = undefined;
      last = performance.now();
      paint();
    };
    map.triggerRepaint = () => {
      waiting ??= setTimeout(draw, Math.max(0, last + FRAME - performance.now()));
    };
    const over = () => {
      clearTimeout(waiting);
      map.triggerRepaint = paint;
      paint();
    };
    void Promise.race([map.once("idle"), map.once("movestart")]).then(over);
  }

  remove(): void {
    clearTimeout(this.#pointed);
    this.#surface.end();
    clearInterval(this.#refreshing);
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

  /** Draws these hazards, and the surface of danger. */
  draw(shown: Shown): void {
    const before = this.#shown;
    this.#shown = shown;
    const drills = [...shown.hazards.values()].some(isDrill);
    this.#surface.show({ filter: shown.filter, at: shown.at, hazards: before && isEmpty(between(before.hazards, shown.hazards)) ? before.hazards : shown.hazards, drills });
    this.#settle();
  }

  /** Places the symbols for the zoom as it is. */
  #settle(): void {
    const shown = this.#shown;
    if (!this.#ready || !shown) return;
    const zoom = (this.#zoom = this.map.getZoom());
    const all = [...shown.hazards.values()].sort(byImportance(shown.places));
    const first = new Set(all.filter((h) => !isDrill(h) && h.severity_ID === "WARNING").slice(0, 3));
    const sizes = (this.#sizes = new Map<number, number>());
    const found = new Map<number, Placed>();
    for (const drills of [true, false]) {
      const spots: Spot[] = [];
      for (const h of all) {
        if (isDrill(h) !== drills) continue;
        const importance = shown.importance(h);
        const { rank } = severity(h.severity_ID);
        const mild = rank <= 2 && zoom < CLOSE;
        if (mild && rank === 2 && shown.hasArea(h) && !drills) continue;
        sizes.set(
          h.hazard_ID,
          drills || (importance ?? (rank === 4 ? SEVERE : 0)) >= SEVERE && !first.has(h) && !((importance ?? 0) >= WORST)
            ? SIZES[1]
            : first.has(h) || (importance ?? 0) >= WORST
            ? SIZES[0]
            : mild
            ? SIZES[3]
            : SIZES[2],
        );
        spots.push({ id: h.hazard_ID, longitude: h.longitude, latitude: h.latitude, rank, kept: (importance ?? 0) >= WORST && !drills });
      }
      const features: HazardFeature[] = [];
      for (const p of place(spots, zoom)) {
        const h = shown.hazards.get(p.spot.id)!;
        const known = shown.knownAs(h);
        found.set(p.spot.id, p);
        features.push({
          type: "Feature",
          id: h.hazard_ID,
          geometry: { type: "Point", coordinates: [h.longitude, h.latitude] },
          properties: {
            id: h.hazard_ID,
            icon: Images.symbolId(h.type_ID, h.category_ID, h.severity_ID),
            size: sizes.get(h.hazard_ID)!,
            sort: -features.length,
            more: p.more,
            where: known && zoom >= CLOSE ? text.list.only({ known: lands(known) }) : "",
          },
        });
      }
      this.#put(drills ? "drills" : "hazards", features);
    }
    this.#placed = found;
    this.#ringed();
  }

  /** Draws the areas of the selected hazard: those that came or changed, without those that went, by id. */
  changeAreas(came: readonly Area[], went: readonly number[]): void {
    for (const id of went) this.#areas.delete(id);
    for (const a of came) this.#areas.set(a.id as number, a);
    if (!this.#ready) return;
    this.#source("areas").updateData({ add: [...came], remove: [...went] });
    this.#fill("areas", this.#areas.size > 0);
  }

  /** Rings the selected hazard and the one that is pointed at. */
  setFocus(selected: Hazard | undefined, hovered: Hazard | undefined): void {
    this.#focused = [...(hovered && hovered !== selected ? [[hovered, "hovered"] as const] : []), ...(selected ? [[selected, "selected"] as const] : [])];
    this.#selected = selected?.hazard_ID ?? -1;
    if (!this.#ready) return;
    this.#ringed();
    for (const layer of SELECTED) this.map.setFilter(layer, ["==", ["get", "id"], this.#selected], UNCHECKED);
  }

  /** Rings what is selected, pointed at or new, in the size of its symbol. */
  #ringed(): void {
    const features = (list: readonly (readonly [Hazard, string])[]): Feature[] =>
      list.map(([h, kind]) => ({ type: "Feature", geometry: { type: "Point", coordinates: [h.longitude, h.latitude] }, properties: { kind, size: this.#size(h) } }));
    this.#put("focus", features(this.#focused));
    this.#put("fresh", features(this.#fresh.map((h) => [h, "fresh"])));
  }

  /** The size of a hazard's symbol; of one without, of the smaller ones. */
  #size(h: Hazard): number {
    return this.#sizes.get(h.hazard_ID) ?? SIZES[2];
  }

  /** Marks hazards that have just come or become worse. */
  setFresh(hazards: readonly Hazard[]): void {
    if (hazards.length === 0 && this.#fresh.length === 0) return;
    this.#fresh = hazards;
    if (this.#ready) this.#ringed();
  }

  /** Hatches where no official warnings are read. */
  setGaps(gaps: readonly Feature[]): void {
    this.#gapsShown = gaps;
    if (this.#ready) this.#put("gaps", gaps);
  }

  /** Shows the operator's layers of these names. */
  setLayers(names: readonly string[]): void {
    this.layers = names;
    if (this.#ready) putLayers(this.map, this.#layers, names, "gaps");
  }

  /** Reads again what changes with time, such as radar, when that is due. */
  #refreshLayers(): void {
    const now = performance.now();
    for (const l of this.#layers) {
      if (!l.refresh || !this.map.getSource(idOf(l))) continue;
      const before = this.#refreshed.get(l.name);
      if (before !== undefined && now - before >= 1_000 * l.refresh) this.map.refreshTiles(idOf(l));
      if (before === undefined || now - before >= 1_000 * l.refresh) this.#refreshed.set(l.name, now);
    }
  }

  /** Marks where the reader is. */
  setMe(at: readonly [longitude: number, latitude: number] | undefined): void {
    this.#me = at ? [{ type: "Feature", geometry: { type: "Point", coordinates: [...at] }, properties: {} }] : [];
    if (this.#ready) this.#put("me", this.#me);
  }

  /** All that the map shows now, in a frame of that size: the address of the picture, and where hazards are in it, as parts of its width and height. */
  picture({ width, height }: { readonly width: number; readonly height: number }, hazards: readonly Hazard[]): { readonly url: string; readonly places: readonly Place[] } {
    const { style } = this.map.getContainer();
    const [bounds, center, zoom] = [this.map.getBounds(), this.map.getCenter(), this.map.getZoom()];
    style.width = `${width}px`;
    style.height = `${height}px`;
    this.map.resize();
    this.map.fitBounds(bounds, { animate: false });
    this.map.redraw(); // what was drawn is gone once it is on the screen
    const url = this.map.getCanvas().toDataURL("image/png");
    const places = hazards.map((h) => this.at(h)).map(({ x, y }) => ({ x: x / width, y: y / height }));
    style.width = style.height = "";
    this.map.resize();
    this.map.jumpTo({ center, zoom });
    return { url, places };
  }

  /** What somebody is drawing: any GeoJSON, shown above all areas. */
  setDraft(draft: FeatureCollection | undefined): void {
    this.#draft = draft?.features ?? [];
    if (this.#ready) this.#put("draft", this.#draft);
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
    this.#surface.fill();
    if (!this.#gaps || performance.now() < this.#fillAt) return;
    this.#gaps = false;
    for (const id of ["base", "streets", ...this.#layers.map(idOf)]) if (this.map.getSource(id)) this.map.refreshTiles(id);
  }

  /** Where a hazard's point is on the screen. The map may show the world again on either side. */
  at({ longitude, latitude }: Hazard): Place {
    const turns = Math.round((this.map.getCenter().lng - longitude) / 360);
    return this.map.project([longitude + 360 * turns, latitude]);
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
  show(h: Hazard, area: Box | undefined, closer: boolean): void {
    area = withWinds(h, area);
    const motion = this.#reducedMotion() ? { animate: false } : { duration: 700 };
    if (area && (area[2] - area[0] > 0.01 || area[3] - area[1] > 0.01)) {
      this.map.fitBounds([...area], { padding: { top: 60, left: 60 + this.#covered.left, right: 60 + this.#covered.right, bottom: 60 + this.#covered.bottom }, maxZoom: 10, ...motion });
      return;
    }
    // A storm at sea is shown with the coasts around it: alone it would stand in nothing.
    const zoom = closer ? Math.max(this.map.getZoom(), h.type_ID === "CYCLONE" ? FROM_AFAR : h.type_ID === "EARTHQUAKE" ? FELT : 7) : this.map.getZoom();
    this.map.easeTo({ center: [h.longitude, h.latitude], zoom, offset: [(this.#covered.left - this.#covered.right) / 2, -this.#covered.bottom / 2], ...motion });
  }

  /** Whether a hazard is in the part of the window that nothing covers, with its area, and that is not too small to be seen. */
  frames(h: Hazard, area: Box | undefined): boolean {
    area = withWinds(h, area);
    if (!this.#shows(h.longitude, h.latitude)) return false;
    if (!area) return true;
    const [west, south, east, north] = area;
    const [a, b] = [this.map.project([west, south]), this.map.project([east, north])];
    return this.#shows(west, south) && this.#shows(east, north) && Math.max(b.x - a.x, a.y - b.y) >= SEEN;
  }

  /** Whether a point is in the part of the window that nothing covers. */
  #shows(longitude: number, latitude: number): boolean {
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
      this.#limitTo(MAX_ZOOM);
    } finally {
      this.#finding = false;
    }
  }

  #putStreets(): void {
    this.#streets?.code.putStreets(this.map, this.#streets.streets, this.#theme, this.#language.id);
  }

  #limitTo(zoom: number): void {
    this.#most = zoom;
    this.map.setMaxZoom(zoom);
  }

  /** Lets the map come as close as what lies in its middle has detail. */
  #limit(): void {
    if (!this.#streets) return;
    const { code, streets } = this.#streets;
    const c = this.map.getCenter();
    const most = code.covers(streets, c.lng, c.lat) ? Math.min(Math.max(streets.deepest + BEYOND, MAX_ZOOM), STREETS_END) : MAX_ZOOM;
    if (most !== this.#most) this.#limitTo(most);
  }

  world(): void {
    this.map.easeTo({ center: [this.map.getCenter().lng, 15], zoom: startZoom(this.map.getContainer()), animate: !this.#reducedMotion(), duration: 600 });
  }

  #source(id: string): GeoJSONSource {
    return this.map.getSource(id) as GeoJSONSource;
  }

  /** Shows features of a source of ours. For the same ones MapLibre would index them, and make all of their tiles, again. */
  #put(id: string, features: readonly Feature[]): void {
    const data = JSON.stringify(features);
    if (this.#data.get(id) === data) return;
    this.#data.set(id, data);
    this.#source(id).setData({ type: "FeatureCollection", features: features as Feature[] });
    this.#fill(id, data !== "[]");
  }

  /** Draws the layers of a source only while it has features: MapLibre asks its worker for tiles of an empty one too. */
  #fill(id: string, has: boolean): void {
    for (const layer of this.#layersOf.get(id) ?? []) this.map.setLayoutProperty(layer, "visibility", has ? "visible" : "none", UNCHECKED);
  }

  #image(id: string): void {
    const picture = this.#images.make(id, (better) => {
      if (!this.map.style?.getImage(id)) return; // a map that was removed has no style, and its own hasImage fails
      this.map.updateImage(id, better.data);
      this.map.triggerRepaint(); // MapLibre shows it when it draws for another reason
    });
    if (!picture || this.map.hasImage(id)) return;
    this.map.addImage(id, picture.data, { pixelRatio: picture.pixelRatio });
    // Each number is a picture of its own. What is drawn has a copy: the oldest is made again when it is needed again.
    if (!id.startsWith("more|")) return;
    this.#numbers.push(id);
    if (this.#numbers.length > NUMBERS) {
      const old = this.#numbers.shift()!;
      if (this.map.hasImage(old)) this.map.removeImage(old);
    }
  }

  /** Puts our sources and layers on the basemap; again after each change of it. */
  #install(): void {
    const map = this.map;
    const firstLabel = map.getStyle().layers.find((l) => l.type === "symbol")?.id;
    this.#surface.install(map, this.#theme, firstLabel);
    const source = (id: string, features: readonly Feature[] = [], tolerance = 0.375) => {
      map.style.addSource(id, { type: "geojson", data: { type: "FeatureCollection", features: features as Feature[] }, tolerance }, UNCHECKED);
      this.#data.set(id, JSON.stringify(features));
      this.#layersOf.set(id, []);
    };
    for (const id of HAZARD_SOURCES) source(id);
    source("areas", [...this.#areas.values()], 0.5);
    source("focus");
    source("fresh");
    source("gaps", this.#gapsShown, 0.5);
    source("me", this.#me);
    source("draft", this.#draft);

    const dark = this.#theme === "dark";
    const polygon: FilterSpecification = ["==", ["geometry-type"], "Polygon"];
    const add = (layer: Exclude<LayerSpecification, { type: "background" }>, before?: string) => {
      this.#layersOf.get(layer.source)!.push(layer.id);
      if (this.#data.get(layer.source) === "[]") layer = { ...layer, layout: { ...layer.layout, visibility: "none" } } as typeof layer;
      map.style.addLayer(layer, before, UNCHECKED);
    };

    const mark = dark ? "#ffffff" : "#0b2f57";
    add({ id: "gaps", type: "fill", source: "gaps", paint: { "fill-pattern": `gap|${this.#theme}`, "fill-opacity": 0.8 } }, "surface-fill-ADVISORY");
    // Of the selected hazard the exact area, above the surface.
    for (const [layer, color, width] of [["areas-selected-halo", dark ? "#0d141a" : "#ffffff", 8], ["areas-selected", mark, 4]] as const) {
      add({
        id: layer,
        type: "line",
        source: "areas",
        filter: ["==", ["get", "id"], this.#selected],
        layout: { "line-join": "round", "line-cap": "round" },
        paint: { "line-color": color, "line-width": width },
      }, firstLabel);
    }

    add({ id: "me", type: "circle", source: "me", paint: { "circle-radius": 7, "circle-color": "#0b63ce", "circle-stroke-color": "#ffffff", "circle-stroke-width": 3 } });
    add({ id: "draft-fill", type: "fill", source: "draft", filter: polygon, paint: { "fill-color": "#a21caf", "fill-opacity": 0.2 } });
    add({ id: "draft-line", type: "line", source: "draft", paint: { "line-color": "#a21caf", "line-width": 2.5, "line-dasharray": [2, 1.5] } });

    // A picture, as the symbols are: what draws it is ready when the first comes.
    add({
      id: "fresh",
      type: "symbol",
      source: "fresh",
      layout: { "icon-image": "ring|fresh", "icon-size": ["/", ["get", "size"], SYMBOL], "icon-allow-overlap": true, "icon-ignore-placement": true },
    });
    add({
      id: "focus-ring",
      type: "circle",
      source: "focus",
      paint: {
        "circle-radius": ["+", ["/", ["get", "size"], 2], 4],
        "circle-color": mark,
        "circle-opacity": ["case", ["==", ["get", "kind"], "selected"], 0.28, 0.14],
        "circle-stroke-width": ["case", ["==", ["get", "kind"], "selected"], 3, 2],
        "circle-stroke-color": mark,
      },
    });
    for (const source of HAZARD_SOURCES) {
      const shared = { "icon-allow-overlap": true, "icon-ignore-placement": true } as const;
      // No name of a town lies beneath a symbol.
      add({
        id: source,
        type: "symbol",
        source,
        layout: { "icon-allow-overlap": true, "icon-image": ["get", "icon"], "icon-size": ["/", ["get", "size"], SYMBOL], "symbol-sort-key": ["get", "sort"] },
      });
      add({
        id: `${source}-more`,
        type: "symbol",
        source,
        filter: [">", ["get", "more"], 0],
        layout: {
          ...shared,
          "icon-image": ["concat", "more|", ["to-string", ["get", "more"]]],
          "icon-offset": ["match", ["get", "size"], ...SIZES.flatMap((n) => [n, ["literal", [n / 2 + 3, n / 2 + 2]]]), ["literal", [14, 14]]] as unknown as ExpressionSpecification,
          "symbol-sort-key": ["get", "sort"],
        },
      });
      add({
        id: `${source}-where`,
        type: "symbol",
        source,
        filter: ["!=", ["get", "where"], ""],
        layout: { "text-field": ["get", "where"], "text-font": strong, "text-size": 12.5, "text-anchor": "top", "text-offset": [0, 1.6], "text-max-width": 12, "text-optional": true },
        paint: { "text-color": dark ? "#e8edf2" : "#10181f", "text-halo-color": dark ? "#0d141a" : "#ffffff", "text-halo-width": 2 },
      });
    }
    add({
      id: "draft-point",
      type: "circle",
      source: "draft",
      filter: ["==", ["geometry-type"], "Point"],
      paint: { "circle-radius": 7, "circle-color": "#a21caf", "circle-stroke-color": "#ffffff", "circle-stroke-width": 2 },
    });
    for (const draw of this.#overlays.values()) draw(map, "fresh");
    this.#ready = true;
    this.#settle();
    this.#putStreets();
    this.setLayers(this.layers);
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
    if (hits.length > 0) {
      // A touch lists all that a symbol stands for.
      this.listener.picked([...new Set(distinct(hits).flatMap((id) => this.#placed.get(id)?.ids ?? [id]))].slice(0, LISTED), e.point);
      return;
    }
    this.listener.picked(this.#areasAt(e.point, touch ? 6 : 3).slice(0, 30), e.point);
  }

  /** The hazards whose areas are at a place, the most severe first. */
  #areasAt(point: maplibregl.Point, slack: number): number[] {
    if (!this.#ready) return [];
    const { lng, lat } = this.map.unproject(point);
    const metersPerPixel = (EQUATOR * Math.cos((lat * Math.PI) / 180)) / (512 * 2 ** this.map.getZoom());
    const ids = [...new Set(areasAt(this.map, lng, lat, slack * metersPerPixel))].filter((id) => this.#shown?.hazards.has(id));
    return ids.map((id) => this.#shown!.hazards.get(id)!).sort(byImportance(this.#shown!.places)).map((h) => h.hazard_ID);
  }

  #hover(e: maplibregl.MapMouseEvent): void {
    clearTimeout(this.#pointed);
    if (this.map.isMoving()) return;
    const hits = this.#at(e.point, PICKED, 1);
    if (hits.length > 0) return this.#point(e, hits, []);
    // To find areas takes longer than to draw a frame: not while the pointer moves.
    this.#pointed = setTimeout(() => this.map.isMoving() || this.#point(e, [], this.#areasAt(e.point, 2)), RESTS);
  }

  #point(e: maplibregl.MapMouseEvent, hits: readonly MapGeoJSONFeature[], area: readonly number[]): void {
    const canvas = this.map.getCanvas();
    if (canvas.style.cursor !== "crosshair") canvas.style.cursor = hits.length + area.length > 0 ? "pointer" : "";
    const first = hits[0];
    this.listener.hovered(first ? Number(first.properties["id"]) : area[0], e.point);
  }
}

type Box = readonly [west: number, south: number, east: number, north: number];

/** What is to be seen of a hazard: of a storm the winds around it too. */
const withWinds = (h: Hazard, area: Box | undefined): Box | undefined =>
  area && h.type_ID === "CYCLONE"
    ? [Math.min(area[0], h.longitude - WINDS), Math.min(area[1], h.latitude - WINDS), Math.max(area[2], h.longitude + WINDS), Math.max(area[3], h.latitude + WINDS)]
    : area;

const distinct = (features: readonly MapGeoJSONFeature[]): number[] => [...new Set(features.map((f) => Number(f.properties["id"])))];

/** Here the map ends in the south: Antarctica would fill a quarter of it. */
const SOUTH = -58;

/** Keeps a window in the world, which is never shown twice: to the east and west it goes round, in the north and south it ends. A window that is high shows what it must of the south. */
function inWorld(at: maplibregl.LngLat, zoom: number, { clientWidth: width, clientHeight: height }: HTMLElement): { center: maplibregl.LngLat; zoom: number } {
  zoom = Math.max(zoom, Math.log2(Math.max(width, height, 256) / 512));
  const half = height / 2 / (512 * 2 ** zoom);
  const end = Math.max(maplibregl.MercatorCoordinate.fromLngLat([0, SOUTH]).y, 2 * half);
  const y = maplibregl.MercatorCoordinate.fromLngLat([0, Math.max(-85, Math.min(85, at.lat))]).y;
  const to = Math.min(Math.max(y, half), end - half);
  return { center: to === y ? at : new maplibregl.LngLat(at.lng, new maplibregl.MercatorCoordinate(0, to).toLngLat().lat), zoom };
}

/** The zoom at which the world fills a container. */
const startZoom = (container: HTMLElement): number => Math.min(2.4, Math.max(0.6, Math.log2(Math.max(container.clientWidth, 320) / 620)));
