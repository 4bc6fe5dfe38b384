import type { EventAccepted } from "../../api/events.ts";
import type { EventHistory } from "../../api/histories.ts";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { parseDuration } from "../../runtime/metrics/request/time.ts";
import { isCalendarTime } from "../../runtime/webhooks/events/envelope.ts";
import { HttpError } from "../api/http-error.ts";
import type { ApiConnection } from "../api/connection.ts";
import { createOutput, type Output } from "../api/output.ts";
import { send } from "../api/request.ts";
import { apiArguments, type ApiArguments, apiFlags, withApi } from "../api/with-api.ts";
import { type Command, CommandError, type ExitName } from "../command-line/command.ts";
import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import { createProgress, type Progress, progressBar, say } from "../command-line/terminal.ts";
import { eventPath } from "./event-forms.ts";
import { deliveriesText, explainFlags, type ExplainQuery, explainQuery, printDryRun } from "./events.ts";

interface SendArguments extends ApiArguments {
  readonly type: string;
  /** The event's data; otherwise a file. */
  readonly json: string | undefined;
  /** `-` is the standard input. */
  readonly file: string | undefined;
  readonly eventId: string;
  /** ISO 8601 UTC. */
  readonly ts: string;
  /** False when `ts` is the time of this run, so that a repeat sends other bytes. */
  readonly isTsGiven: boolean;
  readonly version: string;
  readonly tenant: string | undefined;
  /** Undefined without a wait. */
  readonly waitMs: number | undefined;
  /** Which partners a dry run explains; undefined for an event that is stored. */
  readonly dryRun: ExplainQuery | undefined;
}

const tsForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?Z$/u;
const dayChars = "2026-01-02".length;
const waitSecondsMax = 86_400;

/** Bounds a wait for deliveries. */
export const timeoutFlag: Flag = {
  name: "timeout",
  value: "DURATION",
  help: "Maximum time for `--wait`, after which the command exits with 13.",
  standard: "1m",
};
const failed: readonly string[] = ["rejected", "dead"];

interface WaitOptions {
  readonly timeoutMs: number;
  readonly progress: Progress;
}

interface Waited {
  readonly history: EventHistory;
  /** The response with the history. */
  readonly body: Buffer;
  /** False when the time ended before the deliveries. */
  readonly isSettled: boolean;
}

/** `heliograph send` */
export const sendCommand: Command<SendArguments> = {
  summary: "Sends an event; with `--wait`, waits until all deliveries end and exits with 1 if one failed.",
  operands: [{ name: "TYPE" }],
  flags: [
    { name: "body", short: "d", value: "JSON", help: "Event data, a JSON object." },
    { name: "file", short: "f", value: "FILE", help: "File with the event data; `-` reads standard input." },
    {
      name: "id",
      value: "ID",
      help:
        "Event id; defaults to a new id. Repeating a request with the same `--id` and `--ts` does not create a " +
        "second event.",
    },
    {
      name: "ts",
      value: "TIME",
      help: "Event time in ISO 8601 UTC; defaults to now, so that repeating the request with the same id returns 409.",
    },
    {
      name: "tenant",
      value: "TENANT",
      help: "Tenant of the event; none by default, which requires a token with the tenant `-` or `*`.",
    },
    { name: "event-version", value: "DATE", help: "Schema version of the event; defaults to the date of the event." },
    { name: "dry-run", help: "Checks the event and lists which partners would get it; nothing is stored." },
    ...explainFlags("dry-run"),
    { name: "wait", help: "Waits until all deliveries end." },
    timeoutFlag,
    ...apiFlags,
  ],
  read: sendArguments,
  run: (args, { environment }) =>
    withApi(args.connect, async (connection) => {
      const body = await eventOf(args);
      if (args.dryRun !== undefined)
        return printDryRun(connection, body, args.dryRun, createOutput(args.format, environment));
      const accepted = await send(connection, { method: "POST", path: "/events", body }).catch((error: unknown) => {
        const repeat = `--id ${args.eventId} --ts ${args.ts}`;
        const isUnknown = error instanceof CommandError && error.exit === "unreachable";
        if (isUnknown) say(`The event may have been accepted; repeat with ${repeat} to avoid a second event.`);
        if (isOtherTime(error, args))
          say("Without --ts, each run sends a different time; repeat with the --id and --ts of the first run.");
        if (error instanceof HttpError && error.code === "tenant_forbidden" && args.tenant === undefined)
          say("Without --tenant, the event has no tenant, which requires a token for the tenant -. Set --tenant.");
        throw error;
      });
      const output = createOutput(args.format, environment);
      if (args.waitMs !== undefined) return waitAndPrint(connection, args.eventId, args.waitMs, output);
      await output.one<EventAccepted>(accepted.body, (event) => acceptedText(event, args));
      return "done";
    }),
};

const settled: readonly string[] = ["delivered", "rejected", "dead", "not_routed"];
const pollMsMin = 100;
const pollMsMax = 2_000;

