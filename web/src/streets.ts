// The operator's basemap with streets (docs/map.md): tiles of OpenStreetMap with the layers of Protomaps' basemap
// (https://docs.protomaps.com/basemaps/layers). It lies on the ground of basemap.ts from the zoom on where that has no more detail, and has its colours.
// It is loaded when the map comes that close.
import type maplibregl from "maplibre-gl";
import type { ExpressionSpecification, FilterSpecification, LayerSpecification, VectorSourceSpecification } from "maplibre-gl";
// What joins and orders the letters of Arabic and Hebrew; the package exports another file, which is a module.
import rtlAddress from "../node_modules/@mapbox/mapbox-gl-rtl-text/dist/mapbox-gl-rtl-text.js?url";
import { byZoom, due, palettes, regular, strong, openArchive } from "./basemap";
import type { Bounds } from "./filter";

/** What the page says of the basemap: tiles of the server, or an archive that the browser reads by itself. */
export type Said =
  | { readonly tiles: string; readonly minzoom: number; readonly maxzoom: number; readonly bounds: Bounds; readonly attribution: string }
  | { readonly archive: string };

export interface Streets {
  readonly source: VectorSourceSpecification;
  /** The last zoom with tiles. */
  readonly deepest: number;
  readonly bounds: Bounds;
}

/** From here on streets are drawn: the ground's last tiles are of the zoom before. */
const FROM = 8;
export const SOURCE = "streets";

/** Colors in addition to those of the ground. */
export const colours = {
  light: { green: "#e9eddf", built: "#efece6", building: "#e4e0d8", road: "#ffffff", edge: "#d5cfc4", path: "#d9d3c8" },
  dark: { green: "#202c2d", built: "#262e37", building: "#2c353f", road: "#38434e", edge: "#181f26", path: "#38434e" },
} satisfies Record<"light" | "dark", Record<string, string>>;

/** Plain text of HTML: an archive's own text is shown but never run. */
const plain = (html: string): string => new DOMParser().parseFromString(html.replace(/<[^>]*>/g, ""), "text/html").body.textContent.trim();
const escaped = (words: string): string => words.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

/** The attribution: OpenStreetMap's, as its license demands, and what the archive adds. */
export function credits(own: string): string {
  const words = plain(own);
  const more = /^(©\s*)?OpenStreetMap( contributors)?\.?$/i.test(words) ? "" : words;
  return `© <a href="https://www.openstreetmap.org/copyright" target="_blank" rel="noopener">OpenStreetMap contributors</a>${more ? ` · ${escaped(more)}` : ""}`;
}

let shaped = false;

/**
 * Reads what the basemap contains. Throws if an archive is unreadable. `shape` is MapLibre's
 * function that sets the code for right-to-left names, which is loaded when the first one is drawn.
 */
export async function findStreets(said: Said, shape: typeof maplibregl.setRTLTextPlugin): Promise<Streets> {
  if (!shaped) {
    shaped = true; // once a page
    void shape(rtlAddress, true).catch(() => {});
  }
  if ("tiles" in said) {
    return {
      // Not by URL, which would write the braces in another way.
      source: {
        type: "vector",
        tiles: [new URL(".", location.href).href + said.tiles],
        minzoom: said.minzoom,
        maxzoom: said.maxzoom,
        bounds: [...said.bounds],
        attribution: credits(said.attribution),
      },
      deepest: said.maxzoom,
      bounds: said.bounds,
    };
  }
  const archive = openArchive(said.archive);
  const [head, about] = [await archive.getHeader(), (await archive.getMetadata()) as { attribution?: unknown }];
  if (head.tileType !== 1) throw new Error(`${said.archive} holds tiles of type ${head.tileType}; expected 1 (vector tiles)`);
  const bounds: Bounds = [head.minLon, head.minLat, head.maxLon, head.maxLat];
  return {
    source: {
      type: "vector",
      tiles: [`pmtiles://${said.archive}/{z}/{x}/{y}`],
      minzoom: head.minZoom,
      maxzoom: head.maxZoom,
      bounds: [...bounds],
      attribution: credits(typeof about.attribution === "string" ? about.attribution : ""),
    },
    deepest: head.maxZoom,
    bounds,
  };
}

