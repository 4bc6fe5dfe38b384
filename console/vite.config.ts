// The console: the single page that a browser runs. It speaks to the public API only; it is no part of a server.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

/**
 * Builds the console into `dist/console`: `index.html`, and files in `assets/` whose names hold the digest of their
 * contents. Nothing is inline, so that the policy of the page (decision 0199) allows no inline script and no inline
 * style. `licenses.md` lists the packages that the files hold.
 */
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/console/",
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: fileURLToPath(new URL("../dist/console", import.meta.url)),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    license: { fileName: "licenses.md" },
    reportCompressedSize: false,
  },
});
