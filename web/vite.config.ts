import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { words, wordsFile } from "./words.mjs";

// The address of a running hazardd, for `npm run dev`.
const service = process.env["HAZARDD"] ?? "http://127.0.0.1:8080";
const paths = ["/authorize", "/session", "/hazards", "/products", "/sources", "/events", "/changes", "/symbols", "/icons", "/h/"];

/** MapLibre's style sheet without the controls that the map does not have: their pictures are most of it. */
const unused = /-(ctrl-(icon|geolocate|compass|logo|zoom|shrink|fullscreen|globe|terrain)|popup|user-location|cooperative|marker|crosshair|mobile-message|desktop-message)/;
const usedStyles = {
  name: "used-styles",
  enforce: "pre" as const,
  transform: (code: string, id: string) => (id.endsWith("/maplibre-gl.css") ? code.replace(/[^{}]+\{[^{}]*\}/g, (rule) => (unused.test(rule.slice(0, rule.indexOf("{"))) ? "" : rule)) : undefined),
};

export const preload = {
  name: "preload",
  enforce: "pre" as const,
  load: (id: string) => (id.includes("vite/preload-helper") ? readFileSync(new URL("src/preload.js", import.meta.url), "utf8") : undefined),
};

/** The modules that src/main.tsx cannot do without. */
const began = new RegExp(
  "node_modules/(preact|@preact)/|src/(again|api|attention|begin|diff|events|filter|freshness|geometry|importance|instant|language|latest|live|mend|model|" +
    "offline|order|place|position|since|store|time|towns|url|vocabulary|words)\\.ts|src/ui/(context|filters|later|language|list|login|overlays|parts|shell|status)\\.ts|" +
    "src/edit/(parts|state|undo)\\.ts|src/map/(areas|library)\\.ts",
);

export default defineConfig({
  // All addresses are relative to the page: the service may live below a path of its host.
  base: "./",
  plugins: [words(), usedStyles, preload],
  // MapLibre in three files: see scripts/maplibre.mjs.
  resolve: { alias: [{ find: /^maplibre-gl$/, replacement: fileURLToPath(new URL("maplibre/index.js", import.meta.url)) }] },
  build: {
    target: "es2022",
    // No data: addresses, no inline script: the policy forbids what they would need.
    assetsInlineLimit: 0,
    // A module that <link rel="modulepreload"> could not load stays lost to the page, however often it is imported.
    // What is loaded later comes by src/preload.js. When one of the page's own modules is lost, src/stay.ts begins the page again.
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1200,
    // What is not part of a first load has a name that says so: scripts/compress.mjs counts the rest.
    rolldownOptions: {
      output: {
        // What the page begins with is one file: it is asked for at once, and compresses better.
        codeSplitting: { groups: [{ name: "page", test: began }] },
        // The worker knows the file that it shares with the page by the name that it has already.
        assetFileNames: (asset) => `assets/[name]${asset.names[0]?.startsWith("maplibre-shared-") ? "" : "-[hash]"}[extname]`,
        chunkFileNames: (chunk) => wordsFile(chunk) ?? (["view", "page"].includes(chunk.name) ? "assets/[name]-[hash].js" : "assets/later-[name]-[hash].js"),
      },
    },
  },
  server: { fs: { allow: [".."] }, proxy: Object.fromEntries(paths.map((path) => [path, service])) },
  // The times are six times the defaults, for busy machines.
  test: { include: ["test/**/*.test.ts"], environment: "node", setupFiles: ["test/words.ts"], testTimeout: 30_000, hookTimeout: 60_000 },
});