/**
 * The layers of ground and streets, which lie below the ground's towns, and the layers of labels.
 */
export function streetLayers(theme: "light" | "dark", language: string): { ground: LayerSpecification[]; words: LayerSpecification[] } {
  const [c, own] = [palettes[theme], colours[theme]];
  // Version 4 of the schema says kind; archives of older ones say pmap:kind.
  const kind: ExpressionSpecification = ["coalesce", ["get", "kind"], ["get", "pmap:kind"], ""];
  const of = (...kinds: string[]): ExpressionSpecification => ["in", kind, ["literal", kinds]];
  const is = (type: "Polygon" | "LineString" | "Point"): ExpressionSpecification => ["==", ["geometry-type"], type];
  const layer = (id: string, from: string) => ({ id: `streets-${id}`, source: SOURCE, "source-layer": from, minzoom: FROM });
  const fill = (id: string, from: string, colour: string, filter: FilterSpecification, minzoom = FROM): LayerSpecification => (
    { ...layer(id, from), type: "fill", minzoom, filter, paint: { "fill-color": colour } }
  );
  const line = (id: string, from: string, colour: string, width: ExpressionSpecification, filter: FilterSpecification, minzoom = FROM, dash?: number[]): LayerSpecification => (
    {
      ...layer(id, from),
      type: "line",
      minzoom,
      filter,
      layout: { "line-join": "round", "line-cap": dash ? "butt" : "round" },
      paint: { "line-color": colour, "line-width": width, ...(dash ? { "line-dasharray": dash } : {}) },
    }
  );
  // In the reader's language, otherwise the local name, otherwise English. Names that MapLibre
  // cannot render are left out.
  const local: ExpressionSpecification = ["coalesce", ["get", `name:${language}`], ["get", "name"], ""];
  // Names that begin with a letter of Hebrew, Arabic or their kin wait for the code that writes them, which they make MapLibre load.
  const rtl: ExpressionSpecification = ["all", [">=", ["to-string", local], "\u0590"], ["<", ["to-string", local], "\u0900"]];
  const name: ExpressionSpecification = ["case", ["any", ["is-supported-script", local], rtl], local, ["coalesce", ["get", "name:en"], ""]];
  const paint = (colour: string, halo = c.land) => ({ "text-color": colour, "text-halo-color": halo, "text-halo-width": 1.2, "text-halo-blur": 0.4 });
  const disputed: ExpressionSpecification = ["to-boolean", ["coalesce", ["get", "disputed"], false]];
  const major = byZoom(FROM, 0.6, 11, 1.4, 14, 5, 18, 22);
  const minor = byZoom(12, 0.6, 14, 2.4, 18, 14);
  const wider = byZoom(FROM, 1.4, 11, 2.6, 14, 6.6, 18, 24);
  const minorWider = byZoom(12, 1.2, 14, 3.8, 18, 16);
  return {
    ground: [
      fill("earth", "earth", c.land, is("Polygon")),
      fill("built", "landuse", own.built, ["all", is("Polygon"), of("residential", "commercial", "industrial", "hospital", "school", "university", "college", "railway", "aerodrome", "military")]),
      fill("green", "landuse", own.green, ["all", is("Polygon"), of(
        "park",
        "forest",
        "wood",
        "nature_reserve",
        "national_park",
        "protected_area",
        "cemetery",
        "grass",
        "grassland",
        "meadow",
        "scrub",
        "golf_course",
        "recreation_ground",
        "allotments",
        "village_green",
        "garden",
      )]),
      fill("water", "water", c.sea, is("Polygon")),
      line("stream", "water", c.sea, byZoom(FROM, 0.8, 14, 2.5), is("LineString")),
      fill("buildings", "buildings", own.building, is("Polygon"), 13),
      line("path", "roads", own.path, byZoom(13, 0.6, 18, 3), of("path"), 13, [3, 2]),
      line("rail", "roads", own.edge, byZoom(10, 0.6, 18, 2.5), of("rail"), 10),
      line("ferry", "roads", c.shelf, byZoom(FROM, 0.8, 16, 1.6), of("ferry"), FROM, [4, 3]),
      line("runway", "roads", own.edge, byZoom(10, 0.8, 14, 8, 18, 40), of("aeroway"), 10),
      line("minor-edge", "roads", own.edge, minorWider, of("minor_road", "other"), 12),
      line("major-edge", "roads", own.edge, wider, of("highway", "major_road", "medium_road")),
      line("minor", "roads", own.road, minor, of("minor_road", "other"), 12),
      line("major", "roads", own.road, major, of("highway", "major_road", "medium_road")),
      line("border", "boundaries", c.border, byZoom(FROM, 1.5, 14, 2.2), ["all", of("country"), ["!", disputed]]),
      line("border-disputed", "boundaries", c.border, byZoom(FROM, 1.5, 14, 2.2), ["all", of("country"), disputed], FROM, [3, 2.5]),
      line("province", "boundaries", c.province, byZoom(FROM, 1.1, 14, 1.6), of("region")),
    ],
    words: [
      {
        ...layer("label-road", "roads"),
        type: "symbol",
        minzoom: 13,
        filter: ["all", is("LineString"), of("highway", "major_road", "medium_road", "minor_road")],
        layout: { "symbol-placement": "line", "text-field": name, "text-font": regular, "text-size": byZoom(13, 10.5, 18, 13), "text-padding": 4 },
        paint: paint(c.city, own.road),
      },
      {
        ...layer("label-water", "water"),
        type: "symbol",
        minzoom: 11,
        filter: is("Point"),
        layout: { "text-field": name, "text-font": regular, "text-size": 11.5, "text-max-width": 7, "text-letter-spacing": 0.05 },
        paint: paint(c.water, c.sea),
      },
      {
        ...layer("label-place", "places"),
        type: "symbol",
        filter: ["all", is("Point"), of("locality", "neighbourhood", "macrohood", "borough"), ["<=", ["coalesce", ["get", "min_zoom"], 0], ["zoom"]]],
        layout: {
          "text-field": name,
          "text-font": ["case", of("locality"), ["literal", strong], ["literal", regular]],
          "text-size": ["interpolate", ["linear"], ["zoom"], FROM, ["case", of("locality"), 12, 10.5], 14, ["case", of("locality"), 15, 12.5]],
          "text-max-width": 8,
          "text-padding": 3,
          "symbol-sort-key": ["-", 0, ["coalesce", ["to-number", ["get", "population_rank"]], 0]],
        },
        paint: paint(c.city),
      },
    ],
  };
}

