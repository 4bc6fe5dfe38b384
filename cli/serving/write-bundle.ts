import { writeFile } from "node:fs/promises";
import { type Environment, type Flag, variableOf } from "../command-line/flags.ts";
import type { NatsAccess } from "../../runtime/nats/connection/nats-access.ts";
import { collect, tarGz } from "../../runtime/debug/collect.ts";
import { maskText } from "../../runtime/debug/mask-text.ts";
import { adminParts, logPart, natsPart, prettyJson } from "../../runtime/debug/parts.ts";
import { withOwnUser } from "../../runtime/program/data-folder.ts";
import { startStep } from "../../runtime/program/start-error.ts";
import { version } from "../../runtime/version.ts";
import type { ExitName } from "../command-line/command.ts";
import { runtimeFlags } from "./runtime.ts";

export interface DebugArguments {
  /** Base URLs of admin ports. */
  readonly admins: readonly string[];
  readonly nats?: NatsAccess;
  /** Folder of a program of this machine, whose own nats-server may be meant. */
  readonly dataFolder: string;
  /** Files of log lines; `-` is the standard input. */
  readonly logs: readonly string[];
  /** File of the archive; `-` is the standard output. */
  readonly output: string;
}

/**
 * `heliograph debug bundle`: writes an archive for the report of a problem, without secrets, event bodies and personal
 * data. It says on the standard error what could not be had.
 * @throws StartError `data` when the archive cannot be written
 */
export async function writeBundle(args: DebugArguments, environment: Environment): Promise<ExitName> {
  const { admins, logs, output } = args;
  const nats = args.nats === undefined ? undefined : await withOwnUser(args.nats, args.dataFolder);
  const { files, reports } = await collect(
    [
      ...admins.flatMap((url, index) => adminParts(url, `admin-${index + 1}`)),
      ...(nats === undefined ? [] : [natsPart(nats)]),
      ...logs.map((file, index) => logPart(file, `log-${index + 1}.jsonl`)),
    ],
    maskText,
  );
  const at = new Date();
  const manifest = { made_at: at.toISOString(), ...program(), flags: flagsOf(environment), parts: reports };
  const archive = tarGz([{ name: "manifest.json", text: prettyJson(manifest) }, ...files], at);
  for (const { name, ok, detail } of reports) if (!ok) process.stderr.write(`${name} is missing: ${detail}\n`);
  if (output === "-") process.stdout.write(archive);
  else
    await startStep("data", `the file ${output} cannot be written`, () => writeFile(output, archive, { mode: 0o600 }));
  process.stderr.write(`${files.length} of ${reports.length} parts, ${archive.length} bytes\n`);
  return "done";
}

function program(): object {
  const { node, v8, uv, openssl } = process.versions;
  return { version, versions: { node, v8, uv, openssl }, platform: `${process.platform} ${process.arch}` };
}

/** The flags that the environment sets, as a pod sets them. */
function flagsOf(environment: Environment): Readonly<Record<string, string>> {
  const set = (runtimeFlags as readonly Flag[]).flatMap((flag) => {
    const value = environment[variableOf(flag)];
    return value === undefined ? [] : [[flag.name, maskText(value)] as const];
  });
  return Object.fromEntries(set);
}
