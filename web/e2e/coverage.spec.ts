// What nobody is asked about must not look like "no hazards".
import { expect, expectAccessible, isPhone, open, test } from "./test";

type Box = readonly [west: number, south: number, east: number, north: number];

const countries: readonly (readonly [code: string, state: string, at: Box])[] = [["HT", "unknown", [-75, 18, -72, 20]], ["US", "covered", [-125, 25, -67, 49]]];

/** GET /coverage?geometry=none. */
const words = {
  type: "FeatureCollection",
  world: {},
  features: countries.map(([code, state, bbox]) => ({
    type: "Feature",
    id: `country:${code}`,
    bbox,
    geometry: null,
    properties: { kind: "country", code, name: code, state, types: {}, sources: [], responsible: [] },
  })),
};

/** GET /coverage?geometry=topology. */
const outlines = {
  type: "Topology",
  transform: { scale: [1, 1], translate: [0, 0] },
  objects: {
    coverage: {
      type: "GeometryCollection",
      geometries: countries.map(([code], i) => ({ type: "MultiPolygon", id: `country:${code}`, properties: { kind: "country", code, name: code }, arcs: [[[i]]] })),
    },
  },
  arcs: countries.map(([, , [west, south, east, north]]) => [[west, south], [east - west, 0], [0, north - south], [west - east, 0], [0, south - north]]),
};

test("a window without any official source says so, and the map hatches it", { tag: "@slow" }, async ({ page, server }) => {
  await page.route(/\/hazards\/active(\?|$)/, async (route) => {
    const answer = await route.fetch().catch(() => undefined);
    if (answer) await route.fulfill({ response: answer, headers: { ...answer.headers(), "hazardd-sources": 'ok=1; stale=0; failing=0; names=""' } });
  });
  await page.route("**/coverage?*", (route) => {
    const url = route.request().url();
    return route.fulfill({
      json: url.includes("point=") ? { types: [{ type_ID: "FLOOD", answer: "covered" }, { type_ID: "STORM", answer: "unknown" }] } : url.includes("topology") ? outlines : words,
    });
  });
  await server.hazard("Flood - Texas", { latitude: 31, longitude: -97 });
  await open(page, "#map=7/19/-73");
  await expect(page.getByText("No official warnings are read for this area.")).toBeVisible();
  await expectAccessible(page, "not covered");
  if (isPhone(page)) { for (const name of ["Make the list larger", "Make the list smaller"]) await page.getByRole("button", { name }).click(); }
  await page.getByRole("button", { name: "Legend" }).click();
  await expect(page.getByText("No official warnings are read here")).toBeVisible();
  const nobody = page.locator(".legend h3:has-text('No source reports these') + p");
  await expect(nobody).toContainText("Storm");
  await expect(nobody).not.toContainText("Flood");
  await page.evaluate(() => (location.hash = "map=5/31/-97"));
  await expect(page.locator("#list .row")).toHaveCount(1);
  await expect(page.getByText("No official warnings are read for this area.")).toHaveCount(0);
});
