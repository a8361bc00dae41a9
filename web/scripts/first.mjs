// Builds the first script, src/first.ts, with the names of the files that it asks for, and writes it into the page; and src/stay.ts, which stands in
// both pages itself. It runs after vite.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "vite";
import { languages, words } from "../words.mjs";

const dist = new URL("../dist/", import.meta.url);
const page = readFileSync(new URL("index.html", dist), "utf8");
const all = readdirSync(new URL("assets/", dist));
const names = all.filter((name) => name.endsWith(".js"));

/** The file whose name begins so, and those that it cannot do without, unless the page asks for them by itself. */
function files(prefix) {
  const found = new Set([names.find((name) => name.startsWith(prefix))]);
  for (const name of found) {
    for (const [, to] of readFileSync(new URL(`assets/${name}`, dist), "utf8").matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) found.add(to);
  }
  return [...found].map((name) => `assets/${name}`).filter((file) => !page.includes(file));
}

/** The code of a script that needs no other file. */
async function script(input, define = {}) {
  const { output: [{ code }] } = await build({
    configFile: false,
    logLevel: "warn",
    root: new URL("..", import.meta.url).pathname,
    plugins: [words()],
    define,
    build: {
      target: "es2022",
      write: false,
      modulePreload: { polyfill: false },
      // Of the modules that it shares with the page it needs a function or two.
      rolldownOptions: { input, treeshake: { moduleSideEffects: false }, output: { format: "iife" } },
    },
  });
  return code.trim();
}

const code = await script("src/first.ts", {
  LANGUAGES: JSON.stringify(languages().map(({ language: { id, locale } }) => ({ id, locale, files: files(`${id === "en" ? "" : "later-"}words-${id}-map-`) }))),
  PICTURE: JSON.stringify(files("later-picture-")),
  MAP: JSON.stringify([...["maplibre-shared-", "maplibre-worker-", "view-"].flatMap(files), `assets/${all.find((name) => /^view-.*\.css$/.test(name))}`]),
});
const name = `assets/first-${createHash("sha256").update(code).digest("hex").slice(0, 12)}.js`;
writeFileSync(new URL(name, dist), code);
// At the end of the page: all that it looks for is there, whenever it comes.
writeFileSync(new URL("index.html", dist), page.replace("</body>", `  <script async fetchpriority="high" src="./${name}"></script>\n  </body>`));
const stay = await script("src/stay.ts");
for (const document of ["index.html", "embed.html"]) {
  const file = new URL(document, dist);
  writeFileSync(file, readFileSync(file, "utf8").replace("</title>", () => `</title>\n    <script>${stay}</script>`));
}
