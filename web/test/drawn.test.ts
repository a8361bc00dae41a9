import type { Position } from "geojson";
import { expect, test } from "vitest";
import { drawnOf, sideOf, type Shape, type Side } from "../src/map/drawn";

const shape = (role: string, more: Partial<Shape["properties"]> = {}): Shape => ({
  type: "Feature",
  geometry: { type: "Polygon", coordinates: [[[0, 0], [1, 0], [1, 1], [0, 0]]] },
  properties: { role, from: "2026-08-17T06:00:00Z", forecast: false, title: role, color: "#123456", source: "nhc", part: "1", ...more } as Shape["properties"],
});

test("contours are those of whole degrees that are felt, the worst first", () => {
  const { shown, lines } = drawnOf([3, 4, 5.5, 6].map((value) => shape("contour", { band: "intensity", value })));
  expect(shown).toHaveLength(2);
  expect(lines.map((l) => l.value)).toEqual(["6", "4"]);
});

test("winds that are expected are left out where those of now are known", () => {
  const now = shape("wind radius", { band: "wind_kmh", value: 118.5, unit: "km/h" });
  const expected = shape("wind radius", { band: "wind_kmh", value: 63, unit: "km/h", forecast: true });
  expect(drawnOf([now, expected]).lines.map((l) => [l.value, l.forecast])).toEqual([["119 km/h", false]]);
  expect(drawnOf([expected]).lines.map((l) => [l.value, l.forecast])).toEqual([["63 km/h", true]]);
});

test("a fire grows: the latest perimeter lies lowest and is lightest, and each has its time", () => {
  const { shown, lines } = drawnOf(["2026-08-17T06:00:00Z", "2026-08-19T06:00:00Z", "2026-08-18T06:00:00Z"].map((from) => shape("perimeter", { from })));
  expect(shown.map((s) => s.properties.from.slice(8, 10))).toEqual(["19", "18", "17"]);
  expect(new Set(shown.map((s) => s.properties.color)).size).toBe(3);
  expect(lines.map((l) => new Date(l.at!).getUTCDate())).toEqual([19, 18, 17]);
});

test("positions are on the map and not in the legend", () => {
  const { shown, lines } = drawnOf([shape("position", { forecast: true }), shape("track", { forecast: true })]);
  expect(shown).toHaveLength(2);
  expect(lines.map((l) => l.role)).toEqual(["track"]);
});

test.each(
  [
    ["northeast", [[-90, 29], [-89, 31], [-85, 34], [-79, 38]], ["top-left", "top-left", "top-left", "bottom-right"]],
    ["northwest", [[-80, 20], [-85, 23], [-90, 28]], ["top-right", "bottom-left", "bottom-left"]],
    ["west across 180 degrees", [[-178, 15], [179, 15], [176, 15]], ["bottom-right", "top-left", "top-left"]],
  ] satisfies [string, Position[], Side[]][],
)("times of a track to the %s do not stand on it, and not at the edge", (_, track, want) => expect(track.map((_, n) => sideOf(n, track))).toEqual(want));
