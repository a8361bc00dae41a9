// The operator's layers of pictures (docs/map.md): satellite, radar, wind, streets. They lie on the ground and beneath the surface of danger, and are
// shown when the reader chooses them; the choice is kept on the device.
import type { Map as MapLibre, RasterSourceSpecification } from "maplibre-gl";

export interface Layer {
  readonly name: string;
  readonly title: string;
  /** Of tiles with {z}, {x} and {y}, of a PMTiles archive, or of a document in TileJSON. */
  readonly url: string;
  readonly attribution: string;
  readonly minzoom?: number;
  readonly maxzoom?: number;
  /** CSS pixels. */
  readonly size?: number;
  readonly opacity: number;
  /** Seconds. */
  readonly refresh?: number;
}

const KEY = "hazardd.layers";

/** The layers that the page names. */
export const operatorLayers = (said = document.querySelector<HTMLMetaElement>('meta[name="hazardd-layers"]')?.content): readonly Layer[] => said ? JSON.parse(said) : [];

/** The names of the layers that the reader has chosen. */
export function chosenLayers(): readonly string[] {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "[]");
  } catch {
    return []; // storage may be forbidden
  }
}

export function chooseLayers(names: readonly string[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(names));
  } catch {
    // The choice holds until the page is closed.
  }
}

const escaped = (words: string): string => words.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

/** The id of a layer, and of its source. */
export const idOf = (l: Layer): string => `layer-${l.name}`;

/** Where MapLibre reads a layer. An address with braces is not written by URL, which would write them in another way. */
export function sourceOf(l: Layer, page: string): RasterSourceSpecification {
  const url = l.url.startsWith("/") ? new URL(page).origin + l.url : l.url;
  return {
    type: "raster",
    ...(url.includes("{z}") ? { tiles: [url] } : { url: /\.pmtiles($|\?)/.test(url) ? `pmtiles://${url}` : url }),
    tileSize: l.size ?? 256,
    ...(l.minzoom === undefined ? {} : { minzoom: l.minzoom }),
    ...(l.maxzoom === undefined ? {} : { maxzoom: l.maxzoom }),
    attribution: escaped(l.attribution),
  };
}

/** Shows the layers of these names on a map, and no others; `before` is the layer that they lie beneath. */
export function putLayers(map: MapLibre, layers: readonly Layer[], names: readonly string[], before: string): void {
  for (const l of layers) {
    const id = idOf(l);
    const there = map.getSource(id) !== undefined;
    if (names.includes(l.name) === there) continue;
    if (there) {
      map.removeLayer(id);
      map.removeSource(id);
    } else {
      map.addSource(id, sourceOf(l, location.href));
      map.addLayer({ id, type: "raster", source: id, paint: { "raster-opacity": l.opacity, "raster-fade-duration": 0 } }, before);
    }
  }
}
