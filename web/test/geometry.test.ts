import { describe, expect, test } from "vitest";
import { circle, contains, distance, extent, formatCorner, parseCorners, polygon, squareKilometres, wrap } from "../src/geometry";
import { comparison } from "../src/edit/size";

describe("the size of an area", () => {
  test("of a degree at the equator is that of the sphere", () => {
    // 2πR²·sin(1°)/360: the exact area between two parallels, a 360th of it.
    const exact = (2 * Math.PI * 6371.0088 ** 2 * Math.sin(Math.PI / 180)) / 360;
    expect(squareKilometres(polygon([[0, 0], [1, 0], [1, 1], [0, 1]]))).toBeCloseTo(exact, 3);
  });
  test("is the same on both sides of the antimeridian, and across it", () => {
    const at = (west: number) => squareKilometres(polygon([[wrap(west), 10], [wrap(west + 4), 10], [wrap(west + 4), 12], [wrap(west), 12]]));
    expect(at(178)).toBeCloseTo(at(0), 3);
    expect(at(-182)).toBeCloseTo(at(0), 3);
  });
  test("leaves holes out, and takes parts together", () => {
    const outer = polygon([[0, 0], [2, 0], [2, 2], [0, 2]]).coordinates[0]!;
    const hole = polygon([[0.5, 0.5], [1, 0.5], [1, 1], [0.5, 1]]).coordinates[0]!;
    const whole = squareKilometres({ type: "Polygon", coordinates: [outer] });
    const inner = squareKilometres({ type: "Polygon", coordinates: [hole] });
    expect(squareKilometres({ type: "Polygon", coordinates: [outer, [...hole].reverse()] })).toBeCloseTo(whole - inner, 6);
    expect(squareKilometres({ type: "MultiPolygon", coordinates: [[outer], [hole]] })).toBeCloseTo(whole + inner, 6);
  });
  test.each([
    [10, 53.5, 10_000],
    [179.98, -17, 50_000],
    [0, 0, 1_000_000],
    [-71, 68, 250_000],
  ])("of a circle at %d, %d with a radius of %d m is that of its cap, but for the corners", (x, y, r) => {
    const cap = 2 * Math.PI * 6371.0088 ** 2 * (1 - Math.cos(r / 6_371_008.8));
    const size = squareKilometres(circle([x, y], r));
    expect(size / cap).toBeGreaterThan(0.99);
    expect(size / cap).toBeLessThan(1.005);
  });
});

test("a circle has its corners at its radius, inside of the world's longitudes, and runs counter-clockwise", () => {
  for (const center of [[10, 53.5], [179.9, -17], [-179.9, 60]]) {
    const c = circle(center, 40_000);
    const ring = c.coordinates[0]!;
    expect(ring[0]).toEqual(ring.at(-1));
    for (const p of ring) {
      expect(distance(center, p)).toBeCloseTo(40_000, -1);
      expect(Math.abs(p[0]!)).toBeLessThanOrEqual(180);
    }
    expect(polygon(ring.slice(0, -1))).toEqual(c); // polygon() turns what runs the other way
    expect(polygon(ring.slice(0, -1).reverse()).coordinates[0]!.length).toBe(ring.length);
    expect(contains(c, center)).toBe(true);
    expect(contains(c, [center[0]!, center[1]! + 1])).toBe(false);
  }
});

test("an extent runs on across the antimeridian", () => {
  const e = extent(polygon([[179, -1], [-179, -1], [-179, 1], [179, 1]]))!;
  expect(e.box[2] - e.box[0]).toBeCloseTo(2);
  expect(e.width).toBeCloseTo(222.39, 1);
  expect(e.height).toBeCloseTo(222.39, 1);
  expect(Math.abs(e.middle[0]!)).toBeCloseTo(180);
  expect(extent({ type: "Point", coordinates: [1, 2] })).toBeUndefined();
  expect(contains(polygon([[179, -1], [-179, -1], [-179, 1], [179, 1]]), [-179.5, 0])).toBe(true);
  expect(contains(polygon([[179, -1], [-179, -1], [-179, 1], [179, 1]]), [0, 0])).toBe(false);
});

test.each([
  [0.001, "smaller than a football pitch"],
  [160, "about as large as Liechtenstein"],
  [400, "about 2.5 times Liechtenstein"],
  [320, "about 2 times Liechtenstein"],
  [700, "about as large as Singapore"],
  [60_000, "about 2 times Belgium"],
  [510_065_000, "about as large as the whole earth"],
])("%d km² are %s", (km2, words) => expect(comparison(km2)).toBe(words));

describe("corners as text", () => {
  test("are a latitude and a longitude on each line", () => {
    expect(parseCorners("53.5, 10\n\n 53.6 10.25; -1,-180")).toEqual({ corners: [[10, 53.5], [10.25, 53.6], [-180, -1]], wrong: undefined });
  });
  test.each(["53.5", "91, 0", "0, 181", "1, 2, 3", "north"])("%s is none", (line) => expect(parseCorners(`1, 1\n${line}`).wrong).toBe(line));
  test("are read as they are written, also from a map that has been turned past the antimeridian", () => {
    expect(parseCorners(formatCorner([190.5, -12.25])).corners).toEqual([[-169.5, -12.25]]);
  });
});
