import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { halves } from "./halves.ts";
import type { Row } from "./harness/figures.ts";
import { withTables, type PageResult } from "./harness/page.ts";

/** Writes a bench result into the tables of RESULTS.md. Argument: the file of the result. */
const page = fileURLToPath(new URL("RESULTS.md", import.meta.url));
const { results } = JSON.parse(await readFile(process.argv[2] ?? "", "utf8")) as {
  readonly results: readonly (PageResult & { readonly rows: readonly Row[] })[];
};
const parts = Object.fromEntries(halves.map(({ name, parts: own }) => [name, Object.keys(own)]));
await writeFile(page, withTables(await readFile(page, "utf8"), results, parts));
