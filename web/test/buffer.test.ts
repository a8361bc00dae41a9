import { describe, expect, test } from "vitest";
import type { MultiPolygon, Polygon, Position } from "geojson";
import { buffer, MOST_CORNERS } from "../src/edit/buffer";
import { contains, destination, distance, squareKilometres } from "../src/geometry";

const made = (corners: readonly Position[], closed: boolean, km: number): Polygon | MultiPolygon => buffer(corners, closed, km)!;
const ringsOf = (g: Polygon | MultiPolygon): Position[][] => (g.type === "Polygon" ? g.coordinates : g.coordinates.flat());

/** What is near a corner is in, what is farther is not, all around. */
function expectAround(g: Polygon | MultiPolygon, corner: Position, km: number): void {
  for (let i = 0; i < 24; i++) {
    const direction = (2 * Math.PI * i) / 24 + 0.01;
    expect(contains(g, destination(corner, direction, km * 980)), `${corner}: ${i} of 24, within`).toBe(true);
  }
}
/** No corner of the buffer is nearer to what is drawn than its distance, or farther; those at the ends of the world's map aside. */
function expectAt(g: Polygon | MultiPolygon, points: readonly Position[], km: number, slack: number): void {
  for (const [x, y] of ringsOf(g).flat()) {
    if (Math.abs(x!) === 180 || Math.abs(y!) === 90) continue;
    const nearest = Math.min(...points.map((p) => distance(p, [x!, y!]))) / 1000;
    expect(nearest, `${x}, ${y}`).toBeGreaterThan(km * (1 - slack));
    expect(nearest, `${x}, ${y}`).toBeLessThan(km * (1 + slack));
  }
}
const along = ([a, b]: readonly [Position, Position]): Position[] => Array.from({ length: 2001 }, (_, i) => [a[0]! + ((b[0]! - a[0]!) * i) / 2000, a[1]! + ((b[1]! - a[1]!) * i) / 2000]);

describe("a buffer", () => {
  test("of a point is a circle", () => {
    const g = made([[10, 53.5]], false, 25);
    expectAround(g, [10, 53.5], 25);
    expectAt(g, [[10, 53.5]], 25, 0.001);
    expect(squareKilometres(g)).toBeGreaterThan(Math.PI * 625 * 0.99);
    expect(squareKilometres(g)).toBeLessThan(Math.PI * 625);
  });

  test.each([[10, 53.5, 12, 54], [10, 53.5, 10, 54], [-3, 0, 3, 0.2], [20, 69, 30, 70]] as const)("of the line from %d %d to %d %d lies around it at its distance", (x1, y1, x2, y2) => {
    const line = [[x1, y1], [x2, y2]] as const;
    const g = made(line.map((p) => [...p]), false, 20);
    expect(g.type).toBe("Polygon");
    for (const p of along([[...line[0]], [...line[1]]]).filter((_, i) => i % 100 === 0)) expectAround(g, p, 20);
    expectAt(g, along([[...line[0]], [...line[1]]]), 20, 0.02);
  });

  test("of an area has the area in it", () => {
    const g = made([[9, 53], [11, 53], [11, 54], [9, 54]], true, 5);
    expect(contains(g, [10, 53.5])).toBe(true);
    for (const corner of [[9, 53], [11, 54]]) expectAround(g, corner, 5);
    expect(g.type).toBe("Polygon");
    expect(contains(made([[9, 53], [11, 53], [11, 54], [9, 54]], false, 5), [9, 53.5])).toBe(false);
  });

  test("across the antimeridian is in parts on either side", () => {
    const g = made([[179.5, -17], [-179.5, -18]], false, 30);
    expect(g.type).toBe("MultiPolygon");
    for (const p of [[179.5, -17], [-179.5, -18]]) expectAround(g, p, 30);
    for (const [x, y] of ringsOf(g).flat()) expect(Math.abs(x!) <= 180 && Math.abs(y!) <= 90).toBe(true);
    expect(contains(g, [0, -17.5])).toBe(false);
    expect(squareKilometres(g)).toBeLessThan(14_000);
  });

  test.each([[[[40, 89.8]], 100], [[[-60, -89], [-60, -89.9]], 150]] as const)("near a pole goes around it: %j", (corners, km) => {
    const g = made(corners.map((p) => [...p]), false, km);
    for (const p of corners) expectAround(g, [...p], km);
    expect(contains(g, [123, Math.sign(corners[0]![1]) * 89.99])).toBe(true);
    expect(contains(g, [123, Math.sign(corners[0]![1]) * 80])).toBe(false);
  });

  test("has few corners, whatever is drawn, and is soon made", () => {
    let seed = 1;
    const random = () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
    for (let round = 0; round < 20; round++) {
      const x0 = random() * 360 - 180;
      const y0 = random() * 160 - 80;
      const spread = 10 ** (random() * 3 - 2);
      const corners = Array.from(
        { length: 1 + Math.floor(random() * (round === 0 ? MOST_CORNERS : 12)) },
        (): Position => [x0 + random() * spread, Math.max(-89, Math.min(89, y0 + random() * spread))],
      );
      const km = 10 ** (random() * 4 - 2);
      const g = made(corners, corners.length > 2 && random() < 0.5, km);
      expect(ringsOf(g).flat().length, `round ${round}`).toBeLessThan(10_000);
      for (const c of corners) expect(contains(g, c), `round ${round}: ${c}`).toBe(true);
    }
  });

  test("that reaches too far is not made", () => expect(buffer([[-100, 0], [100, 0]], false, 10)).toBeUndefined());
});
