import { describe, expect, test } from "vitest";
import { meets, touches } from "../src/place";
import type { Geometry } from "geojson";

const square = (west: number, south: number, east: number, north: number): Geometry => ({
  type: "Polygon",
  coordinates: [[[west, south], [east, south], [east, north], [west, north], [west, south]]],
});
/** A large square whose northeast is missing. */
const corner: Geometry = { type: "Polygon", coordinates: [[[0, 0], [10, 0], [10, 1], [1, 1], [1, 10], [0, 10], [0, 0]]] };
const ring: Geometry = { type: "Polygon", coordinates: [...(square(0, 0, 10, 10) as { coordinates: number[][][] }).coordinates, [[2, 2], [2, 8], [8, 8], [8, 2], [2, 2]]] };
const fiji: Geometry = { type: "MultiPolygon", coordinates: [[[[178, -18], [180, -18], [180, -16], [178, -16], [178, -18]]], [[[-180, -18], [-179, -18], [-179, -16], [-180, -16], [-180, -18]]]] };

describe("a geometry touches the window", () => {
  test.each(
    [
      ["that it contains", square(-120, 33, -116, 36), [-118.5, 34, -118, 34.2], true],
      ["that contains it", square(1, 1, 2, 2), [0, 0, 10, 10], true],
      ["that it crosses without a corner inside", square(-50, 4, 50, 6), [0, 0, 10, 10], true],
      ["not with its box alone", corner, [5, 5, 6, 6], false],
      ["not with its hole", ring, [4, 4, 6, 6], false],
      ["across its hole's edge", ring, [1, 4, 3, 6], true],
      ["beyond the antimeridian", fiji, [179.5, -17.5, 180.5, -17], true],
      ["a turn of the world further", fiji, [-181.5, -17.5, -180.5, -17], true],
      ["not at the other end of the world", fiji, [-10, -20, 10, 20], false],
      ["that shows the world more than once", square(1, 1, 2, 2), [-400, -80, 200, 80], true],
      ["as a track", { type: "LineString", coordinates: [[-20, 0], [20, 8]] } as Geometry, [0, 0, 5, 5], true],
      ["as a point", { type: "Point", coordinates: [3, 3] } as Geometry, [0, 0, 5, 5], true],
    ] as const,
  )("%s", (_, g, window, want) => expect(touches(window, g)).toBe(want));
});

test.each(
  [
    [[178, -18, -179, -16], [-179.5, -17, -179.2, -16.5], true],
    [[178, -18, -179, -16], [179.5, -17, 180.5, -16.5], true],
    [[178, -18, -179, -16], [0, -17, 10, -16], false],
    [[0, 0, 1, 1], [360.2, 0, 360.4, 1], true],
    [[0, 0, 1, 1], [2, 0, 3, 1], false],
  ] as const,
)("box %j meets window %j: %s", (box, window, want) => expect(meets(window, box)).toBe(want));
