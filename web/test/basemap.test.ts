import { describe, expect, test } from "vitest";
import { validateStyleMin } from "@maplibre/maplibre-gl-style-spec";
import { basemapStyle, palettes } from "../src/basemap";

// Contrast as WCAG 2.2 defines it.
function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const v = Number.parseInt(hex.slice(i, i + 2), 16) / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
const contrast = (a: string, b: string) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);

globalThis.location ??= new URL("https://hazards.example/map/") as unknown as Location;

describe.each(["light", "dark"] as const)("the %s theme", (theme) => {
  const c = palettes[theme];

  test("is a valid style", () => expect(validateStyleMin(basemapStyle(theme))).toEqual([]));

  test("needs nothing from elsewhere", () => {
    const style = basemapStyle(theme);
    expect([style.glyphs, style.sprite]).toEqual([undefined, undefined]);
    expect(Object.values(style.sources)).toEqual([expect.objectContaining({ tiles: [expect.stringMatching(/^pmtiles:\/\/https:\/\/hazards\.example\//)] })]);
  });

  test.each(
    [
      ["country", "land"],
      ["country", "sea"],
      ["city", "land"],
      ["city", "sea"],
      ["water", "sea"],
      ["city", "river"],
      ["city", "shelf"],
    ] as const,
  )("words of a %s on %s can be read", (word, ground) => expect(contrast(c[word], c[ground])).toBeGreaterThanOrEqual(4.5));
});
