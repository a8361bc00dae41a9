// What a hazard did and will do, in its panel: a storm's forecasts beside what came, the towns that an earthquake shook, the coasts that a wave reaches.
import type { Page } from "@playwright/test";
import { expect, expectAccessible, open, select, test } from "./test";

const hour = 3_600_000;

/** The answer of the server, with more of what it says of people. */
async function tells(page: Page, more: object): Promise<void> {
  const none = { people: null, low: null, high: null, text: "not known", why: "", method: "", year: null, terms: "", bands: [], places: [], regions: [], regions_text: "", assets: [] };
  await page.route("**/exposure?*", (route) => route.fulfill({ json: { ...none, ...more } }));
}

test("a storm plays from forecast to forecast, with the keyboard too, beside what came", { tag: "@slow" }, async ({ page, server }) => {
  const h = await server.hazard("Hurricane Ida", { type_ID: "CYCLONE", latitude: 29, longitude: -90 });
  const began = Date.now() - 24 * hour;
  const position = (at: number, lon: number, lat: number, value: number, since?: number) => ({
    type: "Feature",
    geometry: { type: "Point", coordinates: [lon, lat] },
    properties: {
      role: "position",
      from: new Date(began + at * hour).toISOString(),
      forecast: since !== undefined,
      title: "Position",
      color: "#d7301f",
      source: "nhc",
      part: "forecast",
      band: "wind_kmh",
      value,
      unit: "km/h",
      since: new Date(began + (since ?? at) * hour).toISOString(),
    },
  });
  const features = [position(0, -87, 26, 150), position(12, -88.5, 27.5, 180), position(24, -90, 29, 240), position(24, -90, 30, 200, 0), position(36, -91, 31, 120, 0),
    position(24, -90, 29.1, 230, 12), position(48, -92, 32, 80, 24)];
  await page.route("**/shapes?earlier=true&role=position", (route) => route.fulfill({ contentType: "application/geo+json", json: { type: "FeatureCollection", features } }));
  await tells(page, { arrivals: [{ by: new Date(began + 30 * hour).toISOString(), country: "US", town: "New Orleans", lon: -90, lat: 30, kind: "wind_kmh", value: 119 }] });
  await open(page, "#map=5/29/-90");
  const p = await select(page, h);
  await expect(p.getByText("New Orleans")).toBeVisible();
  await p.getByText("What was forecast, and what came").click();
  const slider = p.getByRole("slider");
  await expect(slider).toHaveAttribute("aria-valuetext", /^nhc, /);
  await expect(slider).toHaveValue("0"); // of the day before
  await expect(p.getByText("111 km from where it was forecast · wind 200 km/h forecast, 240 km/h came")).toBeVisible();
  await expect(p.getByText("120 km/h · not yet")).toBeVisible();
  await slider.press("ArrowRight");
  await expect(p.getByText("11 km from where it was forecast")).toBeVisible();
  await p.getByRole("button", { name: "Play" }).click();
  await expect(slider).toHaveValue("2");
  await expect(p.getByRole("button", { name: "Play" })).toBeVisible(); // it stops at the last
  await expectAccessible(page, "the forecasts of a storm");
  await p.getByRole("button", { name: "Close" }).click();
  await expect(page.getByText("What was forecast, and what came")).toHaveCount(0);
});

test("an earthquake says which towns it shook, and that this is estimated; a wave, when it is where", { tag: "@slow" }, async ({ page, server }) => {
  const quake = await server.hazard("M 6.2 Earthquake", { type_ID: "EARTHQUAKE", latitude: 40.8, longitude: 28.2 });
  await server.hazard("M 5.0 Earthquake", { type_ID: "EARTHQUAKE", latitude: 40.9, longitude: 28.3 });
  const by = new Date(Date.now() + hour).toISOString();
  await tells(page, {
    arrivals: [{ by, country: "", coast: "Miyako, 3 m" }, { by, country: "", coast: "Ofunato, measured 0.2 m", observed: true }],
    shaking: [{ town: "Silivri", country: "TR", lon: 28.2, lat: 41.1, intensity: 6.4, text: "strong shaking", estimated: true }],
  });
  await open(page, "#map=7/40.8/28.3");
  const p = await select(page, quake);
  await expect(p.getByText("strong shaking (6)")).toBeVisible();
  await expect(p.getByText("Estimated from magnitude")).toBeVisible();
  await expect(p.getByText("Miyako, 3 m")).toBeVisible();
  await expect(p.locator("strong", { hasText: "measured 0.2 m" })).toBeVisible();
  await expectAccessible(page, "the towns that an earthquake shook");
  await p.getByRole("button", { name: "Earthquake 55 km west of Istanbul" }).press("Enter");
  await expect(page.getByRole("heading", { name: "M 5.0 Earthquake" })).toBeVisible();
});
