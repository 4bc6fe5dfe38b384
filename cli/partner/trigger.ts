import { randomUUID } from "node:crypto";
import type { SigningScheme } from "../../crds/signing-key.ts";
import { settle } from "../../runtime/webhooks/settlement/settle.ts";
import { createOutput, type OutputFormat, outputFormatOf } from "../api/output.ts";
import { type Command, CommandError, type Context, type ExitName } from "../command-line/command.ts";
import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import { plain } from "../command-line/terminal.ts";
import {
  dataTextFlag,
  keyFileFlag,
  keyFlag,
  type KeySource,
  partnerOutputFlag,
  requiredKeySourceOf,
  schemeFlag,
  schemeOf,
  urlOf,
} from "./partner-flags.ts";
import { postOnce, type PostResponse } from "./post-once.ts";
import { signedHeaders } from "./sign.ts";
import { readInput, readSigningKeys } from "./read-keys.ts";

const triggerFlags = [
  { name: "to", value: "URL", help: "URL of the endpoint; addresses in any network are allowed.", required: true },
  keyFileFlag,
  keyFlag,
  schemeFlag,
  dataTextFlag,
  {
    name: "file",
    short: "f",
    value: "FILE",
    help: "File with the event data, instead of --data; `-` reads standard input.",
    variable: "HELIOGRAPH_EVENT_FILE",
  },
  { name: "event-id", value: "ID", help: "Event id; defaults to a new id." },
  { name: "tenant", value: "TENANT", help: "Tenant of the event; none by default." },
  partnerOutputFlag,
] as const satisfies readonly Flag[];

/** `heliograph trigger` */
export const triggerCommand: Command<TriggerArguments> = {
  summary: "Sends a signed test event from this machine to an endpoint and prints the response.",
  operands: [{ name: "TYPE" }],
  flags: triggerFlags,
  read: triggerArguments,
  run: async (args, context) => sendOnce(args, context),
};

interface TriggerArguments {
  readonly type: string;
  readonly to: URL;
  readonly scheme: SigningScheme;
  readonly keys: KeySource;
  /** JSON of the event's `data`. */
  readonly data: string | undefined;
  /** File of the same; `-` is the standard input. */
  readonly file: string | undefined;
  readonly eventId: string | undefined;
  readonly tenant: string | undefined;
  readonly format: OutputFormat;
}

const envelopeVersion = "2026-01-01";
const method = "POST";

function triggerArguments(given: Given, [type = ""]: readonly string[]): TriggerArguments {
  const data = given.optional("data");
  const file = given.optional("file");
  if (data !== undefined && file !== undefined) throw new UsageError("--data and --file are mutually exclusive.");
  return {
    type,
    ...targetOf(given),
    keys: requiredKeySourceOf(given),
    format: outputFormatOf(given),
    data,
    file,
    eventId: given.optional("event-id"),
    tenant: given.optional("tenant"),
  };
}

/** The endpoint and the scheme, if a partner could have both. @throws UsageError */
function targetOf(given: Given): Pick<TriggerArguments, "to" | "scheme"> {
  const to = urlOf("to", given.text("to"));
  const scheme = schemeOf(given);
  if (scheme === "HmacV1" && to.href.includes("?")) {
    throw new UsageError(
      "--to must not have a query with HmacV1, which signs only the path. Remove the query or choose another --scheme.",
    );
  }
  return { to, scheme };
}

/**
 * `heliograph trigger`: makes an event, signs it, posts it once and prints the response. There is no retry and no check
 * of the address, since the machine is the user's own.
 * @throws CommandError `unreachable` without a response
 */
async function sendOnce(args: TriggerArguments, { environment }: Context): Promise<ExitName> {
  const { to, scheme, format } = args;
  const keys = await readSigningKeys(args.keys, scheme);
  const now = new Date();
  const event = await eventOf(args, now);
  const body = Buffer.from(JSON.stringify(event));
  const headers = signedHeaders({ scheme, keys, url: to, method, body, sentAtMs: now.getTime() });
  const response = await postOnce(to, { ...headers, Host: to.host }, body);
  const { event_id: eventId } = event;
  await createOutput(format, environment).one(jsonOf(eventId, response), () => textOf(eventId, response));
  return isSuccess(response) ? "done" : "problems";
}

/** An envelope of the first attempt. */
interface TestEvent {
  readonly event_id: string;
  readonly type: string;
  readonly version: string;
  readonly ts: string;
  readonly attempt: 1;
  readonly tenant: string | undefined;
  readonly data: object;
}

async function eventOf(args: TriggerArguments, now: Date): Promise<TestEvent> {
  const { type, tenant, eventId } = args;
  return {
    event_id: eventId ?? `evt_${randomUUID()}`,
    type,
    version: envelopeVersion,
    ts: now.toISOString(),
    attempt: 1,
    tenant,
    data: await dataOf(args),
  };
}

async function dataOf({ data, file }: TriggerArguments): Promise<object> {
  const text = file === undefined ? (data ?? "{}") : (await readInput(file)).toString();
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Text that is no JSON is no object either.
  }
  throw new CommandError("usage", 'the event data must be a JSON object such as \'{"payout_id":"p-1"}\'');
}

function isSuccess({ status }: PostResponse): boolean {
  return status >= 200 && status <= 299;
}

/** What the sender does after this status. */
function consequence({ status, headers }: PostResponse): string {
  const timings = { totalMs: 0 };
  const outcome = { kind: "response", status, headers, body: "", bodyTruncated: false, timings } as const;
  const policy = { scheduleSeconds: [], maxAgeSeconds: 86_400, jitterPercent: 0 };
  return consequences[settle(outcome, policy, { attempt: 1, acceptedAtMs: 0 }, 0, () => 0).kind];
}

const consequences: Readonly<Record<ReturnType<typeof settle>["kind"], string>> = {
  delivered: "the event is delivered",
  retry: "the sender would retry",
  rejected: "the sender would not retry and would store a dead letter",
  dead: "the sender would retry",
  disabled: "the sender would disable the partner",
};

function jsonOf(eventId: string, response: PostResponse): object {
  const { status, durationMs, headers, body, warnings } = response;
  const outcome = { status, duration_ms: durationMs, consequence: consequence(response) };
  return { event_id: eventId, ...outcome, headers, body, warnings };
}

function textOf(eventId: string, response: PostResponse): string {
  const { status, durationMs, body, warnings } = response;
  const line = `${eventId}: ${status} in ${durationMs} ms: ${consequence(response)}\n`;
  const lines = [...warnings.map((text) => `warning: ${text}`), ...(body === "" ? [] : body.trimEnd().split("\n"))];
  return [line, ...lines.map((text) => `${plain(text)}\n`)].join("");
}
