import type { EventHistory, EventSummary } from "../../api/histories.ts";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { SigningScheme } from "../../crds/signing-key.ts";
import { spliceAttempt } from "../../runtime/webhooks/signing/signed-request.ts";
import type { SigningKey } from "../../runtime/webhooks/signing/keys.ts";
import { HttpError } from "../api/http-error.ts";
import type { ApiConnection } from "../api/connection.ts";
import { createOutput } from "../api/output.ts";
import { send } from "../api/request.ts";
import { type ApiArguments, withApi } from "../api/with-api.ts";
import { CommandError, type Context, type ExitName } from "../command-line/command.ts";
import { plain, say } from "../command-line/terminal.ts";
import { eventPath } from "../webhooks/event-forms.ts";
import { followEvents, type Patience, type FollowPosition, placeOf, whileAway } from "../webhooks/follow-events.ts";
import type { KeySource } from "./partner-flags.ts";
import { postOnce } from "./post-once.ts";
import { readSigningKeys } from "./read-keys.ts";
import { signedHeaders } from "./sign.ts";

export interface FollowArguments extends ApiArguments {
  /** `namespace/name`. */
  readonly partner: string;
  /** Time to begin at without an earlier place. */
  readonly from: string;
  /** File that keeps the place. */
  readonly placeFile: string;
  /** Endpoint that gets a copy of each event, signed by {@link keys}. */
  readonly forward: URL | undefined;
  readonly scheme: SigningScheme;
  readonly keys: KeySource;
}

/** One event; the form of `-o json`. */
interface FollowedLine {
  readonly at: string;
  readonly event_id: string;
  readonly type: string;
  readonly tenant: string;
  /** Status of the endpoint; null when nothing was forwarded, or nothing came back. */
  readonly status: number | null;
  readonly error: string | null;
}

const head = '{"event":';

/**
 * `heliograph listen --partner`: follows the events of a partner over the API, and forwards a copy of each. It reads
 * only, so that the real deliveries stay as they are. It ends with a signal and continues at its place later.
 */
export function followPartner(args: FollowArguments, { environment }: Context): Promise<ExitName> {
  return withApi(args.connect, async (connection) => {
    const keys = await readSigningKeys(args.keys, args.scheme);
    const start = (await readPlace(args.placeFile)) ?? { from: args.from };
    const output = createOutput(args.format, environment);
    const ending = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());
    const patience = { signal: ending.signal, onNote: say };
    say(`following ${args.partner} from ${start.afterId ?? start.from}; press Ctrl-C to stop`);
    for await (const events of followEvents(connection, { query: { partner: args.partner }, start, ...patience })) {
      for (const event of events) {
        const line = await takenEvent({ connection, keys, patience, args }, event);
        if (line === undefined) return "done";
        const isRead = await output.one(line, () => lineOf(line));
        await keepPlace(args.placeFile, placeOf(event));
        if (!isRead) return "done";
      }
    }
    return "done";
  });
}

interface Following {
  readonly connection: ApiConnection;
  readonly keys: readonly SigningKey[];
  readonly patience: Patience;
  readonly args: FollowArguments;
}

/** Forwards one event. Undefined after an abort, so that the next run takes the event. */
async function takenEvent(following: Following, summary: EventSummary): Promise<FollowedLine | undefined> {
  const { forward } = following.args;
  const { event_id: eventId, type, tenant } = summary;
  const line = { at: new Date().toISOString(), event_id: eventId, type, tenant, status: null, error: null };
  if (forward === undefined) return line;
  const event = await whileAway(() => readEvent(following, eventId), following.patience);
  if (event === undefined) return undefined;
  return event === "gone"
    ? { ...line, error: "the event is no longer stored" }
    : { ...line, ...(await copied(following, forward, event)) };
}

async function readEvent({ connection, patience }: Following, eventId: string): Promise<Uint8Array | "gone"> {
  try {
    return rawEventOf((await send(connection, { path: eventPath(eventId), signal: patience.signal })).body);
  } catch (error) {
    if (error instanceof HttpError && error.status === 404) return "gone";
    throw error;
  }
}

/** The endpoint gets the copy once, as a first attempt. */
async function copied(
  { keys, args: { scheme } }: Following,
  url: URL,
  event: Uint8Array,
): Promise<Pick<FollowedLine, "status" | "error">> {
  const body = Buffer.from(spliceAttempt(event, 1));
  const headers = signedHeaders({ scheme, keys, url, method: "POST", body });
  try {
    return { status: (await postOnce(url, { ...headers, Host: url.host }, body)).status, error: null };
  } catch (error) {
    if (error instanceof CommandError && error.exit === "unreachable") return { status: null, error: error.message };
    throw error;
  }
}

function lineOf({ at, event_id: eventId, type, tenant, status, error }: FollowedLine): string {
  return plain([at, eventId, type, `tenant ${tenant}`, status ?? "", error ?? ""].join(" ").trimEnd());
}

/** Reads the place that an earlier run kept; undefined without one. @throws CommandError `data` */
export async function readPlace(file: string): Promise<FollowPosition | undefined> {
  try {
    const { from, after_id: afterId } = JSON.parse(await readFile(file, "utf8")) as Readonly<Record<string, unknown>>;
    if (typeof from === "string" && typeof afterId === "string") return { from, afterId };
    throw new Error("it contains no position");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unusable(file, error);
  }
}

/** Keeps a place, at once or not at all. @throws CommandError `data` */
export async function keepPlace(file: string, { from, afterId }: FollowPosition): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.new`, `${JSON.stringify({ from, after_id: afterId })}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
  } catch (error) {
    throw unusable(file, error);
  }
}

function unusable(file: string, error: unknown): CommandError {
  const reason = error instanceof Error ? error.message : String(error);
  return new CommandError("data", `the file ${file} cannot be used: ${reason}; remove it to start over`, error);
}

/**
 * The bytes of an event in the response to `GET /webhooks/events/:id`, as its producer sent them. Encoding the parsed
 * event again would change digits and escapes, and with them every signature.
 */
export function rawEventOf(history: Buffer): Uint8Array {
  const { event, ...rest } = JSON.parse(history.toString()) as EventHistory;
  const end = `,${JSON.stringify(rest).slice(1)}`;
  const text = history.toString("latin1");
  const hasForm = text.startsWith(head) && text.endsWith(Buffer.from(end).toString("latin1"));
  return hasForm ? history.subarray(head.length, -Buffer.byteLength(end)) : Buffer.from(JSON.stringify(event));
}
