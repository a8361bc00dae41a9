import { expect, test } from "vitest";
import { operatorLayers, putLayers, sourceOf, type Layer } from "../src/layers";

const layer = (url: string, more: Partial<Layer> = {}): Layer => ({ name: "radar", title: "Radar", url, attribution: "DWD <b>", opacity: 0.7, ...more });
const page = "https://hazards.example/map/";

test.each([
  ["https://tiles.example/{z}/{x}/{y}.png", { tiles: ["https://tiles.example/{z}/{x}/{y}.png"] }],
  ["/radar/{z}/{x}/{y}.png", { tiles: ["https://hazards.example/radar/{z}/{x}/{y}.png"] }],
  ["https://tiles.example/radar.json", { url: "https://tiles.example/radar.json" }],
  ["https://tiles.example/sat.pmtiles?v=1", { url: "pmtiles://https://tiles.example/sat.pmtiles?v=1" }],
  ["/sat.pmtiles", { url: "pmtiles://https://hazards.example/sat.pmtiles" }],
])("a layer at %s", (url, want) => expect(sourceOf(layer(url), page)).toEqual({ type: "raster", tileSize: 256, attribution: "DWD &#60;b&#62;", ...want }));

test("zooms and size are told where the operator says them", () =>
  expect(sourceOf(layer("/{z}/{x}/{y}", { minzoom: 2, maxzoom: 9, size: 512 }), page)).toMatchObject({ minzoom: 2, maxzoom: 9, tileSize: 512 }));

test("the page names none", () => expect(operatorLayers("[]")).toEqual([]));

test("a map shows the chosen layers, and no others", () => {
  globalThis.location ??= new URL(page) as unknown as Location;
  const sources = new Map<string, unknown>();
  const layers: string[] = [];
  const map = {
    getSource: (id: string) => sources.get(id),
    addSource: (id: string, s: unknown) => sources.set(id, s),
    addLayer: (l: { id: string }, before: string) => layers.push(`${l.id} beneath ${before}`),
    removeLayer: (id: string) => layers.splice(layers.findIndex((l) => l.startsWith(id)), 1),
    removeSource: (id: string) => sources.delete(id),
  };
  const all = [layer("/{z}/{x}/{y}"), layer("/wind.json", { name: "wind" })];
  const put = (...names: string[]) => putLayers(map as never, all, names, "gaps");
  put("wind", "gone");
  put("wind");
  expect(layers).toEqual(["layer-wind beneath gaps"]);
  put("radar");
  expect([layers, [...sources.keys()]]).toEqual([["layer-radar beneath gaps"], ["layer-radar"]]);
});
