import { describe, expect, test } from "vitest";
import { counts, matcher, noFilter, toggled, within } from "../src/filter";
import { byLevel } from "../src/order";
import { hazard } from "./hazard";

describe("a filter", () => {
  const volcano = hazard({ hazard_ID: 1, hazard_Name: "Eruption of Popocatépetl", type_ID: "VOLCANO", severity_ID: "WATCH" });
  const flood = hazard({ hazard_ID: 2, hazard_Name: "Flood", description: "The Rhine\nis high", type_ID: "FLOOD", severity_ID: "WARNING", category_ID: "RESPONSE" });
  const drill = hazard({ hazard_ID: 3, hazard_Name: "Flood drill", type_ID: "FLOOD", category_ID: "EXERCISE", severity_ID: "WARNING" });
  const all = [volcano, flood, drill];
  const ids = (f: Partial<typeof noFilter>) => all.filter(matcher({ ...noFilter, ...f })).map((h) => h.hazard_ID);

  test.each([
    ["without choices passes all", {}, [1, 2, 3]],
    ["of a type", { types: ["FLOOD"] }, [2, 3]],
    ["of several severities passes each", { severities: ["WATCH", "WARNING"] }, [1, 2, 3]],
    ["of two dimensions needs both", { types: ["FLOOD"], categories: ["RESPONSE"] }, [2]],
    ["of text looks at names without accents", { text: "popocatepetl" }, [1]],
    ["of text looks at descriptions, in any case", { text: "rhine" }, [2]],
    ["of text looks at the names of types", { text: "volcanic" }, [1]],
    ["of words needs each, in any order", { text: "drill flood" }, [3]],
    ["of spaces alone passes all", { text: "  " }, [1, 2, 3]],
  ])("%s", (_, f, want) => expect(ids(f)).toEqual(want));

  test("counts what a choice would give, the other dimensions kept", () => {
    const f = { ...noFilter, types: ["FLOOD"], severities: ["WATCH"] };
    expect(Object.fromEntries(counts(all, f, "severities"))).toEqual({ WARNING: 1 });
    expect(Object.fromEntries(counts(all, f, "types"))).toEqual({ VOLCANO: 1 });
    expect(Object.fromEntries(counts(all, noFilter, "categories"))).toEqual({ EVENT: 1, RESPONSE: 1, EXERCISE: 1 }); // drills count here alone: M5
  });

  test("choices are taken in and out", () => {
    expect(toggled(["A"], "B")).toEqual(["A", "B"]);
    expect(toggled(["A", "B"], "A")).toEqual(["B"]);
  });
});

test("lists are in the service's order: most severe, last updated, lowest number", () => {
  const list = [
    hazard({ hazard_ID: 5, severity_ID: "WATCH", last_Update: "900" }),
    hazard({ hazard_ID: 4, severity_ID: "WARNING", last_Update: "100" }),
    hazard({ hazard_ID: 3, severity_ID: "WARNING", last_Update: "1000" }),
    hazard({ hazard_ID: 2, severity_ID: "WARNING", last_Update: "100" }),
  ];
  expect(list.sort(byLevel).map((h) => h.hazard_ID)).toEqual([3, 2, 4, 5]);
});

test.each(
  [
    ["inside", [-10, -10, 10, 10], 0, 0, true],
    ["on the edge", [-10, -10, 10, 10], 10, 10, true],
    ["beside", [-10, -10, 10, 10], 11, 0, false],
    ["above", [-10, -10, 10, 10], 0, 11, false],
    ["across the antimeridian, west of it", [170, -10, 190, 10], 175, 0, true],
    ["across the antimeridian, east of it", [170, -10, 190, 10], -175, 0, true],
    ["across the antimeridian, the other side of the world", [170, -10, 190, 10], 0, 0, false],
    ["a window far west", [-200, -10, -170, 10], 170, 0, true],
    ["the whole world, more than once", [-300, -90, 300, 90], 123, 45, true],
  ] as const,
)("the window holds a point %s: %j %d %d", (_, bounds, lon, lat, want) => expect(within(bounds, lon, lat)).toBe(want));
