// What nobody is asked about must not look like "no hazards".
import { expect, expectAccessible, isPhone, open, test } from "./test";

const box = (west: number, south: number, east: number, north: number) => ({ type: "Polygon", coordinates: [[[west, south], [east, south], [east, north], [west, north], [west, south]]] });
const country = (code: string, state: string, at: readonly [number, number, number, number]) => ({
  type: "Feature",
  id: `country:${code}`,
  bbox: at,
  geometry: box(...at),
  properties: { kind: "country", code, name: code, state, types: {}, sources: [], responsible: [] },
});

test("a window without any official source says so, and the map hatches it", async ({ page, server }) => {
  await page.route(/\/hazards\/active(\?|$)/, async (route) => {
    const answer = await route.fetch().catch(() => undefined);
    if (answer) await route.fulfill({ response: answer, headers: { ...answer.headers(), "hazardd-sources": 'ok=1; stale=0; failing=0; names=""' } });
  });
  await page.route(
    "**/coverage",
    (route) =>
      route.fulfill({
        contentType: "application/geo+json",
        json: { type: "FeatureCollection", world: {}, features: [country("HT", "unknown", [-74.5, 18, -71.6, 20.1]), country("US", "covered", [-125, 25, -67, 49])] },
      }),
  );
  await server.hazard("Flood - Texas", { latitude: 31, longitude: -97 });
  await open(page, "#map=7/19/-73");
  await expect(page.getByText("No official warnings are read for this area.")).toBeVisible();
  await expectAccessible(page, "not covered");
  if (isPhone(page)) { for (const name of ["Make the list larger", "Make the list smaller"]) await page.getByRole("button", { name }).click(); }
  await page.getByRole("button", { name: "Legend" }).click();
  await expect(page.getByText("No official warnings are read here")).toBeVisible();
  await page.evaluate(() => (location.hash = "map=5/31/-97"));
  await expect(page.locator("#list .row")).toHaveCount(1);
  await expect(page.getByText("No official warnings are read for this area.")).toHaveCount(0);
});
