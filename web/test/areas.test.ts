import { expect, test } from "vitest";
import { LostError, type Api } from "../src/api";
import { Areas } from "../src/map/areas";
import type { Hazard } from "../src/model";
import { hazard } from "./hazard";

/** A service with so many hazards of one square degree each, beside their points. */
function service(n: number) {
  const asked: string[] = [];
  const pauses: number[] = [];
  let lost = false;
  const list = Array.from({ length: n }, (_, i) => hazard({ hazard_ID: i + 1, longitude: 50, latitude: 50, update_Date: "1" }));
  const api = {
    request: async (path: string) => {
      asked.push(path);
      if (lost) throw new LostError("away");
      const ids = /ids=([\d,]+)/.exec(path)?.[1]?.split(",").map(Number);
      const features = (ids ?? list.map((h) => h.hazard_ID)).map((id) => ({
        type: "Feature",
        id,
        bbox: [0, 0, 1, 1],
        properties: { update_Date: "1", role: "alert" },
        geometry: ids ? { type: "Polygon", coordinates: [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]] } : null,
      }));
      return new Response(JSON.stringify({ type: "FeatureCollection", features }));
    },
  } as unknown as Api;
  // Half a second into a pause the service may be back; a pause of nothing lets the test go on.
  const areas = new Areas(api, {
    pause: async (ms) => {
      pauses.push(ms);
      if (pauses.length > 50) lost = false;
      await Promise.resolve();
    },
    random: () => 0.5,
  });
  return { areas, asked, pauses, list, all: new Map(list.map((h) => [h.hazard_ID, h])), lose: () => (lost = true) };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

// M1, M6: where all are is one request, and what they look like in a window another.
test("the boxes of all hazards are one request, the areas of a window another, and nothing is asked for twice", async () => {
  const s = service(400);
  s.areas.all(s.all, undefined);
  await settled();
  expect(s.asked).toEqual(["/hazards/active/areas"]);
  expect(s.areas.unknown()).toBe(0);
  expect(s.list.every((h) => s.areas.touches(h, [0.2, 0.2, 0.3, 0.3]))).toBe(true);
  let drawn = 0;
  s.areas.shown = (came, went) => (drawn += came.length - went.length);
  s.areas.want(s.list);
  await settled();
  expect(drawn).toBe(400);
  s.areas.all(new Map(s.all), undefined);
  s.areas.want([...s.list]);
  await settled();
  expect(s.asked.length).toBe(2);
  // What is told is what differs.
  expect(drawn).toBe(400);
  s.areas.want(s.list.slice(100));
  expect(drawn).toBe(300);
});

test("a hazard that changed is asked for alone, and keeps its place until the answer is here", async () => {
  const s = service(400);
  s.areas.all(s.all, undefined);
  await settled();
  const changed: Hazard = { ...s.list[6]!, update_Date: "2" };
  s.areas.all(new Map(s.all).set(7, changed), undefined);
  expect(s.areas.unknown()).toBe(1);
  expect(s.areas.touches(changed, [0.2, 0.2, 0.3, 0.3])).toBe(true);
  await settled();
  expect(s.asked.at(-1)).toBe("/hazards/active/areas?ids=7");
  expect(s.areas.unknown()).toBe(0);
});

// M4.
test("a lost connection is asked for with pauses that grow", async () => {
  const s = service(3);
  s.lose();
  s.areas.all(s.all, undefined);
  await settled();
  expect(s.pauses.slice(1, 7)).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  expect(s.areas.unknown()).toBe(0); // it came back
  expect(s.areas.failing.value).toBe(false);
});

// T1: what is only known to be somewhere in a country is possibly in a window, and contains no place.
test("a hazard that is somewhere in a country is possibly in its windows, and nowhere for certain", async () => {
  const h = hazard({ hazard_ID: 1, longitude: -100, latitude: 40, update_Date: "1" });
  const about = { update_Date: "1", place_kind: "country", place_known_as: "United States", possible: [-125, 25, -67, 49] };
  const line = { type: "MultiLineString", coordinates: [[[-125, 25], [-67, 25], [-67, 49], [-125, 49], [-125, 25]]] };
  const features = [
    { type: "Feature", id: 1, bbox: [-125, 25, -67, 49], properties: { ...about, role: "outline" }, geometry: line },
    { type: "Feature", id: 1, bbox: [-100, 40, -100, 40], properties: { ...about, role: "point" }, geometry: { type: "Point", coordinates: [-100, 40] } },
  ];
  const api = { request: async () => new Response(JSON.stringify({ type: "FeatureCollection", features })) } as unknown as Api;
  const areas = new Areas(api, { pause: async () => {}, random: () => 0 });
  areas.all(new Map([[1, h]]), undefined);
  areas.want([h]);
  await settled();
  expect(areas.knownAs(h)).toBe("United States");
  expect(areas.touches(h, [-99, 29, -98, 30])).toBe(true);
  expect(areas.touches(h, [9, 53, 10, 54])).toBe(false);
  expect(areas.contains(h, -98.5, 29.4)).toBe(false);
  expect(areas.contains(h, -100, 40)).toBe(false);
  expect(areas.size(h)).toBeUndefined();
});
