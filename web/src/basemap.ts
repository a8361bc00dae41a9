// The style of the map beneath the hazards.
import type { AddProtocolAction, StyleSpecification } from "maplibre-gl";

/** A plain background. */
export function basemapStyle(theme: "light" | "dark"): StyleSpecification {
  return { version: 8, sources: {}, layers: [{ id: "background", type: "background", paint: { "background-color": theme === "light" ? "#dfe6ec" : "#10181f" } }] };
}

/** Makes MapLibre read what the style names. Call it once, before the first map with the style. */
export function registerBasemap(_maplibregl: { addProtocol(name: string, load: AddProtocolAction): void }): void {}
