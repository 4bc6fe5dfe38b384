import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { kinds } from "../../crds/types/schemas.ts";
import { validateResource } from "../../crds/validate.ts";
import { allFieldEdges } from "../operator/field-edges.ts";

const stored = fileURLToPath(new URL("../crds/stored/v1alpha1", import.meta.url));

/**
 * Keeps objects as the schema of today stores them, with every field somewhere at an edge, below the version that is
 * about to be released. What an earlier release kept is never written again.
 */
async function main(): Promise<void> {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    readonly version: string;
  };
  const folder = `${stored}/${version}`;
  if (existsSync(folder)) throw new Error(`${folder} is there: a release is kept once`);
  await mkdir(folder, { recursive: true });
  const { edges } = allFieldEdges();
  for (const kind of kinds) {
    const objects = edges.filter((one) => one.kind === kind).flatMap(({ base, edge }) => [base, edge]);
    const specs = objects
      .flatMap((object) => validateResource(object).resource?.spec ?? [])
      .map((spec) => JSON.stringify(spec));
    // The largest lists are a matter of bounds, not of fields.
    const lines = [...new Set(specs)].filter((line) => line.length < lineCharsMax);
    await writeFile(`${folder}/${kind}.jsonl`, `${lines.join("\n")}\n`);
    process.stdout.write(`${kind}: ${lines.length} objects\n`);
  }
}

const lineCharsMax = 2_500;

if (import.meta.main) await main();
