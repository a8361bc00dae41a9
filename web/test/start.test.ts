import { expect, test } from "vitest";
import { windowOf } from "../src/map/start";

const size = { width: 1040, height: 850 };

/** Whether a window of that size shows a place, by the definition of Web Mercator. */
function shows(places: Parameters<typeof windowOf>[0], longitude: number, latitude: number): boolean {
  const view = windowOf(places, size)!;
  const world = 512 * 2 ** view.zoom;
  const y = (l: number) => Math.log(Math.tan(Math.PI / 4 + (l * Math.PI) / 360)) / (2 * Math.PI);
  const x = ((((longitude - view.center[0]) % 360) + 540) % 360) - 180;
  return Math.abs((x / 360) * world) <= size.width / 2 && Math.abs((y(latitude) - y(view.center[1])) * world) <= size.height / 2;
}

test("a large map begins where the worst is", () => {
  const texas = [[-98, 29], [-99, 30], [-95, 31], [-90, 40], [-120, 45]];
  expect(windowOf(texas, size)!.zoom).toBeGreaterThan(3);
  for (const [longitude, latitude] of texas) expect(shows(texas, longitude!, latitude!)).toBe(true);
});

test("islands far away do not make it the world, unless the worst is there", () => {
  const country = Array.from({ length: 20 }, (_, i) => [-120 + 2 * i, 30 + (i % 10)]);
  expect(shows([...country, [144.8, 13.4]], 144.8, 13.4)).toBe(false);
  expect(shows([...country, [144.8, 13.4]], -98, 35)).toBe(true);
  expect(windowOf([[144.8, 13.4], ...country], size)).toBeUndefined();
  expect(shows([[-157, 21], ...country], -157, 21)).toBe(true);
});

test("across the antimeridian", () => {
  const fiji = [[178, -18], [-179, -17], [177, -16]];
  const view = windowOf(fiji, size)!;
  expect(Math.abs(view.center[0])).toBeGreaterThan(177);
  for (const [longitude, latitude] of fiji) expect(shows(fiji, longitude!, latitude!)).toBe(true);
});

test("nothing, and all over the world: the world", () => {
  expect(windowOf([], size)).toBeUndefined();
  expect(windowOf([[-98, 29], [87, 28], [140, 38], [10, 45]], size)).toBeUndefined();
});

test("one place is not too near, and one at a pole is a place", () => {
  expect(windowOf([[-89.1, 28]], size)).toEqual({ center: [-89.1, expect.closeTo(28, 1)], zoom: 5 });
  expect(windowOf([[0, 89.9]], size)!.zoom).toBeLessThanOrEqual(5);
  expect(Number.isFinite(windowOf([[0, -89.9], [1, 89.9]], size)!.zoom)).toBe(true);
});
