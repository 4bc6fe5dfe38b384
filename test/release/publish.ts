import { appendFile, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { version } from "../../runtime/version.ts";
import { releaseRegistry } from "./names.ts";
import { type Pushed, pushRelease } from "./push.ts";
import { sign, verify } from "./sign.ts";

const folder = join(dirname(dirname(import.meta.dirname)), "dist", "release");
const pushedFile = join(folder, "pushed.json");

const options = {
  registry: { type: "string", default: releaseRegistry },
  "plain-http": { type: "boolean", default: false },
  key: { type: "string" },
} as const;

/** Flags of the commands that publish. */
interface Given {
  readonly registry: string;
  readonly plainHttp: boolean;
  readonly key?: string;
}

/**
 * Pushes, signs and verifies what `main.ts build` wrote. It needs no npm package, so that the job with the rights to
 * publish runs no code of others but Go's.
 */
const commands: Readonly<Record<string, (given: Given) => Promise<void>>> = {
  push: async ({ registry, plainHttp }) => {
    const pushed = await pushRelease({ folder, version, registry, plainHttp });
    await writeFile(pushedFile, `${JSON.stringify(pushed, undefined, 1)}\n`);
    await giveOutputs(pushed);
  },
  sign: async (given) => {
    for (const reference of await pushedReferences()) await sign(reference, given);
  },
  verify: async (given) => {
    for (const reference of await pushedReferences()) await verify(reference, version, given);
  },
};

async function pushedReferences(): Promise<readonly string[]> {
  const { image, chart } = JSON.parse(await readFile(pushedFile, "utf8")) as Pushed;
  return [image, chart];
}

/** Gives later steps of a workflow what was pushed. Source: GitHub documentation, "Workflow commands". */
async function giveOutputs(pushed: Pushed): Promise<void> {
  const file = process.env["GITHUB_OUTPUT"];
  if (file === undefined) return;
  const lines = Object.entries(pushed).flatMap(([what, reference]: [string, string]) => {
    const [name = "", digest = ""] = reference.split("@");
    return [`${what}-name=${name}`, `${what}-digest=${digest}`];
  });
  await appendFile(file, `${lines.join("\n")}\n`);
}

async function main(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const command = commands[positionals[0] ?? ""];
  if (command === undefined) throw new Error(`usage: node test/release/publish.ts ${Object.keys(commands).join("|")}`);
  const { registry, "plain-http": plainHttp, key } = values;
  await command({ registry, plainHttp, ...(key === undefined ? {} : { key }) });
}

if (import.meta.main) {
  await main(process.argv.slice(2)).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}
