// The words of all languages, internal/lang/words/*.json, for the map: a plugin of Vite, and types for TypeScript.
//
// Messages are ICU messages (https://unicode-org.github.io/icu/userguide/format_parse/messages/). They are compiled when the map is built:
// what a browser loads is the words of one language, as strings and small functions, without a parser.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import MessageFormat from "@messageformat/core";
import compileModule from "@messageformat/core/compile-module.js";
import { parse } from "@messageformat/parser";

const folder = new URL("../internal/lang/words/", import.meta.url);

/** Parts of the words, each a file of its own: those that a first visit needs, those of editors, those of subscriptions, those of the search for places, and those of what is drawn beside hazards: places of members, shapes of sources. The widget has a build of its own, and one part. */
const map = { map: ["names", "map"], edit: ["edit"], tell: ["tell"], find: ["find"], assets: ["assets", "drawn"] };
export const embed = { embed: ["names", "embed"] };

/** All languages as their files have them, English first. */
export function languages() {
  const all = readdirSync(folder).filter((name) => name.endsWith(".json")).map((name) => ({ file: name, ...JSON.parse(readFileSync(new URL(name, folder), "utf8")) }));
  return all.sort((a, b) => Number(b.language.id === "en") - Number(a.language.id === "en") || a.language.id.localeCompare(b.language.id));
}

/** What a message needs to be told, by name: "number", or "string". */
export function argumentsOf(message) {
  const found = new Map();
  const walk = (tokens) => {
    for (const t of tokens) {
      if (t.type === "argument") found.set(t.arg, found.get(t.arg) ?? "string");
      if (t.type === "function" || t.type === "plural" || t.type === "selectordinal") found.set(t.arg, "number");
      if (t.type === "select") found.set(t.arg, found.get(t.arg) ?? "string");
      for (const c of t.cases ?? []) walk(c.tokens);
    }
  };
  walk(parse(message));
  return found;
}

const isPlain = (message) => !message.includes("{");

/** JavaScript whose default export is the words: text is text, what has arguments is a function. */
function code(words, id) {
  const functions = {};
  const list = [];
  const write = (node) => {
    if (typeof node === "string") {
      if (isPlain(node)) return JSON.stringify(node);
      functions[`m${list.length}`] = node;
      list.push(node);
      return `messages.m${list.length - 1}`;
    }
    return `{${Object.entries(node).map(([key, value]) => `${JSON.stringify(key)}: ${write(value)}`).join(", ")}}`;
  };
  const object = write(words);
  const module = compileModule(new MessageFormat(id), functions).replace("export default {", "const messages = {");
  return `${module}\nexport default ${object};\n`;
}

/** The types of the words, as English has them. */
export function types() {
  const { language, page, notice, file, headline, ...english } = languages()[0];
  const write = (node) => {
    if (typeof node !== "string") return `{ ${Object.entries(node).map(([key, value]) => `readonly ${JSON.stringify(key)}: ${write(value)};`).join(" ")} }`;
    if (isPlain(node)) return "string";
    return `(a: { ${[...argumentsOf(node)].map(([name, type]) => `readonly ${name}: ${type === "number" ? "number" : "string | number"};`).join(" ")} }) => string`;
  };
  return `// Made by words.mjs from internal/lang/words/en.json. Do not edit.\n${
    Object.entries(english).map(([name, node]) => `export interface ${name[0].toUpperCase()}${name.slice(1)}Words ${write(node)}`).join("\n")
  }\n`;
}

/** The plugin: virtual:words lists the languages and loads their words. */
export function words(parts = map) {
  return {
    name: "words",
    resolveId: (id) => (id === "virtual:words" || id.startsWith("virtual:words/") ? `\0${id}` : undefined),
    load(id) {
      if (!id.startsWith("\0virtual:words")) return undefined;
      const all = languages();
      for (const l of all) this.addWatchFile?.(new URL(l.file, folder).pathname);
      const [, of, part] = id.split("/");
      if (!of) {
        const load = all.map((l) => `${JSON.stringify(l.language.id)}: { ${Object.keys(parts).map((p) => `${p}: () => import("virtual:words/${l.language.id}/${p}")`).join(", ")} }`);
        return `export const languages = ${JSON.stringify(all.map((l) => l.language))};\nexport const load = { ${load.join(", ")} };\n`;
      }
      const l = all.find((x) => x.language.id === of);
      return code(Object.fromEntries(parts[part].map((p) => [p, l[p]])), of);
    },
  };
}

/** The name of the file that a chunk of the build becomes, if it is words: those of English are part of a first load, as one language is. */
export function wordsFile(chunk) {
  const found = /virtual:words\/([^/]+)\/(\w+)/.exec(chunk.facadeModuleId ?? "");
  return found && `assets/${found[1] === "en" && found[2] === "map" ? "" : "later-"}words-${found[1]}-${found[2]}-[hash].js`;
}

if (process.argv[1] === new URL(import.meta.url).pathname) writeFileSync(new URL("src/words.types.ts", import.meta.url), types());
