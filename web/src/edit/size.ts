// What a size means to people.
import { number, words } from "../words";
import type { EditWords } from "../words.types";

/** Well-known sizes in square kilometers, land and water, smallest first. */
const known: readonly (readonly [size: number, name: keyof EditWords["sizes"]])[] = [
  [0.00714, "pitch"],
  [0.44, "vatican"],
  [2.02, "monaco"],
  [21, "nauru"],
  [61, "sanmarino"],
  [160, "liechtenstein"],
  [735, "singapore"],
  [2_586, "luxembourg"],
  [9_251, "cyprus"],
  [30_689, "belgium"],
  [83_879, "austria"],
  [243_610, "uk"],
  [551_695, "france"],
  [1_564_116, "mongolia"],
  [3_287_263, "india"],
  [7_741_220, "australia"],
  [30_370_000, "africa"],
  [510_065_000, "earth"],
];

/** A size that people can picture: "about 2.4 times Luxembourg". */
export function comparison(km2: number): string {
  const [size, id] = known.filter(([s]) => s <= km2 * 1.15).at(-1) ?? known[0]!;
  const times = km2 / size;
  const name = words.sizes[id];
  if (times < 0.85) return words.compared.smaller({ name });
  if (times <= 1.15) return words.compared.same({ name });
  return words.compared.times({ times: number(times < 10 ? Math.round(times * 10) / 10 : Math.round(times)), name });
}
