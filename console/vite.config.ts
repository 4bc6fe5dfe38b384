// The console: the single page that a browser runs. It speaks to the public API only; it is no part of a server.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** A body that fits one packet gains nothing from a coding. */
const codedBytesMin = 1_024;

/** Writes each file also as `.gz` and `.br`, so that no server spends time on it. */
const writeCoded: Plugin = {
  name: "write-coded",
  async writeBundle({ dir = "" }, bundle) {
    for (const name of Object.keys(bundle)) {
      const bytes = await readFile(join(dir, name));
      if (bytes.length < codedBytesMin) continue;
      await writeFile(join(dir, `${name}.gz`), gzipSync(bytes, { level: 9 }));
      await writeFile(join(dir, `${name}.br`), brotliCompressSync(bytes));
    }
  },
};

/**
 * Builds the console into `dist/console`: `index.html`, and files in `assets/` whose names hold the digest of their
 * contents. Nothing is inline, so that the policy of the page (decision 0199) allows no inline script and no inline
 * style. `licenses.md` lists the packages that the files hold, with their licences.
 */
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/console/",
  publicDir: false,
  plugins: [writeCoded],
  // The same page whatever NODE_ENV says: one for development holds the paths of its sources.
  oxc: { jsx: { runtime: "automatic", importSource: "preact", development: false } },
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
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
