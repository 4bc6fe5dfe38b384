import { text as textOf } from "node:stream/consumers";
import { readFile } from "node:fs/promises";
import { eachMember, valueEnd } from "../../runtime/json/json-pointers.ts";
import type { EventTypeVersion } from "../../api/events.ts";
import { type Column, createOutput } from "../api/output.ts";
import { type Command, CommandError, type Context, type ExitName } from "../command-line/command.ts";
import { type Given, UsageError } from "../command-line/flags.ts";
import type { Tone } from "../command-line/terminal.ts";
import { sourceArguments, type SourceArguments, sourceFlags, type TypeSource, withSource } from "./types.ts";

/** Events of a file. */
const eventsMax = 10_000;

/** How an event compares with its declared version. */
interface CheckResult {
  readonly event_id: string | null;
  readonly type: string;
  readonly version: string;
  readonly status: "Valid" | "Deprecated" | "Invalid" | "Undeclared" | "Retired";
  /** By JSON pointer into `data`, or by field of the envelope. */
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
}

interface CheckArguments extends SourceArguments {
  readonly file: string;
  /** Type of the data in the file; undefined for a file of events. */
  readonly type: string | undefined;
  readonly version: string | undefined;
}

const resultTones: Readonly<Record<CheckResult["status"], Tone>> = {
  Valid: "good",
  Deprecated: "waiting",
  Invalid: "bad",
  Undeclared: "bad",
  Retired: "bad",
};
const resultColumns: readonly Column<CheckResult>[] = [
  { title: "EVENT", cell: ({ event_id: id }) => id },
  { title: "TYPE", cell: ({ type }) => type },
  { title: "VERSION", cell: ({ version }) => version },
  { title: "STATUS", cell: ({ status }) => status, tone: ({ status }) => resultTones[status] },
  { title: "ERRORS", cell: ({ errors }) => errors.map(errorText).join("; ") },
];

/** Details about the envelope start with the name of their field. */
function errorText({ pointer, detail }: CheckResult["errors"][number]): string {
  return detail.startsWith(`${pointer} `) || pointer === "" ? detail : `${pointer} ${detail}`;
}

/** `heliograph types check` */
export const checkTypesCommand: Command<CheckArguments> = {
  summary:
    "Checks a file of events, or of data with `--type`, against the declared types; exits with 1 if one is invalid.",
  operands: [{ name: "FILE" }],
  flags: [
    { name: "type", value: "TYPE", help: "Type of the data in the file, which is then no event but its data." },
    {
      name: "event-version",
      value: "DATE",
      help: "Schema version of the data; defaults to the newest that is accepted. Needs `--type`.",
    },
    ...sourceFlags,
  ],
  read: (given, [file = ""]) => checkArguments(given, file),
  run: checkFile,
};

/** @throws UsageError */
function checkArguments(given: Given, file: string): CheckArguments {
  const args = {
    ...sourceArguments(given),
    file,
    type: given.optional("type"),
    version: given.optional("event-version"),
  };
  if (args.version !== undefined && args.type === undefined) throw new UsageError("--event-version needs --type.");
  if (file === "-" && args.folder === "-") throw new UsageError("FILE and --folder cannot both be standard input.");
  return args;
}

async function checkFile(args: CheckArguments, { environment }: Context): Promise<ExitName> {
  const items = await readItems(args.file);
  return withSource(args, async (source) => {
    const results: CheckResult[] = [];
    for (const item of items) results.push(await resultOf(item, args, source));
    await createOutput(args.format, environment).list(resultColumns, [results]);
    return results.every(({ status }) => status === "Valid" || status === "Deprecated") ? "done" : "problems";
  });
}

/** The values of a file: one, or those of a list. @throws CommandError */
async function readItems(file: string): Promise<readonly string[]> {
  const text = await (file === "-" ? textOf(process.stdin) : readFile(file, "utf8")).catch((error: unknown) => {
    throw new CommandError("usage", `the file ${file} cannot be read: ${(error as Error).message}`, error);
  });
  try {
    const value = JSON.parse(text) as unknown;
    if (!Array.isArray(value)) return [text];
    if (value.length > eventsMax) throw new CommandError("usage", `${file} has more than ${eventsMax} events`);
    return textsOf(text);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError("usage", `the file ${file} is not JSON: ${(error as Error).message}`, error);
  }
}