/** Whether streets are drawn at a place. */
export const covers = ({ bounds: [west, south, east, north] }: Streets, longitude: number, latitude: number): boolean => {
  const x = ((((longitude + 180) % 360) + 360) % 360) - 180;
  return x >= west && x <= east && latitude >= south && latitude <= north;
};

/** Draws the streets on a map that has the ground. */
export function putStreets(map: maplibregl.Map, streets: Streets, theme: "light" | "dark", language: string): void {
  if (map.getSource(SOURCE)) return;
  const ids = map.getStyle().layers.map((l) => l.id);
  const next = ids[ids.indexOf("base-label-country") + 1]; // words lie above the ground's, and below all hazards
  const { ground, words } = streetLayers(theme, language);
  map.addSource(SOURCE, streets.source);
  for (const l of ground) map.addLayer(l, "base-dot");
  for (const l of words) map.addLayer(l, next);
  // Where there are streets, their towns take the place of the ground's.
  const [west, south, east, north] = streets.bounds;
  const area = { type: "Polygon" as const, coordinates: [[[west, south], [east, south], [east, north], [west, north], [west, south]]] };
  for (const id of ["base-dot", "base-label-city"]) map.setFilter(id, ["all", due, ["any", ["<", ["zoom"], FROM], ["!", ["within", area]]]] as FilterSpecification);
}
