import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const folder = fileURLToPath(new URL("../runtime", import.meta.url));

/** What the specification of the metrics API says, by section; §3 says that nothing is shown. */
const sections: Readonly<Record<string, string>> = {
  "1": "tenants are apart",
  "2.1": "an instant's point",
  "2.2": "metrics that the API has of itself",
  "2.3": "allowed and forbidden labels",
  "2.4": "an item of a query's answer, exemplars",
  "2.5": "catalog, health and objectives",
  "2.6": "classes",
  "4.1": "the parameters of a query",
  "4.2": "a bulk",
  "4.3": "an instant",
  "4.4": "catalog and health",
  "4.5": "objectives",
  "4.6": "schemas",
  "4.7": "what is refused",
  "4.7.5": "automatic downsampling",
  "5": "who may read what",
  "5.7": "never mixed without a right",
  "6": "headers",
  "7": "errors and partial answers",
  "8": "limits",
  "9": "versions and deprecation",
};

/**
 * Sections that names of tests cite: `Operational Metrics API §4.1 and §8`. A name inside such a block may say only
 * `§7`.
 */
function citedSections(): ReadonlySet<string> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".test.ts"));
  const texts = files
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .filter((text) => text.includes("Operational Metrics API"));
  const named = texts.flatMap((text) =>
    [...text.matchAll(/^ *(?:describe|test)(?:\.\w+)?\(.*$/gmu)].map(([line]) => line),
  );
  return new Set(named.flatMap((line) => [...line.matchAll(/§(\d+(?:\.\d+)*)/gu)].map(([, section = ""]) => section)));
}

describe("the specification of the metrics API", () => {
  const cited = [...citedSections()];
  test.each(Object.entries(sections))("§%s (%s) has a test that names it", (section) => {
    expect(cited).toContain(section);
  });
});
