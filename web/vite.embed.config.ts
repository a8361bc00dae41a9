// The widget is built by itself: it shares no file with the map, so that neither loads what the other needs.
import { defineConfig } from "vite";
import { preload } from "./vite.config";
import { embed, words } from "./words.mjs";

export default defineConfig({
  base: "./",
  plugins: [words(embed), preload],
  build: {
    target: "es2022",
    emptyOutDir: false, // the map is there
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: "embed.html",
      output: {
        entryFileNames: "assets/embed-[hash].js",
        chunkFileNames: "assets/embed-[name]-[hash].js",
        assetFileNames: (a) => (a.names[0]?.endsWith(".css") ? "assets/embed-[hash][extname]" : "assets/[name]-[hash][extname]"),
      },
    },
  },
});
