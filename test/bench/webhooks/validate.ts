import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { plainObject } from "../../crds/valid-objects.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";
import { run } from "../../tools/run.ts";
import { rounds, type Bench } from "../harness/bench.ts";
import type { Measured } from "../harness/figures.ts";
import type { WebhookStage } from "./stage.ts";

const files = 1_000;
const commandMsMax = 120_000;

/** `heliograph validate` of a folder of partners, beside the time in which their YAML alone is parsed. */
export async function validate(_stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const folder = await temporaryFolder("validate");
  try {
    const count = bench.isSmall ? 10 : files;
    for (let index = 0; index < count; index += 1) {
      const texts = objectsOf(`partner-${index}`).map((object) => JSON.stringify(object, undefined, 1));
      await writeFile(join(folder.path, `${index}.yaml`), texts.join("\n---\n"));
    }
    const values = await rounds(bench.rounds, () => timed(() => runValidate(bench.program, folder.path)));
    const parsed = await rounds(bench.rounds, () => timed(() => parseFolder(folder.path)));
    const name = `validating ${count} files of a partner and its Secret`;
    const reference = { name: "parsing the same YAML", values: parsed };
    return [{ name, unit: "s", values, reference, bar: { atMost: 3 } }];
  } finally {
    await folder.remove();
  }
}

function objectsOf(name: string): readonly object[] {
  const data = { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData: { hmac: name.padEnd(32, "k") } };
  return [data, plainObject("WebhookPartner", { "signing.keys[0].secretRef.name": name }, name)];
}

async function runValidate(program: string, folder: string): Promise<void> {
  const { code, stdout, stderr } = await run(process.execPath, [program, "validate", folder], {
    timeoutMs: commandMsMax,
  });
  if (code !== 0) throw new Error(`validate ended with ${code}: ${stderr}${stdout.slice(0, 500)}`);
}

async function parseFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) parseAllDocuments(await readFile(join(folder, name), "utf8"));
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return (performance.now() - startedMs) / 1_000;
}
