import { describe, expect, test } from "vitest";
import { between, isEmpty, merge, mergeSome, raised } from "../src/diff";
import { overAt } from "../src/order";
import { hazard } from "./hazard";

const a = hazard({ hazard_ID: 1 });
const b = hazard({ hazard_ID: 2 });
const state = new Map([[1, a], [2, b]]);

describe("a new list over the old state", () => {
  test("that says the same changes nothing, not even an object", () => {
    const { hazards, diff } = merge(state, [{ ...a }, { ...b }]);
    expect(hazards).toBe(state);
    expect(isEmpty(diff)).toBe(true);
  });
  test("keeps the objects of what is as it was", () => {
    const { hazards, diff } = merge(state, [{ ...a }, { ...b, severity_ID: "WATCH" }]);
    expect(hazards.get(1)).toBe(a);
    expect(diff.changed).toEqual([{ from: b, to: { ...b, severity_ID: "WATCH" } }]);
    expect(diff.added).toEqual([]);
    expect(diff.removed).toEqual([]);
  });
  test("names what came and what went", () => {
    const c = hazard({ hazard_ID: 3 });
    const { hazards, diff } = merge(state, [{ ...a }, c]);
    expect([...hazards.keys()]).toEqual([1, 3]);
    expect(diff.added).toEqual([c]);
    expect(diff.removed).toEqual([b]);
  });
  test("sees a changed count of products, and a null that became a name", () => {
    expect(merge(state, [{ ...a, product_total: "1" }, b]).diff.changed).toHaveLength(1);
    expect(merge(state, [{ ...a, update_User: "red" }, b]).diff.changed).toHaveLength(1);
  });
});

describe("records over the old state", () => {
  test("that is over leaves it", () => {
    const { hazards, diff } = mergeSome(state, [{ ...a, status: "E" }]);
    expect([...hazards.keys()]).toEqual([2]);
    expect(diff.removed).toEqual([a]);
  });
  test("that is over and was never there changes nothing", () => expect(mergeSome(state, [hazard({ hazard_ID: 9, status: "E" })]).hazards).toBe(state));
  test("that says the same changes nothing", () => expect(mergeSome(state, [{ ...a }]).hazards).toBe(state));
  test("that come in a row are one difference, from what was to what is", () => {
    const { hazards, diff } = mergeSome(state, [{ ...a, hazard_Name: "x" }, hazard({ hazard_ID: 9 }), { ...a, hazard_Name: "y" }, hazard({ hazard_ID: 9, status: "E" }), { ...b, hazard_Name: "z" }, {
      ...b,
    }]);
    expect(diff).toEqual({ added: [], changed: [{ from: a, to: { ...a, hazard_Name: "y" } }], removed: [] });
    expect([...hazards.keys()]).toEqual([1, 2]);
    expect(hazards.get(2)).toBe(b);
  });
  test("that is new comes in", () => expect(mergeSome(state, [hazard({ hazard_ID: 9 })]).diff.added).toHaveLength(1));
});

test("differences between states look at objects alone", () => {
  const a2 = { ...a };
  expect(between(state, new Map([[1, a2], [2, b]]))).toEqual({ added: [], changed: [{ from: a, to: a2 }], removed: [] });
});

test("more severe is raised, less severe is not", () => {
  expect(raised(hazard({ severity_ID: "WATCH" }), hazard({ severity_ID: "WARNING" }))).toBe(true);
  expect(raised(hazard({ severity_ID: "WARNING" }), hazard({ severity_ID: "WATCH" }))).toBe(false);
  expect(raised(a, a)).toBe(false);
});

test.each([
  ["before its end", { end_Date: "9000" }, 8999, false],
  ["at its end, which is the first moment without it", { end_Date: "9000" }, 9000, true],
  ["past an end that is only expected", { end_Date: "9000", autoexpire: "N" as const }, 10000, false],
])("a hazard %s", (_, h, now, want) => expect(overAt(hazard(h), now)).toBe(want));
