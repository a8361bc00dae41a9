import { expect, open, patience, row, select, test } from "./test";

test("a change is on the page within a second of its write, without a reload", async ({ page, server }) => {
  await server.hazard("Flood - Old Harbour");
  await open(page, "#map=7/53.5/10");
  await expect(page.locator("#list .row")).toHaveCount(1);
  await page.evaluate(() => {
    const seen = ((window as unknown as { seen: Record<string, number> }).seen = {});
    new MutationObserver(() => {
      for (const name of document.querySelectorAll("#list .row-name")) (seen as Record<string, number>)[name.textContent!.trim()] ??= Date.now();
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  // The best of three: what is measured is the service and the page, not the machine's other tasks.
  const waits: number[] = [];
  for (const name of ["First spill", "Second spill", "Third spill"]) {
    const h = await server.hazard(name, { type_ID: "ACCIDENT", latitude: 53.6 });
    const written = Date.now();
    await expect(row(page, h)).toBeVisible();
    const seen = await page.evaluate((n) => (window as unknown as { seen: Record<string, number> }).seen[n]!, name);
    waits.push(seen - written);
  }
  test.info().annotations.push({ type: "milliseconds from the write's answer to the row", description: waits.join(", ") });
  expect(Math.min(...waits)).toBeLessThan(1_000 * patience());

  // What is worse is announced, what is open follows, what is over goes.
  const third = (await server.call<{ uuid: string; hazard_ID: number; hazard_Name: string }[]>("GET", "/hazards/active")).find((h) => h.hazard_Name === "Third spill")!;
  const side = await select(page, third);
  await server.call("PATCH", `/hazards/${third.hazard_ID}`, { severity_ID: "WARNING", description: "Chlorine from a tank" });
  await expect(side.locator(".badge").first()).toHaveText("Warning");
  await expect(side.getByText("Chlorine from a tank", { exact: true })).toBeVisible(); // the headline has it, too
  await expect(page.getByText("Raised to Warning: Third spill.")).toBeAttached();
  await server.call("POST", `/hazards/${third.hazard_ID}/products`, { title: "Wind at the tank", product_Type: "TEXT_PRODUCT", data: "West 4" });
  await expect(side.getByText("Wind at the tank")).toBeVisible();
  await server.call("PATCH", `/hazards/${third.hazard_ID}`, { status: "E" });
  await expect(side.getByText("This hazard is over.")).toBeVisible();
  await expect(row(page, third)).toHaveCount(0);
});

test("a server that is gone is told at once; the page heals by itself, with what came meanwhile", async ({ page, server, watch }) => {
  watch.expectFailures(/net::ERR_/);
  await server.hazard("Flood - Old Harbour");
  await open(page, "#map=7/53.5/10");
  await expect(page.locator("#list .row")).toHaveCount(1);
  await server.down();
  await expect(page.getByText(/^No connection since/)).toBeVisible();
  await expect(page.getByText(/What you see is as of/)).toBeVisible();
  await expect(page.locator("#list .row")).toHaveCount(1);
  await server.up();
  const missed = await server.hazard("Came while the server was away", { latitude: 53.6 });
  await expect(row(page, missed)).toBeVisible();
  await expect(page.getByText(/^No connection since/)).toHaveCount(0);
  await expect(page.getByRole("button", { name: /^Live/ })).toBeVisible();
});
