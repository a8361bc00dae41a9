import { validateStyleMin } from "@maplibre/maplibre-gl-style-spec";
import { expect, test } from "vitest";
import { noFilter } from "../src/filter";
import { DRAWN, queryOf, surfaceAhead } from "../src/map/ahead";
import { layersOf, looks, Surface, type Look } from "../src/map/surface";
import { tilesOf } from "../src/basemap";

// The contrast of the surface of danger, as it is seen in the three color deficiencies (Machado, Oliveira and Fernandes, 2009, at full strength, on linear
// RGB) and in grey. A level counts with its mean color.
type RGB = readonly [number, number, number];
const seenBy: Record<string, readonly RGB[]> = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};
const grounds: Record<"light" | "dark", { land: RGB; sea: RGB }> = { light: { land: [244, 242, 237], sea: [211, 224, 232] }, dark: { land: [33, 42, 49], sea: [13, 20, 26] } };

const linear = (v: number) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
const over = (top: RGB, alpha: number, under: RGB) => top.map((t, i) => alpha * t + (1 - alpha) * under[i]!) as unknown as RGB;
const light = (rgb: readonly number[], how: string) => {
  const l = seenBy[how]!.map((row) => Math.min(1, Math.max(0, row.reduce((sum, m, i) => sum + m * rgb[i]!, 0))));
  return 0.2126 * l[0]! + 0.7152 * l[1]! + 0.0722 * l[2]!;
};
const plain = (c: RGB) => c.map(linear);
function surface({ fill, pattern }: Look, ground: RGB): number[] {
  const base = fill ? over(fill[0], fill[1], ground) : ground;
  if (!pattern) return plain(base);
  const [colour, opacity, share] = pattern;
  const lines = plain(over(colour, opacity, base));
  return plain(base).map((v, i) => share * lines[i]! + (1 - share) * v);
}
const ratio = (a: number, b: number) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

// As measured for the design; one digit after the point.
const wanted: Record<string, readonly (readonly [light: number, dark: number])[]> = {
  // warning : land, : sea, : watch, watch : advisory, line of watch : land, line of advisory : land
  normal: [[3.1, 3.9], [2.8, 4.8], [2.9, 2.6], [1, 1.2], [7, 8.2], [3.4, 3.7]],
  protanopia: [[4.4, 2.8], [4, 3.4], [4, 1.9], [1, 1.1], [7.2, 7.9], [3.2, 3.9]],
  deuteranopia: [[2.6, 4.6], [2.3, 5.7], [2.4, 3.1], [1.1, 1.2], [6.8, 8.4], [3.6, 3.5]],
  tritanopia: [[3.5, 3.7], [2.9, 4.7], [3.2, 2.5], [1, 1.2], [7, 8.1], [3.5, 3.7]],
};

test("the levels keep their contrast, however they are seen", () => {
  for (const [how, list] of Object.entries(wanted)) {
    (["light", "dark"] as const).forEach((theme, i) => {
      const all = looks[theme];
      const { land, sea } = grounds[theme];
      const [l, s] = [light(plain(land), how), light(plain(sea), how)];
      const of = (level: keyof typeof all) => light(surface(all[level], land), how);
      const line = (level: keyof typeof all) => light(plain(over(all[level].line[0], all[level].line[1], land)), how);
      const measured = [ratio(of("WARNING"), l), ratio(light(surface(all.WARNING, sea), how), s), ratio(of("WARNING"), of("WATCH")), ratio(of("WATCH"), of("ADVISORY")), ratio(line("WATCH"), l),
        ratio(line("ADVISORY"), l)];
      measured.forEach((m, j) => expect(Math.abs(m - list[j]![i]!), `${how}, ${theme}, figure ${j}: ${m.toFixed(2)}`).toBeLessThan(0.11));
      for (const level of ["WATCH", "ADVISORY", "INFORMATION"] as const) expect(ratio(line(level), l), `line of ${level}, ${how}, ${theme}`).toBeGreaterThan(3);
    });
  }
});

test("the worst lies above the others, and lines above fills", () => {
  const ids = layersOf("light").map((l) => l.id);
  const at = (id: string) => ids.indexOf(id);
  expect(at("surface-fill-ADVISORY")).toBe(0);
  for (const [a, b] of [["surface-fill-WATCH", "surface-fill-WARNING"], ["surface-fill-WARNING", "surface-fill-worst"], ["surface-fill-worst", "surface-line-ADVISORY"], ["surface-line-WARNING",
    "surface-halo-worst"]]) {
    expect(at(a!), `${a} before ${b}`).toBeLessThan(at(b!));
  }
});

test("the surface is asked for as the list is filtered; drills by themselves", () => {
  expect(queryOf(noFilter, false, undefined, [])).toBe("");
  expect(queryOf(noFilter, true, undefined, [])).toBe("category=EXERCISE");
  expect(queryOf({ ...noFilter, categories: ["EXERCISE"] }, false, undefined, [])).toBeUndefined();
  expect(queryOf({ ...noFilter, categories: ["EVENT", "EXERCISE"], types: ["FLOOD"] }, false, 0, [])).toBe("category=EVENT&type=FLOOD&at=1970-01-01T00%3A00%3A00.000Z");
  expect(queryOf({ ...noFilter, text: "x" }, false, undefined, [3, 5])).toBe("filter=hazard_ID+IN+%283%2C5%29");
  expect(queryOf({ ...noFilter, text: "x" }, false, undefined, [])).toBeUndefined();
});

