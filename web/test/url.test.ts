import { describe, expect, test } from "vitest";
import { noFilter } from "../src/filter";
import { format, noState, parse, type PageState } from "../src/url";

const full: PageState = {
  view: { center: [-98.5833, 39.8333], zoom: 4.25 },
  filter: { types: ["FLOOD", "STORM"], severities: ["WARNING"], categories: ["EVENT"], text: "río & high=water #1" },
  selected: "0190a0b0-0000-7000-8000-000000000007",
  at: Date.UTC(2026, 10, 20, 12),
  everywhere: true,
  order: "time",
};

describe("the state in the address", () => {
  test("is read as it was written", () => expect(parse("#" + format(full))).toEqual(full));
  test("of a page as it starts is empty", () => {
    expect(format(noState)).toBe("");
    expect(parse("")).toEqual(noState);
  });
  test("is readable", () =>
    expect(format({ ...full, filter: { ...full.filter, text: "high water" } })).toBe(
      "map=4.25/39.8333/-98.5833&type=FLOOD,STORM&severity=WARNING&category=EVENT&q=high+water&list=all&sort=time&at=2026-11-20T12:00:00Z&h=0190a0b0-0000-7000-8000-000000000007",
    ));
  test.each([
    ["a place that is none", "#map=4/91/0"],
    ["a place that was cut", "#map=4/12"],
    ["a place of words", "#map=a/b/c"],
    ["a uuid that is none", "#h=javascript:alert(1)"],
    ["a time that is none", "#at=yesterday"],
    ["a type that cannot be one", "#type=<b>"],
    ["what nobody knows", "#foo=bar&&&=%"],
  ])("leaves out %s", (_, hash) => expect(parse(hash)).toEqual({ ...noState, filter: noFilter }));
});
