import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Begins a section; the rest of its line is the name. */
const mark = "== ";

/**
 * The sections of a file beside this one, by name. No program writes the file: stored data and pods of other versions
 * depend on every byte of it. A new member is added to it; one that is there keeps its name.
 */
export function readPinned(file: string): Readonly<Record<string, string>> {
  const text = readFileSync(fileURLToPath(new URL(file, import.meta.url)), "utf8");
  const sections = text.split(new RegExp(`^${mark}`, "mu")).slice(1);
  return Object.fromEntries(
    sections.map((section) => {
      const end = section.indexOf("\n");
      return [section.slice(0, end), section.slice(end + 1).trimEnd()];
    }),
  );
}
