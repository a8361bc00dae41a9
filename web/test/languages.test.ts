import { parse, type Token } from "@messageformat/parser";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { argumentsOf, languages } from "../words.mjs";
import { best } from "../src/words";

const folder = new URL("../src", import.meta.url).pathname;
const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((f) => /\.tsx?$/.test(f) && f !== "words.types.ts");
const code = sources.map((f) => readFileSync(join(folder, f), "utf8")).join("\n");

/** All messages of a language by their path: "map.list.title". */
function messages(node: unknown, path: readonly string[] = []): Map<string, string> {
  if (typeof node === "string") return new Map([[path.join("."), node]]);
  return new Map(Object.entries(node as object).flatMap(([key, value]) => [...messages(value, [...path, key])]));
}
const parts = ({ file: _, language: __, ...words }: Record<string, unknown>) => messages(words);

const [english, ...others] = languages();
const words = parts(english!);

/** The plurals of a message: what each is of, and the forms it has. */
function plurals(tokens: readonly Token[]): { arg: string; keys: readonly string[] }[] {
  return tokens.flatMap((t) => ("cases" in t ? [...(t.type === "plural" ? [{ arg: t.arg, keys: t.cases.map((c) => c.key) }] : []), ...t.cases.flatMap((c) => plurals(c.tokens))] : []));
}

test("English comes first, and every language has what is shown of it", () => {
  expect(english!.language.id).toBe("en");
  for (const { language: l, file } of languages()) {
    expect(file).toBe(`${l.id}.json`);
    expect([l.dir, typeof l.checked, l.name.length > 1]).toEqual([/^(ar|he|fa|ur)\b/.test(l.id) ? "rtl" : "ltr", "boolean", true]);
    expect(Intl.DateTimeFormat.supportedLocalesOf(l.locale)).toEqual([l.locale]);
  }
});

test("no word of English is left over: each is read somewhere", () => {
  const used = (path: string) => {
    const [part, ...keys] = path.split(".");
    const table = { map: "text", edit: "words", embed: "words", tell: "tell", assets: "assets", names: "names" }[part!];
    return keys.some((_, i) => {
      const name = [table, ...keys.slice(0, i + 1)].join(".").replaceAll(".", "\\.");
      return new RegExp(i + 1 === keys.length ? `\\b${name}\\b` : `\\b${name}(\\[|[,)] )|byId\\(${name},`).test(code);
    });
  };
  expect([...words.keys()].filter((path) => !/^(page|notice|headline)\./.test(path) && !used(path))).toEqual([]);
});

describe.each([english!, ...others].map((l) => [l.language.id, l] as const))("%s", (id, l) => {
  const own = parts(l);
  test("has each word of English, and no other", () => {
    expect([...words.keys()].filter((path) => !own.has(path)), "missing").toEqual([]);
    expect([...own.keys()].filter((path) => !words.has(path)), "superfluous").toEqual([]);
    // Between the parts of a headline there may be nothing but a space.
    expect([...own].filter(([path, m]) => m.trim() === "" && !path.startsWith("headline.")).map(([path]) => path), "empty").toEqual([]);
  });
  test("has the placeholders of English", () => {
    const wrong = [...own].filter(([path, m]) => {
      const of = (m: string) => JSON.stringify([...argumentsOf(m).entries()].sort());
      // The service makes headlines, and a language may leave out a comma that it does not write.
      return !path.startsWith("headline.") && words.has(path) && of(m) !== of(words.get(path)!);
    });
    expect(wrong).toEqual([]);
  });
  test("has a form for each number that it speaks of, and no form that it does not have", () => {
    const rules = new Intl.PluralRules(id);
    const wanted = new Set(Array.from({ length: 1_000 }, (_, n) => rules.select(n)));
    for (const [path, m] of own) {
      for (const p of plurals(parse(m))) {
        expect(p.keys.filter((k) => !k.startsWith("=") && !(rules.resolvedOptions().pluralCategories as string[]).includes(k)), `${path}: forms that ${id} does not have`).toEqual([]);
        const forms = p.keys.filter((k) => !k.startsWith("="));
        if (forms.join() !== "other") expect([...wanted, "other"].filter((k) => !forms.includes(k)), `${path}: forms that are missing`).toEqual([]);
      }
    }
  });
});

test.each([
  [["nl-BE", "pt-BR", "en"], "pt"],
  [["zh-Hant-TW", "ar-EG"], "zh"],
  [["ru-KZ"], "ru"],
  [["uk-UA", "ru"], "uk"],
  [["tr-TR"], "tr"],
  [["en-US", "fr"], "en"],
  [["in", "nl"], "en"],
  [["de-CH"], "de"],
  [["it-CH"], "it"],
  [[], "en"],
])("a reader of %j gets %s", (wanted, id) => expect(best(wanted).id).toBe(id));
