import { expect, test } from "vitest";
import { inShort, layOut } from "../src/ui/callouts";

const size = { width: 200, height: 50 };
const map = { width: 1000, height: 700 };

test("callouts stand in the map, beside their points, and cover neither each other nor another's point", () => {
  const points = [{ x: 500, y: 350 }, { x: 520, y: 360 }, { x: 700, y: 350 }];
  const places = layOut(points, size, map);
  expect(places.every(Boolean)).toBe(true);
  places.forEach((a, i) => {
    points.forEach((p, j) => i !== j && expect(p.x < a!.x || p.x > a!.x + 200 || p.y < a!.y || p.y > a!.y + 50).toBe(true));
    places.slice(0, i).forEach((b) => expect(Math.abs(a!.x - b!.x) >= 200 || Math.abs(a!.y - b!.y) >= 50).toBe(true));
  });
});

test("neighbors have a callout each", () => {
  const points = [{ x: 733, y: 734 }, { x: 719, y: 749 }, { x: 750, y: 754 }];
  expect(layOut(points, { width: 240, height: 76 }, { width: 1003, height: 900 }).every(Boolean)).toBe(true);
});

test("a callout covers as few others as can be that are nearly as bad", () => {
  const [right] = layOut([{ x: 500, y: 350 }], size, map);
  const other = { x: right!.x + 60, y: right!.y + 20 };
  for (const kept of [[], [right!.side]]) {
    const [moved] = layOut([{ x: 500, y: 350 }], size, map, kept, [other]);
    expect(moved!.x > other.x || moved!.x + 200 < other.x || moved!.y > other.y || moved!.y + 50 < other.y).toBe(true);
  }
  const everywhere = Array.from({ length: 600 }, (_, n) => ({ x: (n % 30) * 34, y: Math.floor(n / 30) * 36 }));
  expect(layOut([{ x: 500, y: 350 }], size, map, [], everywhere)[0]).toBeDefined();
  // Of places that cover some, that which covers fewest.
  const [least] = layOut([{ x: 500, y: 350 }], size, map, [], everywhere.filter(({ x, y }) => x > 440 || y > 300 || (x + y) % 5 === 0));
  expect(least!.x < 300 && least!.y < 300).toBe(true);
});

test("a callout keeps its side while there is room, and is left out where there is none", () => {
  const [first] = layOut([{ x: 500, y: 350 }], size, map);
  expect(layOut([{ x: 600, y: 300 }], size, map, [first!.side])[0]!.side).toBe(first!.side);
  expect(layOut([{ x: 50, y: 60 }], size, { width: 120, height: 90 })).toEqual([undefined]);
});

test.each(
  [
    ["Kendall County, Texas, including Boerne", 30, "Kendall County, Texas"],
    ["Kendall County, Texas, including Boerne", 16, "Kendall County"],
    ["Llanfairpwllgwyngyll", 10, "Llanfairpwllgwyngyll"],
    ["東京都、千葉県、埼玉県", 8, "東京都、千葉県"],
  ] as const,
)("the place %s in %d letters", (where, letters, want) => expect(inShort(where, letters)).toBe(want));
