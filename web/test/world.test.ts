// What is drawn, on both sides of the antimeridian and around the poles.
import { describe, expect, it } from "vitest";
import { inWorld } from "../src/edit/world";
import { circle, contains, polygon, squareKilometres } from "../src/geometry";

const EARTH = 6371.0088;

describe("a circle", () => {
  for (const [lon, lat] of [[10, 53], [179.9, 0], [-179.99, -40], [180, 10], [0, 90], [77, -90], [-30, 89.9], [120, -85], [-180, 89.5], [0, 0]] as const) {
    for (const km of [0.01, 1, 100, 1_000, 5_000]) {
      it(`of ${km} km around ${lon}, ${lat} is one area within the world, and as large as it is`, () => {
        const g = inWorld(circle([lon, lat], km * 1000));
        const all = (g.type === "Polygon" ? [g.coordinates] : g.coordinates).flat();
        expect(all.length).toBeGreaterThan(0);
        for (const ring of all) {
          expect(ring[0]).toEqual(ring.at(-1));
          for (const [x, y] of ring) expect(Math.abs(x!) <= 180 && Math.abs(y!) <= 90).toBe(true);
          // No side crosses the world: what draws it would do so too.
          ring.forEach(([x], i) => i > 0 && expect(Math.abs(x! - ring[i - 1]![0]!)).toBeLessThanOrEqual(180));
        }
        if (km < 1) return; // rounded to a tenth of a metre
        const whole = 2 * Math.PI * EARTH ** 2 * (1 - Math.cos(km / EARTH));
        expect(sum(all) / whole).toBeGreaterThan(0.9);
        expect(sum(all) / whole).toBeLessThan(1.1);
        if (Math.abs(lat) < 89) expect(contains(g, [lon === 180 ? 179.999 : lon, lat])).toBe(true);
      });
    }
  }
});

/** Square kilometres of plane rings in longitude and the sine of latitude, which keeps areas (Lambert). */
const sum = (all: readonly (readonly number[])[][]): number =>
  all.reduce((total, ring) => {
    let twice = 0;
    for (let i = 1; i < ring.length; i++) {
      const [[a, b], [c, d]] = [ring[i - 1] as [number, number], ring[i] as [number, number]];
      twice += ((c - a) * Math.PI / 180) * (Math.sin(b * Math.PI / 180) + Math.sin(d * Math.PI / 180));
    }
    return total + Math.abs(twice / 2) * EARTH ** 2;
  }, 0);

describe("corners", () => {
  it("over the antimeridian make two parts", () => {
    const g = inWorld(polygon([[170, 10], [-170, 10], [-170, 20], [170, 20]]));
    expect(g.type).toBe("MultiPolygon");
    expect(squareKilometres(g)).toBeCloseTo(squareKilometres(inWorld(polygon([[10, 10], [30, 10], [30, 20], [10, 20]]))), 0);
  });
  it("elsewhere make one", () => expect(inWorld(polygon([[0, 0], [1, 0], [1, 1]]))).toEqual({ type: "Polygon", coordinates: [[[0, 0], [1, 0], [1, 1], [0, 0]]] }));
});
