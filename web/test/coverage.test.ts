import { expect, test } from "vitest";
import { boxOf, outlinesOf } from "../src/coverage";
import { middleOf, unstated } from "../src/unstated";

test("outlines are put together from lines, forwards and backwards", () => {
  const outlines = outlinesOf({
    transform: { scale: [0.5, 0.5] },
    // The border of two countries, from the south to the north, and what is west and east of it.
    arcs: [[[0, 0], [0, 10], [1, 10]], [[1, 20], [-21, 0], [0, -20], [20, 0]], [[0, 0], [20, 0], [0, 20], [-19, 0]], [[4, 4], [2, 0], [0, 2], [-2, -2]]],
    objects: { coverage: { geometries: [{ id: "country:W", arcs: [[[0, 1]]] }, { id: "country:E", arcs: [[[~0, 2], [3]]] }] } },
  });
  expect(outlines.get("country:W")).toEqual({ type: "MultiPolygon", coordinates: [[[[0, 0], [0, 5], [0.5, 10], [-10, 10], [-10, 0], [0, 0]]]] });
  expect(outlines.get("country:E")!.coordinates[0]![1]).toEqual([[2, 2], [3, 2], [3, 3], [2, 2]]);
});

test.each(
  [
    [[8, 45, 18, 50], "8.0000,45.0000,18.0000,50.0000"],
    [[170, -20, 190, 0], "170.0000,-20.0000,-170.0000,0.0000"],
    [[-541, 0, -539, 1], "179.0000,0.0000,-179.0000,1.0000"],
    [[-300, -80, 200, 80], "-180.0000,-80.0000,180.0000,80.0000"],
  ] as const,
)("the window %j as a box", (window, want) => expect(boxOf([...window])).toBe(want));

test("types that nobody states are listed, unknown ones too", () => {
  const told = { types: [{ type_ID: "FLOOD", answer: "covered" }, { type_ID: "STORM", answer: "unknown" }, { type_ID: "TSUNAMI", answer: "stale" }] };
  expect(unstated(["CYBER", "FLOOD", "STORM", "TSUNAMI"], told)).toEqual(["CYBER", "STORM"]);
});

test("the middle of a window is on the world", () => {
  expect(middleOf([170, -20, 200, 0])).toBe("-175.00,-10.00");
  expect(middleOf([8, 45, 18, 50])).toBe("13.00,47.50");
});
