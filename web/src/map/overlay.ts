// What is drawn beside the hazards, and taken off again.
import type { MapView } from "./view";

/** Takes an overlay off the map: its sources, and the layers that draw them. */
export function takeOff(view: MapView, id: string, sources: readonly string[]): void {
  view.overlay(id, undefined);
  const { map } = view;
  for (const layer of map.getLayersOrder().filter((l) => sources.includes(map.getLayer(l)?.source ?? ""))) map.removeLayer(layer);
  for (const source of sources) if (map.getSource(source)) map.removeSource(source);
}
