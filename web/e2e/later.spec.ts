// A network that is gone for a moment: what is loaded later is asked for again.
import { expect, gate, isPhone, logIn, open, test } from "./test";

test("the map's code is asked for again when it did not come, and the reader is told", async ({ page, server, watch }) => {
  watch.expectFailures(/ERR_CONNECTION_RESET/);
  await server.hazard("Flood - Old Harbour");
  const told = gate();
  let fail = isPhone(page) ? 1 : 2; // a wide window asks for it while somebody logs in, too
  await page.route("**/assets/view-*.js", async (route) => {
    if (fail-- > 0) return route.abort("connectionreset");
    await told.passed;
    await route.continue();
  });
  await logIn(page, "#map=5/53.5/10");
  const note = page.getByRole("alert").filter({ hasText: "The map could not be loaded. Trying again" });
  await expect(note).toBeVisible();
  await expect(note.getByRole("button", { name: "Try again" })).toBeVisible();
  if (isPhone(page)) await expect(page.locator(".map-move")).toContainText("could not be loaded");
  told.open();
  await expect(page.locator("#map canvas")).toBeVisible({ timeout: 60_000 });
  await expect(note).toHaveCount(0);
  await expect(page.locator(".map-failed")).toHaveCount(0);
  await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
});

test("a part that did not come says so, and comes", async ({ page, watch }) => {
  watch.expectFailures(/ERR_CONNECTION_RESET/);
  const told = gate();
  let asked = 0;
  await page.route("**/assets/later-timebar-*.js", async (route) => {
    if (asked++ === 0) return route.abort("connectionreset");
    await told.passed;
    await route.continue();
  });
  await open(page);
  await page.getByTitle("Look at another time").click();
  await expect(page.getByText("Could not be read.")).toBeVisible();
  told.open();
  await expect(page.locator(".timebar")).toBeVisible();
  await expect(page.getByText("Could not be read.")).toHaveCount(0);
});
