import { describe, expect, test } from "vitest";
import {
  categoriesFor,
  clashes,
  decimal,
  emptyHazard,
  faultsOf,
  geometryOf,
  hazardDraft,
  hazardFields,
  hazardNames,
  localTime,
  patch,
  productFields,
  emptyProduct,
  rebase,
  warns,
} from "../src/edit/draft";
import { words as all } from "../src/words";
import { hazard } from "./hazard";

const start = Date.UTC(2026, 10, 21, 6, 10, 33, 123);
const base = {
  ...hazard({ hazard_Name: "Flood - Old Harbour", start_Date: String(start), end_Date: String(start + 86_400_000), severity_ID: "WATCH", latitude: 53.5, longitude: 10, snc_url: "" }),
  instruction: "Move to higher ground.",
};

describe("a draft", () => {
  test("that nobody has touched changes nothing, not even the seconds that its inputs do not show", () => {
    const { fields, faults } = hazardFields(hazardDraft(base), base);
    expect(faults).toEqual({});
    expect(patch(base, fields)).toEqual({});
  });
  test("sends what was touched, as the service takes it", () => {
    const d = { ...hazardDraft(base), severity_ID: "WARNING", latitude: "53,75", start_Date: localTime(start + 60_000), area: { kind: "none" } as const, instruction: " Stay inside. " };
    expect(patch(base, hazardFields(d, base).fields)).toEqual({
      instruction: "Stay inside.",
      severity_ID: "WARNING",
      latitude: 53.75,
      start_Date: String(Math.floor((start + 60_000) / 60_000) * 60_000),
      area: null,
    });
  });
  test("of a new hazard names all that is missing at once, and leaves to the service what it chooses better", () => {
    expect(hazardFields(emptyHazard(false)).faults).toEqual({
      hazard_Name: all.fault.missing,
      type_ID: all.fault.missing,
      severity_ID: all.fault.missing,
      latitude: all.fault.missing,
      longitude: all.fault.missing,
    });
    const { fields, faults } = hazardFields({ ...emptyHazard(true), hazard_Name: " Drill ", type_ID: "FLOOD", severity_ID: "WATCH", latitude: "1", longitude: "-2.5" });
    expect(faults).toEqual({});
    expect(fields).toEqual({
      hazard_Name: "Drill",
      type_ID: "FLOOD",
      severity_ID: "WATCH",
      category_ID: "EXERCISE",
      description: "",
      autoexpire: "N",
      snc_url: "",
      comment_Text: "",
      latitude: 1,
      longitude: -2.5,
    });
  });
  test.each(["", "12°", "1,234,5", "abc"])("takes no %j for a number", (s) => expect(decimal(s)).toBeNaN());
  test("has an area of corners or of a circle, or says what that takes", () => {
    const at = { latitude: "1", longitude: "2" };
    expect(geometryOf({ ...at, area: { kind: "polygon", corners: "0,0\n0,1" } })).toEqual({ fault: all.fault.corners });
    expect(geometryOf({ ...at, area: { kind: "polygon", corners: "0,0\nx\n1,1" } })).toEqual({ fault: all.fault.corner({ line: "x" }) });
    expect(geometryOf({ ...at, area: { kind: "circle", radius: "0" } })).toEqual({ fault: all.fault.radius });
    expect(geometryOf({ ...at, latitude: "", area: { kind: "circle", radius: "5" } })).toEqual({ fault: all.fault.center });
    expect(geometryOf({ ...at, area: { kind: "circle", radius: "2,5" } }).geometry).toMatchObject({ type: "Polygon" });
    expect(geometryOf({ ...at, area: { kind: "keep" } })).toEqual({ geometry: undefined });
  });
});

describe("what others changed meanwhile", () => {
  const now = { ...base, severity_ID: "ADVISORY", description: "Falling", last_Update: "9" };
  test("is named field by field, with what we want where we touched it too", () => {
    expect(clashes(base, now, { severity_ID: "WARNING", hazard_Name: "New" }, hazardNames)).toEqual([
      { field: "severity_ID", before: "WATCH", now: "ADVISORY", mine: "WARNING" },
      { field: "description", before: "", now: "Falling", mine: undefined },
    ]);
  });
  test("is no clash where both did the same", () => expect(clashes(base, now, { severity_ID: "ADVISORY", description: "Falling" }, hazardNames)).toEqual([]));
  test("stays where we yield or have not touched it; the rest is ours", () => {
    const mine = { severity_ID: "WARNING", hazard_Name: "New" };
    const draft = { ...hazardDraft(base), ...mine };
    const theirs = hazardDraft(now as typeof base);
    expect(rebase(theirs, draft, mine, ["severity_ID"])).toEqual({ ...theirs, hazard_Name: "New" });
    expect(rebase(theirs, draft, mine, [])).toEqual({ ...theirs, ...mine });
  });
});

describe("a second yes is asked for", () => {
  test.each([
    ["a new warning", undefined, { severity_ID: "WARNING" }, true],
    ["a new watch", undefined, { severity_ID: "WATCH" }, false],
    ["a watch that becomes a warning", base, { severity_ID: "WARNING" }, true],
    ["a warning whose area changes", { ...base, severity_ID: "WARNING" as const }, { area: null }, true],
    ["a warning whose words change", { ...base, severity_ID: "WARNING" as const }, { description: "x" }, false],
    ["a warning that is lowered", { ...base, severity_ID: "WARNING" as const }, { severity_ID: "WATCH", area: null }, false],
    ["a warning that is over", { ...base, status: "E" as const }, { severity_ID: "WARNING" }, false],
  ])("for %s: %#", (_, before, change, expected) => expect(warns(before, change)).toBe(expected));
});

test("a drill stays a drill, and nothing real becomes one", () => {
  expect(categoriesFor(undefined, true)).toEqual(["EXERCISE"]);
  expect(categoriesFor({ category_ID: "EXERCISE" }, false)).toEqual(["EXERCISE"]);
  for (const category_ID of ["EVENT", "RESPONSE", "OTHER"] as const) {
    expect(categoriesFor({ category_ID }, false)).not.toContain("EXERCISE");
    expect(categoriesFor({ category_ID }, false)).toContain(category_ID);
  }
  expect(categoriesFor(undefined, false)).not.toContain("EXERCISE");
});

test("faults stand at their fields; those of no field that is shown are told together", () => {
  expect(
    faultsOf([{ pointer: "/hazard_Name", detail: "is empty" }, { pointer: "/org_ID", detail: "is none" }, { detail: "all of it" }, { pointer: "/hazard_Name", detail: "is long" }], ["hazard_Name"]),
  ).toEqual({
    hazard_Name: "is empty; is long",
    "": "org_ID is none; all of it",
  });
});

test("a product sends its content only where it has one", () => {
  expect(productFields({ ...emptyProduct(4), title: "T" }, "FOLDER_PRODUCT")).toEqual({ fields: { title: "T", parent_ID: 4, is_Hidden: "N", security_Flag: "A", comment_Text: "" }, faults: {} });
  expect(productFields(emptyProduct(0), "TEXT_PRODUCT").faults).toEqual({ title: all.fault.missing, data: all.fault.missing });
  expect(productFields({ ...emptyProduct(0), title: "T", data: " https://example.org " }, "URL_PRODUCT").fields["data"]).toBe("https://example.org");
});
