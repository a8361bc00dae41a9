// The basemap under the hazards. It comes from the page's own server, in one archive of vector
// tiles (basemap/README.md), and needs no glyphs and no sprite: MapLibre draws letters with the
// reader's fonts.
//
// Its colors are pale, so that the symbols' red, yellow, green, blue and gray stand out.
import type { AddProtocolAction, ExpressionSpecification, LayerSpecification, StyleSpecification, SymbolLayerSpecification } from "maplibre-gl";
import { FetchSource, PMTiles, Protocol, SharedPromiseCache, type Header, type RangeResponse, type Source } from "pmtiles";
import archive from "../basemap/dist/world.pmtiles?url";
import type { View } from "./url";

/** Whose work is shown, for the map's attribution control. Natural Earth asks for nothing; GeoNames' licence asks for its name. */
export const attribution = 'Made with <a href="https://www.naturalearthdata.com/" target="_blank" rel="noopener">Natural Earth</a>' +
  ' · towns: <a href="https://www.geonames.org/" target="_blank" rel="noopener">GeoNames</a> (CC BY)';

/** The last zoom with tiles of its own: basemap/build.mjs, DEEPEST. */
export const DEEPEST = 7;

/** Colours. Words have a contrast of 4.5 or more (WCAG 2.2, 1.4.3) to all that they may lie on: a test measures it. */
export const palettes = {
  light: {
    sea: "#d6e0e7",
    shelf: "#c6d3dc",
    land: "#f4f3ef",
    river: "#c5d3dc",
    border: "#b3aca1",
    province: "#ddd8cf",
    dot: "#8b867e",
    country: "#555a61",
    city: "#4c5057",
    water: "#4d6577",
  },
  dark: {
    sea: "#0f151b",
    shelf: "#18212a",
    land: "#222a33",
    river: "#19222b",
    border: "#566270",
    province: "#333d48",
    dot: "#7d8894",
    country: "#a3adb8",
    city: "#b6bfc9",
    water: "#7e93a6",
  },
} satisfies Record<"light" | "dark", Record<string, string>>;

// Plain local fonts, so that each system has one of them. With some fonts, such as system-ui,
// MapLibre cuts off the bottom of letters such as J. The first name is not a font; MapLibre derives
// the weight from it.
const fonts = ["Segoe UI", "Roboto", "Helvetica Neue", "Arial", "Liberation Sans", "sans-serif"];
export const regular = ["hazardd Regular", ...fonts];
export const strong = ["hazardd Semibold", ...fonts];

/** A cache that forgets what did not come, so that it is asked for again. The library's own keeps a failure for ever. */
class Cache extends SharedPromiseCache {
  override getHeader(source: Source): Promise<Header> {
    return this.#orForget(super.getHeader(source), source.getKey());
  }

  override getDirectory(source: Source, offset: number, length: number, header: Header, signal?: AbortSignal) {
    return this.#orForget(super.getDirectory(source, offset, length, header, signal), `${source.getKey()}|${header.etag ?? ""}|${offset}|${length}`);
  }

  async #orForget<T>(reading: Promise<T>, key: string): Promise<T> {
    try {
      return await reading;
    } catch (error) {
      this.cache.delete(key);
      throw error;
    }
  }
}

/**
 * Reads each part of an archive at an address of its own. Of parts at one address Chromium asked for most again at each visit over a slow line:
 * it seems to keep none while another one of the file is under way for long.
 */
class Parts extends FetchSource {
  readonly #coming = new Map<string, Promise<RangeResponse>>();
  /** The beginning of the archive, which is read first and holds the directories of low zooms too. */
  #begin: RangeResponse | undefined;

