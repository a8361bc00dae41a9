import { expect, test } from "vitest";
import { place, type Spot } from "../src/map/crowd";

const spot = (id: number, longitude: number, rank = 4, kept = false): Spot => ({ id, longitude, latitude: 0, rank, kept });

test("the most important has the symbol; others of its level near it are counted, and all are found by a touch", () => {
  const [first, ...rest] = place([spot(1, 0), spot(2, 1), spot(3, 2, 3), spot(4, 3)], 2);
  expect(rest).toEqual([]);
  expect(first).toMatchObject({ spot: { id: 1 }, more: 2, ids: [1, 2, 3, 4] });
});

test("nearer, each has its own symbol; what must be seen has it always", () => {
  expect(place([spot(1, 0), spot(2, 1), spot(3, 2)], 8).map((p) => p.ids)).toEqual([[1], [2], [3]]);
  expect(place([spot(1, 0), spot(2, 0, 4, true)], 2).map((p) => p.ids)).toEqual([[1], [2]]);
});

test("ten thousand are placed at once, and none is lost", () => {
  const all = Array.from({ length: 10_000 }, (_, i) => ({ id: i, longitude: ((i * 7919) % 3600) / 10 - 180, latitude: ((i * 104_729) % 1700) / 10 - 85, rank: i % 5, kept: false }));
  for (const zoom of [0, 3, 6, 12]) {
    const placed = place(all, zoom);
    expect(new Set(placed.flatMap((p) => p.ids)).size).toBe(10_000);
  }
});