function sendArguments(given: Given, [type = ""]: readonly string[]): SendArguments {
  const [json, file, tenant] = ["body", "file", "tenant"].map((flag) => given.optional(flag));
  if ((json === undefined) === (file === undefined)) throw new UsageError("send needs either --body or --file.");
  const waitMs = waitMsOf(given);
  const dryRun = explainQuery(given, "dry-run", "every partner that subscribes gets the event");
  if (dryRun !== undefined && waitMs !== undefined)
    throw new UsageError("--dry-run stores no event, so --wait has nothing to wait for.");
  const ts = tsOf(given);
  return {
    ...apiArguments(given),
    type,
    eventId: given.optional("id") ?? `evt-${randomUUID()}`,
    ts,
    isTsGiven: given.optional("ts") !== undefined,
    version: given.optional("event-version") ?? ts.slice(0, dayChars),
    json,
    file,
    tenant,
    waitMs,
    dryRun,
  };
}

/** @throws UsageError */
function tsOf(given: Given): string {
  const ts = given.optional("ts") ?? new Date().toISOString();
  if (isCalendarTime(ts, tsForm)) return new Date(ts).toISOString();
  throw new UsageError("--ts must be a time in ISO 8601 UTC, such as 2026-01-02T03:04:05Z.");
}

function isOtherTime(error: unknown, { isTsGiven }: SendArguments): boolean {
  return !isTsGiven && error instanceof HttpError && error.code === "event_id_reused";
}

/** The value of {@link timeoutFlag} in milliseconds; undefined without `--wait`. @throws UsageError */
export function waitMsOf(given: Given): number | undefined {
  const seconds = parseDuration(given.text("timeout")) ?? Number.NaN;
  if (seconds <= waitSecondsMax) return given.isSet("wait") ? seconds * 1000 : undefined;
  throw new UsageError("--timeout must be a duration such as 30s or 5m, at most 1d.");
}

/** The bytes of the envelope. The text of the data stays as written, so that long numbers keep their digits. */
async function eventOf({ type, json, file, eventId, ts, version, tenant }: SendArguments): Promise<Uint8Array> {
  const data = (json ?? (await readData(file ?? "-"))).trim();
  const name = file === undefined ? "--body" : "the file of --file";
  try {
    if (!data.startsWith("{")) throw new SyntaxError("it does not start with {");
    JSON.parse(data);
  } catch (error) {
    throw new UsageError(`${name} is not a JSON object: ${(error as Error).message}`, { cause: error });
  }
  const rest = { event_id: eventId, type, version, ts, tenant };
  return Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"data":${data}}`);
}

async function readData(file: string): Promise<string> {
  try {
    return file === "-" ? await text(process.stdin) : await readFile(file, "utf8");
  } catch (error) {
    throw new CommandError("usage", `the file ${file} cannot be read: ${(error as Error).message}`, error);
  }
}

function acceptedText({ event_id: id, tenant, duplicate }: EventAccepted, { ts }: SendArguments): string {
  // The standard output has the id alone, for scripts.
  say(`${duplicate ? "accepted before" : "accepted"}, tenant ${tenant}, ts ${ts}`);
  return id;
}

/** Waits for the deliveries of an event and prints them. */
export async function waitAndPrint(
  connection: ApiConnection,
  eventId: string,
  timeoutMs: number,
  output: Output,
): Promise<ExitName> {
  const progress = createProgress();
  const { history, body, isSettled } = await waitForDeliveries(connection, eventId, { timeoutMs, progress });
  await output.one(body, () => `${eventId}\n\n${deliveriesText(history.deliveries, output)}`);
  if (hasFailed(history)) return "problems";
  if (isSettled) return "done";
  say(`${eventId} has deliveries that have not ended; heliograph attempts ${eventId} lists their attempts.`);
  return "undecided";
}

/** True when a delivery ended without success. */
function hasFailed({ deliveries }: Pick<EventHistory, "deliveries">): boolean {
  return deliveries.some(({ state }) => failed.includes(state));
}

/** Reads the history of an event until all its deliveries have ended, or the time has. */
async function waitForDeliveries(
  connection: ApiConnection,
  eventId: string,
  { timeoutMs, progress }: WaitOptions,
): Promise<Waited> {
  const endMs = performance.now() + timeoutMs;
  for (let pollMs = pollMsMin; ; pollMs = Math.min(pollMs * 2, pollMsMax)) {
    const { body } = await send(connection, { path: eventPath(eventId) });
    const history = JSON.parse(body.toString()) as EventHistory;
    const { deliveries } = history;
    const done = deliveries.filter(({ state }) => settled.includes(state)).length;
    progress.show(`${progressBar(done, deliveries.length)} deliveries`);
    // Before the event is routed, the history holds the deliveries to come. Without any, no partner wants the event.
    const isSettled = done === deliveries.length;
    if (isSettled || performance.now() + pollMs > endMs) {
      progress.clear();
      return { history, body, isSettled };
    }
    await sleep(pollMs);
  }
}
