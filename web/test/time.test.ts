import { describe, expect, test } from "vitest";
import { fromInput, inputTime, local, relative, span, utc } from "../src/time";

const now = Date.UTC(2026, 10, 21, 12, 0, 0);
const minute = 60_000;
const hour = 60 * minute;

test.each([
  [0, "now"],
  [-59_000, "now"],
  [-3 * minute, "3 min ago"],
  [-90 * minute, "1 hr ago"],
  [-26 * hour, "1 day ago"],
  [36 * hour, "in 1 day"],
  [40 * 24 * hour, "in 1 m"],
  [-800 * 24 * hour, "2 yr"],
  // Which short form of a unit is in use differs between browsers: what follows its first letters is not looked at.
])("relative(%d ms) begins with %s", (ms, want) => expect(relative(now + ms, now).startsWith(want)).toBe(true));

test.each([
  [-5, "0s"],
  [45_000, "45s"],
  [200_000, "3m 20s"],
  [180_000, "3m"],
  [2 * hour + 5 * minute, "2h 5m"],
  [97 * hour, "4d 1h"],
])("span(%d ms) is %s", (ms, want) => expect(span(ms)).toBe(want));

describe("a time for people", () => {
  test("is in the viewer's zone, with its name", () => expect(local(now, "en-GB", "Europe/Berlin")).toBe("21 Nov 2026, 13:00 CET"));
  test("is in UTC too, without the date on the same day", () => expect(utc(now, "en-GB", "Europe/Berlin")).toBe("12:00 UTC"));
  test("has the date in UTC when that is another day", () => expect(utc(now, "en-GB", "Pacific/Auckland")).toBe("21 Nov 2026, 12:00 UTC"));
  test("is not said twice to a viewer in UTC", () => expect(utc(now, "en-GB", "UTC")).toBe(""));
  test("that is none is a dash", () => {
    expect(local(NaN)).toBe("–");
    expect(utc(NaN)).toBe("");
  });
});

test.each(["UTC", undefined])("what the field of the time bar shows is the moment that it asks for, in the zone %s", (zone) => {
  for (const at of [0, Date.UTC(2026, 6, 15, 3, 7), Date.UTC(2026, 11, 31, 23, 59)]) expect(fromInput(inputTime(at, zone), zone)).toBe(at);
  expect(inputTime(Date.UTC(2026, 6, 15, 3, 7), "UTC")).toBe("2026-07-15T03:07");
});
