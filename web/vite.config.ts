import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    // Inside the Python package, so that a wheel carries the page.
    outDir: "../src/modeldyno/static",
    emptyOutDir: true,
    target: "es2022",
    // Our policy allows no `data:` beyond pictures, and a file is cached by itself.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000,
  },
  worker: { format: "es" },
});
