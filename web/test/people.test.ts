import { expect, test } from "vitest";
import { told } from "../src/ui/people";

const band = (value: number, people: number | null, high = people) => ({ kind: "intensity" as const, value, people, high });

test("the panel counts people for whole degrees of shaking, and has no line for each band where nobody lives", () => {
  expect(told([band(9, 0), band(8.5, 0), band(8, 0, 40), band(7.5, 200), band(7, 3_000), band(6, null)]).map((b) => b.value)).toEqual([8, 7, 6]);
  expect(told([band(9.5, 0), band(9, 0), band(5, 0), band(4.5, 0)]).map((b) => b.value)).toEqual([5]);
});
