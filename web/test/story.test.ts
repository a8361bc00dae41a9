import { expect, test } from "vitest";
import { storyOf, type Shape } from "../src/story";

const hour = 3_600_000;
const time = (h: number) => new Date(Date.UTC(2021, 7, 27) + h * hour).toISOString();

const position = (at: number, lon: number, lat: number, wind: number, since?: number): Shape => ({
  type: "Feature",
  geometry: { type: "Point", coordinates: [lon, lat] },
  properties: {
    role: "position",
    from: time(at),
    forecast: since !== undefined,
    title: "Position",
    color: "#123456",
    source: "nhc",
    part: "forecast",
    band: "wind_kmh",
    value: wind,
    since: time(since ?? at),
  } as Shape["properties"],
});

test("each forecast is compared with where the storm was then, also between two positions", () => {
  const { track, issues } = storyOf([position(12, -82, 20, 100), position(0, -80, 18, 90), position(6, -81, 19, 95), position(9, -81, 19.5, 110, 0), position(24, -85, 22, 150, 0),
    position(24, -85, 23, 160, 6)]);
  expect(track.map((p) => p.position[0])).toEqual([-80, -81, -82]);
  expect(issues.map((i) => [new Date(i.issued).toISOString(), i.places.length])).toEqual([[time(0), 2], [time(6), 1]]);
  const [first, later] = issues[0]!.places;
  expect(first!.came!.position).toEqual([-81.5, 19.5]); // halfway between 6 and 12 hours
  expect(first!.off! / 1000).toBeCloseTo(52, 0);
  expect(first!.came!.wind).toBe(95);
  expect(later!.came).toBeUndefined(); // has not come yet
});

test("nothing is said of a time between positions that are far apart", () => {
  expect(storyOf([position(0, -80, 18, 90), position(30, -85, 22, 95), position(12, -82, 20, 100, 0)]).issues[0]!.places[0]!.off).toBeUndefined();
});

test("a storm crosses the date line the short way", () => {
  expect(storyOf([position(0, 179, 18, 90), position(6, -179, 18, 95), position(3, 180, 18, 100, 0)]).issues[0]!.places[0]!.off).toBeCloseTo(0, 0);
});
