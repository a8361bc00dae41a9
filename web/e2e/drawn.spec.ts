// What sources draw of the selected hazard: on the map, and named in the panel.
import { expect, expectAccessible, open, select, test } from "./test";
import type { Hazard } from "../src/model";

const hour = 3_600_000;

test("a fire shows how it grew, with times, and takes it off the map when it is closed", { tag: "@slow" }, async ({ page, server }) => {
  const now = Date.now();
  for (const [size, at] of [[0.05, now - 30 * hour], [0.1, now - 2 * hour]] as const) {
    server.import("nifc", {
      type: "FeatureCollection",
      features: [{
        type: "Feature",
        geometry: { type: "Polygon", coordinates: [[[-118.8, 36.5], [-118.8 + size, 36.5], [-118.8 + size, 36.5 + size], [-118.8, 36.5 + size], [-118.8, 36.5]]] },
        properties: {
          poly_IncidentName: "Ridge",
          poly_DateCurrent: at,
          poly_PolygonDateTime: at,
          attr_IncidentName: "Ridge",
          attr_IrwinID: "{BA2C4EC7-36BF-4B79-B6D1-8706200326BF}",
          attr_IncidentTypeCategory: "WF",
          attr_FireDiscoveryDateTime: now - 40 * hour,
          attr_ModifiedOnDateTime_dt: at,
          attr_POOState: "US-CA",
          attr_IncidentSize: 20_000 * size,
        },
      }],
    });
  }
  const found = async () => (await server.call<Hazard[]>("GET", "/hazards/active")).find((h) => h.hazard_Name.includes("Ridge"));
  await expect.poll(found).toBeTruthy();
  await open(page, "#map=9/36.5/-118.7");
  const p = await select(page, (await found())!);
  await expect(p.getByText("Drawn by sources")).toBeVisible();
  await expect(p.getByRole("listitem").filter({ hasText: /perimeter · \d/ })).toHaveCount(2);
  await expect(p.getByText("How it grew")).toBeVisible();
  await expect(p.locator("dd", { hasText: "hectares" })).toHaveText(["810 hectares", "400 hectares"]);
  await expectAccessible(page, "the panel with what is drawn");
  await p.getByRole("button", { name: "Close" }).click();
  await expect(page.getByText(/perimeter · \d/)).toHaveCount(0);
});
