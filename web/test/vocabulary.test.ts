import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { names } from "../src/words";
import { categories, severities, types } from "../src/vocabulary";

const src = new URL("../src", import.meta.url).pathname;

test("the colors of levels are written in one place", () => {
  const short = (c: string) => c.replace(/^#(.)\1(.)\2(.)\3$/, "#$1$2$3");
  const colors = severities.flatMap((s) => [s.colour, short(s.colour)]).filter((c) => !c.startsWith("#666")); // that grey is of other things too
  const found = readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(css|tsx?)$/.test(name) && !/^(vocabulary\.|openapi\.types)/.test(name))
    .flatMap((name) =>
      readFileSync(join(src, name), "utf8").split("\n").filter((l) => colors.some((c) => new RegExp(`${c}\\b`, "i").test(l)) && !l.includes("<circle")).map((l) => `${name}: ${l.trim()}`)
    ); // the mark of the program is a circle
  expect(found).toEqual([]);
});

test("all that the vocabularies have is named", () => {
  expect([severities.every((s) => names.severity[s.id]), categories.every((c) => names.category[c]), types.every((t) => names.type[t])]).toEqual([true, true, true]);
});