  override getBytes(offset: number, length: number, signal?: AbortSignal, etag?: string): Promise<RangeResponse> {
    if (this.#begin && offset + length <= this.#begin.data.byteLength) return Promise.resolve({ ...this.#begin, data: this.#begin.data.slice(offset, offset + length) });
    const key = `${offset}-${length}`;
    const coming = this.#coming.get(key);
    if (coming) return coming;
    const reading = new FetchSource(`${this.url}?${key}`).getBytes(offset, length, signal, etag).then((part) => (offset === 0 ? (this.#begin = part) : part));
    if (signal) return reading;
    this.#coming.set(key, reading); // what is asked for ahead is not asked for twice
    return reading.finally(() => this.#coming.delete(key));
  }
}

/** An archive of tiles. */
export const openArchive = (address: string): PMTiles => new PMTiles(address, new Cache());

const address = (): string => new URL(archive, location.href).href;

/** The archive of the ground, one for the page. */
const ground = (() => {
  let made: PMTiles | undefined;
  return () => (made ??= new PMTiles(new Parts(address()), new Cache()));
})();

/** Makes MapLibre read the archive. Call it once, before the first map with the style. */
export function registerBasemap(maplibregl: { addProtocol(name: string, load: AddProtocolAction): void }): void {
  const protocol = new Protocol();
  protocol.add(ground());
  maplibregl.addProtocol("pmtiles", protocol.tile);
}

/** Reads the beginning of the archive, and the ground of a window of that size, CSS pixels, into the browser's cache before there is a map: to make one keeps the page busy. */
export function groundAhead(view: View | undefined, size: Size): void {
  ground().getHeader().catch(() => {});
  for (const tile of view ? tilesOf(view, size, DEEPEST) : []) ground().getZxy(...tile).catch(() => {}); // the map asks again
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Where a tile is. */
export type Tile = readonly [z: number, x: number, y: number];

/** The tiles of a window of that size, CSS pixels; none deeper than that zoom. */
export function tilesOf({ center: [longitude, latitude], zoom }: View, { width, height }: Size, deepest: number): Tile[] {
  // In Mercator's square, each from 0 to 1.
  const at = { x: (longitude + 180) / 360, y: 0.5 - Math.log(Math.tan(Math.PI / 4 + (latitude * Math.PI) / 360)) / (2 * Math.PI) };
  const z = Math.min(Math.max(Math.floor(zoom), 0), deepest);
  const n = 2 ** z;
  const edge = 512 * 2 ** (zoom - z);
  const range = (middle: number, size: number): number[] => {
    const from = Math.floor(middle * n - size / 2 / edge);
    return Array.from({ length: Math.min(Math.floor(middle * n + size / 2 / edge) - from + 1, n) }, (_, i) => from + i);
  };
  return range(at.y, height).filter((y) => y >= 0 && y < n).flatMap((y) => range(at.x, width).map((x): Tile => [z, ((x % n) + n) % n, y]));
}

export const byZoom = (...stops: number[]): ExpressionSpecification => ["interpolate", ["linear"], ["zoom"], ...stops];
// Each place has the zooms between which it is shown: from the first up to, but not including, the
// last.
export const due: ExpressionSpecification = ["<=", ["get", "from"], ["zoom"]];
const notOver: ExpressionSpecification = [">", ["get", "to"], ["zoom"]];
const disputed: ExpressionSpecification = ["has", "disputed"];
const large: ExpressionSpecification = ["<", ["get", "rank"], 130];

/**
 * The complete style; the caller adds its own sources and layers. Ids of layers begin with "base-",
 * those of labels with "base-label-".
 */
export function basemapStyle(theme: "light" | "dark"): StyleSpecification {
  const c = palettes[theme];
  const source = { source: "base" } as const;
  const borderWidth = byZoom(0, 0.4, 4, 0.9, 8, 1.5);
  const label = (layer: string, filter: ExpressionSpecification, layout: SymbolLayerSpecification["layout"], colour: string, halo: string): LayerSpecification => ({
    id: `base-label-${layer}`,
    type: "symbol",
    ...source,
    "source-layer": layer,
    filter,
    layout: { "text-field": ["get", "name"], ...layout },
    paint: { "text-color": colour, "text-halo-color": halo, "text-halo-width": layer === "city" ? 2.4 : 1.2, "text-halo-blur": 0.4 },
  });
  return {
    version: 8,
    sources: {
      base: { type: "vector", tiles: [`pmtiles://${address()}/{z}/{x}/{y}`], minzoom: 0, maxzoom: DEEPEST, attribution },
    },
    layers: [
      { id: "base-sea", type: "background", paint: { "background-color": c.sea } },
      // Under the land: only its outer half is seen, and where the data are cut, at 180°, the land hides it.
      { id: "base-shelf", type: "line", ...source, "source-layer": "land", layout: { "line-join": "bevel" }, paint: { "line-color": c.shelf, "line-width": byZoom(0, 1.2, 4, 2.4, 8, 4) } },
      { id: "base-land", type: "fill", ...source, "source-layer": "land", paint: { "fill-color": c.land } },
      { id: "base-river", type: "line", ...source, "source-layer": "river", minzoom: 4, paint: { "line-color": c.river, "line-width": byZoom(4, 0.5, 8, 1.6) } },
      { id: "base-province", type: "line", ...source, "source-layer": "province", minzoom: 3, filter: due, paint: { "line-color": c.province, "line-width": byZoom(3, 0.5, 8, 1.1) } },
      { id: "base-lake", type: "fill", ...source, "source-layer": "lake", paint: { "fill-color": c.sea, "fill-outline-color": c.shelf } },
      { id: "base-border", type: "line", ...source, "source-layer": "border", filter: ["!", disputed], paint: { "line-color": c.border, "line-width": borderWidth } },
      { id: "base-border-disputed", type: "line", ...source, "source-layer": "border", filter: disputed, paint: { "line-color": c.border, "line-width": borderWidth, "line-dasharray": [3, 2.5] } },
      {
        id: "base-dot",
        type: "circle",
        ...source,
        "source-layer": "city",
        filter: due,
        paint: { "circle-radius": ["case", ["has", "capital"], 2.4, 1.7], "circle-color": c.land, "circle-stroke-color": c.dot, "circle-stroke-width": ["case", ["has", "capital"], 1.4, 1] },
      },
      // MapLibre places the labels of upper layers first: countries before towns before seas.
      label("sea", ["all", due, notOver], { "text-font": regular, "text-size": byZoom(1, 11, 4, 12.5, 7, 14), "text-letter-spacing": 0.08, "text-max-width": 7, "text-padding": 6 }, c.water, c.sea),
      label(
        "city",
        due,
        {
          "text-font": regular,
          "text-size": ["interpolate", ["linear"], ["zoom"], 2, 10.5, 6, ["case", [">", ["get", "people"], 1e6], 13, 11.5], 11, ["case", [">", ["get", "people"], 1e5], 15, 12.5]],
          "text-variable-anchor": ["left", "right", "top", "bottom"],
          "text-radial-offset": 0.45,
          "text-justify": "auto",
          "text-max-width": 8,
          "text-padding": 3,
          "symbol-sort-key": ["get", "from"],
        },
        c.city,
        c.land,
      ),
      label(
        "country",
        ["all", due, notOver],
        {
          "text-font": strong,
          "text-size": ["interpolate", ["linear"], ["zoom"], 1, 10.5, 4, ["case", large, 12.5, 11], 7, ["case", large, 15, 12.5]],
          "text-letter-spacing": 0.03,
          "text-max-width": 7,
          "text-padding": 4,
          "symbol-sort-key": ["get", "rank"],
        },
        c.country,
        c.land,
      ),
    ],
  };
}
