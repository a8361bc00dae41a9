import { expect, test, vi } from "vitest";
import { validateStyleMin } from "@maplibre/maplibre-gl-style-spec";
import { basemapStyle, palettes } from "../src/basemap";
import { colours, covers, credits, SOURCE, streetLayers, type Streets } from "../src/streets";

globalThis.location ??= new URL("https://hazards.example/map/") as unknown as Location;
const streets: Streets = { source: { type: "vector", tiles: ["https://hazards.example/{z}/{x}/{y}.mvt"] }, deepest: 14, bounds: [9, 53, 11, 54] };

test.each(["light", "dark"] as const)("the %s style with streets is valid", (theme) => {
  const style = basemapStyle(theme);
  const { ground, words } = streetLayers(theme, "es");
  expect(validateStyleMin({ ...style, sources: { ...style.sources, [SOURCE]: streets.source }, layers: [...style.layers, ...ground, ...words] })).toEqual([]);
});

test("names are in the reader's language where the tiles have them", () => {
  const names = streetLayers("light", "es").words.map((l) => JSON.stringify(l.layout));
  for (const n of names) expect(n).toContain('["coalesce",["get","name:es"],["get","name"],""]');
});

test("streets are drawn where they are", () => {
  expect([covers(streets, 10, 53.5), covers(streets, 370, 53.5), covers(streets, 12, 53.5), covers(streets, 10, 55)]).toEqual([true, true, false, false]);
});

// Contrast as WCAG 2.2 defines it.
const luminance = (hex: string) => {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const v = Number.parseInt(hex.slice(i, i + 2), 16) / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
test.each(["light", "dark"] as const)("words can be read on what streets of the %s theme have", (theme) => {
  for (const ground of Object.values(colours[theme])) {
    const [a, b] = [luminance(palettes[theme].city), luminance(ground)];
    expect((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), ground).toBeGreaterThanOrEqual(4.5);
  }
});

test("credits are OpenStreetMap's, and what the archive says beyond that, as text", () => {
  vi.stubGlobal(
    "DOMParser",
    class {
      parseFromString = (html: string) => ({ body: { textContent: html.replace(/<[^>]*>/g, "") } });
    },
  );
  expect(credits("<b>© OpenStreetMap</b>")).not.toContain("·");
  expect(credits("<a onclick=x>Maps & co</a>")).toMatch(/OpenStreetMap contributors<\/a> · Maps &#38; co$/);
  vi.unstubAllGlobals();
});
