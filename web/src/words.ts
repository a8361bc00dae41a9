// The page's texts in the reader's language. They are in internal/lang/words, one file per language;
// only the chosen one is loaded. Components read them while rendering, so they render again when
// the language changes.
import { signal } from "@preact/signals";
import { languages, load } from "virtual:words";
import { best as bestOf } from "./language";
import type { AssetsWords, DrawnWords, EditWords, FindWords, MapWords, NamesWords, TellWords } from "./words.types";

export interface Language {
  /** BCP 47. */
  readonly id: string;
  /** In the language itself. */
  readonly name: string;
  readonly dir: "ltr" | "rtl";
  /** Whose dates and numbers are shown, BCP 47. */
  readonly locale: string;
  /** Whether a speaker of the language has checked the translation. */
  readonly checked: boolean;
}

export { languages };

interface Loaded {
  readonly language: Language;
  readonly names: NamesWords;
  readonly map: MapWords;
  /** Of the forms for editors, of the one of subscriptions, of the search for places, and of the places of organizations, once they are wanted. */
  readonly edit: EditWords | undefined;
  readonly tell: TellWords | undefined;
  readonly find: FindWords | undefined;
  readonly assets: AssetsWords | undefined;
  readonly drawn: DrawnWords | undefined;
}
/** The parts that are loaded later. */
type Later = "edit" | "tell" | "find" | "assets";

const current = signal<Loaded | undefined>(undefined);

/** The words of the part of that name, as they are when one of them is read. */
const part = <W extends object>(of: (l: Loaded) => W | undefined): W =>
  new Proxy({} as W, {
    get: (_, key) => {
      const words = current.value && of(current.value);
      if (!words) throw new Error(`${String(key)} is read before the words are loaded`);
      return words[key as keyof W];
    },
  });

export const text = part((l) => l.map);
export const names = part((l) => l.names);
/**
 * Texts for editing, subscriptions, the place search and assets. Load them with `wordsOf` first.
 */
export const words = part((l) => l.edit);
export const tell = part((l) => l.tell);
export const find = part((l) => l.find);
export const assets = part((l) => l.assets);
/** Texts for shapes drawn by sources; loaded together with those of places. */
export const drawn = part((l) => l.drawn);

export const language = (): Language => current.value?.language ?? languages[0]!;
export const locale = (): string => language().locale;

const STORED = "hazardd.language";

/** What the reader has chosen on this device; undefined: as the browser. */
export function chosen(): string | undefined {
  try {
    const id = localStorage.getItem(STORED);
    return languages.find((l) => l.id === id)?.id;
  } catch {
    return undefined;
  }
}

/** The language that the reader has chosen on this device, in which texts of hazards are wished too; undefined: as the browser. */
export const wish = signal(chosen());

/** The best language for a reader of these, the most wanted first. */
export const best = (wanted: readonly string[]): Language => bestOf(languages, wanted);

/** Loads a language and shows the page in it. Throws when it cannot be loaded: the page stays as it is. */
export async function use(id: string): Promise<void> {
  const l = languages.find((x) => x.id === id)!;
  const now = current.peek();
  const of = load[id]!;
  const [map, edit, tell, find, assets] = await Promise.all([of.map(), now?.edit && of.edit(), now?.tell && of.tell(), now?.find && of.find(), now?.assets && of.assets()]);
  current.value = { language: l, ...map.default, edit: edit?.default.edit, tell: tell?.default.tell, find: find?.default.find, assets: assets?.default.assets, drawn: assets?.default.drawn };
  if (typeof document !== "undefined") Object.assign(document.documentElement, { lang: l.id, dir: l.dir });
}

/** Loads the words of a part. */
export async function wordsOf(part: Later): Promise<void> {
  const l = current.peek()!;
  if (l[part]) return;
  const found = (await load[l.language.id]![part]()).default;
  if (current.peek()?.language === l.language) current.value = { ...current.peek()!, ...found };
  else await wordsOf(part); // another language was chosen meanwhile
}

/** Begins in the reader's language; in English when that cannot be loaded. */
export const begin = (): Promise<void> => use(chosen() ?? best(navigator.languages).id).catch(() => use("en"));

/**
 * Applies the reader's choice and stores it on this device; undefined means the browser's language.
 */
export async function choose(id: string | undefined): Promise<void> {
  await use(id ?? best(navigator.languages).id);
  wish.value = id;
  try {
    if (id) localStorage.setItem(STORED, id);
    else localStorage.removeItem(STORED);
  } catch {
    // It holds until the page is closed.
  }
}

const formats = new Map<string, Intl.NumberFormat>();

/** A number as the reader's language writes it. */
export function number(n: number, options: Intl.NumberFormatOptions = {}): string {
  const key = locale() + JSON.stringify(options);
  let f = formats.get(key);
  if (!f) formats.set(key, f = new Intl.NumberFormat(locale(), options));
  return f.format(n);
}

/** Things one after the other: "a, b, c". */
export const listed = (all: readonly string[]): string => new Intl.ListFormat(locale(), { type: "unit", style: "short" }).format(all);

let codes: Map<string, string> | undefined;

/** English names of regions and countries, with commas between them, in the reader's language: countries have names there, regions keep theirs. */
export function lands(english: string): string {
  if (language().id === "en") return english;
  if (!codes) {
    codes = new Map();
    const of = new Intl.DisplayNames("en", { type: "region", fallback: "none" });
    for (let i = 0; i < 676; i++) {
      const code = String.fromCharCode(65 + Math.floor(i / 26), 65 + (i % 26));
      const name = of.of(code);
      if (name) codes.set(name, code);
    }
  }
  const own = new Intl.DisplayNames(locale(), { type: "region" });
  return english.split(", ").map((name) => (codes!.has(name) ? own.of(codes!.get(name)!)! : name)).join(", ");
}

/** Words of a table by an id that may be unknown. */
export const byId = (table: object, id: string): string | undefined => (Object.hasOwn(table, id) ? (table as Record<string, string>)[id] : undefined);
