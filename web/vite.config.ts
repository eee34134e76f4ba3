import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// Inside the Python package, so that a wheel carries the page.
const built = fileURLToPath(new URL("../src/modeldyno/static", import.meta.url));

// What an installation adds to the table of kinds (src/kinds/extra.ts).
const kinds = process.env.MODELDYNO_PAGE_KINDS ?? fileURLToPath(new URL("./src/kinds/extra.ts", import.meta.url));

/** A packed copy beside each file that is worth it: the server sends those as they are. */
const packed: Plugin = {
  name: "packed",
  apply: "build",
  closeBundle() {
    const built = this.environment.config.build.outDir;
    for (const name of readdirSync(built, { recursive: true, encoding: "utf8" })) {
      const path = join(built, name);
      if (/\.(js|css|html|svg)$/.test(name) && statSync(path).size >= 1000) {
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
      }
    }
  },
};

export default defineConfig({
  plugins: [react(), packed],
  resolve: {
    alias: { "@/kinds/extra": kinds, "@": fileURLToPath(new URL("./src", import.meta.url)) },
    dedupe: ["react", "@mantine/core", "@tanstack/react-query", "@tanstack/react-router"], // a file of kinds lies elsewhere, and uses ours
  },
  build: {
    outDir: built,
    emptyOutDir: true,
    target: "es2022",
    // For older ones `light-dark()` would be rewritten, into something that does not know our themes.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // Our policy allows no `data:` beyond pictures, and a file is cached by itself.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000,
    // What every page needs comes in one piece: each file more is one more that the page waits for.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "first", tags: ["$initial"] }] } } },
  },
  worker: { format: "es" },
});