/** The texts of the elements of a list, with every digit. */
function textsOf(text: string): readonly string[] {
  const items: string[] = [];
  eachMember(text, text.indexOf("["), ({ valueStart }) => {
    const end = valueEnd(text, valueStart);
    items.push(text.slice(valueStart, end));
    return end;
  });
  return items;
}

/** Settings of the installation are unknown here; card numbers are found without them. */
const noRules = { forbiddenNames: new Set<string>(), allowedPaths: new Set<string>(), allowedForTypes: [] };

async function resultOf(item: string, args: CheckArguments, source: TypeSource): Promise<CheckResult> {
  const { parseExactly } = await import("../../crds/event-schema/long-number.ts");
  const value = parseExactly(item);
  const { type, version } = args;
  if (type !== undefined) return dataResult({ eventId: null, type, version, data: value }, source);
  const { parseEnvelope } = await import("../../runtime/webhooks/events/envelope.ts");
  try {
    const { envelope } = parseEnvelope(Buffer.from(item), noRules);
    return await dataResult({ ...envelope, data: (value as Pick<typeof envelope, "data">).data }, source);
  } catch (error) {
    if (!(error instanceof Error) || !("errors" in error)) throw error;
    const fields = error.errors as readonly { readonly field: string; readonly detail: string }[];
    const errors = fields.map(({ field, detail }) => ({ pointer: field, detail }));
    return {
      event_id: textIn(value, "event_id") ?? null,
      type: textIn(value, "type") ?? "",
      version: textIn(value, "version") ?? "",
      status: "Invalid",
      errors: errors.length > 0 ? errors : [{ pointer: "", detail: error.message }],
    };
  }
}

function textIn(value: unknown, name: string): string | undefined {
  const found: unknown = Object(value)[name];
  return typeof found === "string" ? found : undefined;
}

interface CheckedData {
  readonly eventId: string | null;
  readonly type: string;
  /** @default the newest that is accepted */
  readonly version?: string | undefined;
  readonly data?: unknown;
}

async function dataResult({ eventId, type, version, data }: CheckedData, source: TypeSource): Promise<CheckResult> {
  const versions = (await source.find(type))?.versions ?? [];
  const found = version === undefined ? newestAccepted(versions) : versions.find((one) => one.version === version);
  const result = { event_id: eventId, type, version: found?.version ?? version ?? "" };
  if (found === undefined) return { ...result, status: "Undeclared", errors: [undeclared(type, version, versions)] };
  return { ...result, ...(await versionResult(found, data)) };
}

async function versionResult(
  version: EventTypeVersion,
  data: unknown = {},
): Promise<Pick<CheckResult, "status" | "errors">> {
  const { state, sunset_at: end } = version;
  if (state === "Retired") return { status: "Retired", errors: [{ pointer: "", detail: `ended at ${end}` }] };
  const errors = await dataErrors(version, data);
  const valid = state === "Deprecated" ? "Deprecated" : "Valid";
  return { status: errors.length > 0 ? "Invalid" : valid, errors };
}

function newestAccepted(versions: readonly EventTypeVersion[]): EventTypeVersion | undefined {
  return versions.find(({ state }) => state !== "Retired") ?? versions[0];
}

function undeclared(
  type: string,
  version: string | undefined,
  versions: readonly EventTypeVersion[],
): CheckResult["errors"][number] {
  const others = versions.map((one) => one.version).join(", ");
  const detail =
    versions.length === 0
      ? `no event type ${type} is declared`
      : `no version ${version} is declared; declared: ${others}`;
  return { pointer: "", detail };
}

async function dataErrors({ schema, version }: EventTypeVersion, data: unknown): Promise<CheckResult["errors"]> {
  const { parseSchema } = await import("../../crds/event-schema/parse-schema.ts");
  const { validateData } = await import("../../crds/event-schema/validate-data.ts");
  const { root, problems } = parseSchema(schema);
  if (root === undefined)
    throw new CommandError("failed", `the schema of version ${version} cannot be read: ${problems[0]?.detail}`);
  return validateData(root, data);
}
