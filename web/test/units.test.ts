import { beforeAll, expect, test } from "vitest";
import { burnt, measured, speed } from "../src/measures";
import { far, inMiles, size } from "../src/units";
import { use } from "../src/words";

beforeAll(() => use("en"));

test("units are those of the place that the browser is set to", () => {
  expect(["en-US", "es-US", "en-LR", "zh-Hant-US"].map(inMiles)).toEqual([true, true, true, true]);
  expect(["en-GB", "en", "de-DE", "es-419", "", "ru"].map(inMiles)).toEqual([false, false, false, false, false, false]);
});

test("the winds of a storm are the thresholds of the field in both", () => {
  expect([63, 93, 119, 222].map((kmh) => speed(kmh, false))).toEqual(["63 km/h", "93 km/h", "119 km/h", "222 km/h"]);
  expect([63, 93, 119, 222].map((kmh) => speed(kmh, true))).toEqual(["39 mph", "58 mph", "74 mph", "138 mph"]);
});

test("distances, sizes, heights and fires", () => {
  expect([far(4_321, false), far(43_210, false), far(4_321, true), far(43_210, true)]).toEqual(["4.3 km", "43 km", "2.7 mi", "27 mi"]);
  expect([size(2_792, false), size(2_792, true)]).toEqual(["2,792 km²", "1,078 mi²"]);
  expect([measured(3, "m", false), measured(3, "m", true), measured(6, "", true), measured(111, "km/h", true)]).toEqual(["3 m", "10 ft", "6", "69 mph"]);
  expect([burnt(12_406, ({ n }) => `${n} ha`, false), burnt(12_406, ({ n }) => `${n} ha`, true)]).toEqual(["12,000 ha", "31,000 ac"]);
});
