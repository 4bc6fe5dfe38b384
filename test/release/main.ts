import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { buildRelease, writeSbom } from "./build.ts";
import { releaseProblems } from "./check.ts";
import { version } from "../../runtime/version.ts";
import { writeManifests } from "./manifests.ts";
import { packKit } from "./npm-packages.ts";

const root = dirname(dirname(import.meta.dirname));
const dist = join(root, "dist");

/** What can be built for a release. The commands that publish are in `publish.ts`. */
const commands: Readonly<Record<string, (args: readonly string[]) => Promise<string>>> = {
  check: async () => {
    const problems = releaseProblems(root, process.env);
    if (problems.length > 0) throw new Error(problems.join("\n"));
    return "this checkout can be released";
  },
  sbom: async () => {
    await mkdir(dist, { recursive: true });
    await writeSbom(root, join(dist, "sbom.cdx.json"));
    return "dist/sbom.cdx.json";
  },
  kit: async () => {
    await mkdir(dist, { recursive: true });
    await packKit({ root, work: join(dist, "kit"), target: dist });
    return `dist/heliograph-dev-recipient-${version}.tgz`;
  },
  manifests: async (args) => {
    const options = { namespace: { type: "string" }, values: { type: "string", multiple: true } } as const;
    await writeManifests(join(dist, "manifests"), parseArgs({ args: [...args], options }).values);
    return "dist/manifests";
  },
  build: async (args) => {
    const { base } = parseArgs({ args: [...args], options: { base: { type: "string" } } }).values;
    await buildRelease(root, join(dist, "release"), base);
    return "dist/release";
  },
};

/** Runs one command and prints what it made. */
async function main([name = "", ...args]: readonly string[]): Promise<void> {
  const command = commands[name];
  if (command === undefined) throw new Error(`usage: node test/release/main.ts ${Object.keys(commands).join("|")}`);
  process.stdout.write(`${await command(args)}\n`);
}

if (import.meta.main) {
  await main(process.argv.slice(2)).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}