test("a tile that did not come again stays as it was, and what is there costs a tag", async () => {
  const asked: (string | undefined)[] = [];
  const failing: boolean[] = [];
  let lost = false;
  const surface = new Surface(
    {
      request: async (_, o) => {
        asked.push(o?.headers?.["If-None-Match"]);
        if (lost) throw new Error("lost");
        return asked.length === 1 ? new Response(new Uint8Array([1, 2, 3]), { headers: { ETag: '"a"' } }) : new Response(null, { status: 304 });
      },
    },
    () => 0,
    (are) => failing.push(are),
  );
  const load = async () => new Uint8Array((await surface.load({ url: "hazards://tiles/0/0/0.mvt" }, new AbortController())).data as ArrayBuffer);
  expect(await load()).toEqual(new Uint8Array([1, 2, 3]));
  expect(await load()).toEqual(new Uint8Array([1, 2, 3]));
  lost = true;
  expect(await load()).toEqual(new Uint8Array([1, 2, 3]));
  expect(asked).toEqual([undefined, '"a"', '"a"']);
  expect(failing.at(-1)).toBe(true);
  lost = false;
  await load();
  expect(failing.at(-1)).toBe(false);
  await expect(surface.load({ url: "hazards://tiles/1/0/0.mvt" }, new AbortController())).resolves.toBeDefined();
  surface.end();
});

test("the layers are valid: the map does not look", () => {
  const sources = Object.fromEntries(["surface", "surface-drills"].map((s) => [s, { type: "vector", tiles: ["hazards://tiles/{z}/{x}/{y}.mvt"] }]));
  for (const theme of ["light", "dark"] as const) expect(validateStyleMin({ version: 8, sources, layers: layersOf(theme) } as never)).toEqual([]);
});

test.each(
  [
    // A phone in the middle of the world; between four tiles; across 180 degrees; at the northern end; deeper than there are tiles.
    [{ x: 0.5, y: 0.5 }, 0, { width: 360, height: 300 }, 12, ["0/0/0"]],
    [{ x: 0.5, y: 0.5 }, 4.5, { width: 360, height: 300 }, 12, ["4/7/7", "4/8/7", "4/7/8", "4/8/8"]],
    [{ x: 0, y: 0.55 }, 3, { width: 360, height: 300 }, 12, ["3/7/4", "3/0/4"]],
    [{ x: 0.3, y: 0.01 }, 2, { width: 360, height: 300 }, 12, ["2/0/0", "2/1/0"]],
    [{ x: 0.3, y: 0.3 }, 9, { width: 360, height: 300 }, 7, ["7/38/38"]],
  ] as const,
)("the tiles around %j at zoom %d", ({ x, y }, zoom, size, deepest, want) => {
  const latitude = (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI;
  expect(tilesOf({ center: [360 * x - 180, latitude], zoom }, size, deepest).map((t) => t.join("/"))).toEqual(want);
});

test("the tiles are asked for with all that their layers draw", () => {
  const of = (part: string) => new RegExp(`${part}=([^&]*)`).exec(DRAWN)![1]!.split(",");
  const drawn = JSON.stringify([layersOf("light"), layersOf("dark")]);
  expect(new Set([...drawn.matchAll(/"source-layer":"(\w+)"/g)].map((m) => m[1]))).toEqual(new Set(of("layers")));
  expect(new Set([...drawn.matchAll(/\["get","(\w+)"\]/g)].map((m) => m[1]))).toEqual(new Set(of("properties")));
});

test("a tile that was asked for ahead is not asked for again, unless that failed or the list is newer", async () => {
  const asked: string[] = [];
  let change = 7;
  const api = {
    request: async (path: string) => {
      asked.push(path);
      if (asked.length === 1) throw new Error("lost");
      return new Response(new Uint8Array([1]), { headers: { ETag: '"a"', "Hazardd-Change": "7" } });
    },
  };
  const surface = new Surface(api, () => change, () => {});
  surfaceAhead(api, { center: [0, 0], zoom: 1 }, { width: 100, height: 100 }, noFilter, undefined);
  const at = (tile: string) => `/tiles/1/${tile}.mvt?${DRAWN}`;
  expect(asked).toEqual(["0/0", "1/0", "0/1", "1/1"].map(at));
  for (const tile of ["0/0", "1/0"]) await surface.load({ url: `hazards:/${at(tile)}` } as never, new AbortController());
  expect(asked.slice(4)).toEqual([at("0/0")]);
  change = 8;
  await surface.load({ url: `hazards:/${at("0/1")}` } as never, new AbortController());
  expect(asked.slice(5)).toEqual([at("0/1")]);
});
