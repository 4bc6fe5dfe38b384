import { plain } from "../command-line/plain.ts";
import type { SigningScheme } from "../../crds/signing-key.ts";
import { spliceAttempt } from "../../runtime/webhooks/signing/signed-request.ts";
import type { SigningKey } from "../../runtime/webhooks/signing/keys.ts";
import { ApiRefusal } from "../api/api-error.ts";
import type { ApiConnection } from "../api/connection.ts";
import { createOutput } from "../api/output.ts";
import { send } from "../api/request.ts";
import { say } from "../api/terminal.ts";
import { withApi, type ApiArguments } from "../api/with-api.ts";
import { CommandError } from "../command-line/command-error.ts";
import type { Context } from "../command-line/command.ts";
import type { ExitName } from "../command-line/exit-codes.ts";
import type { KeySource } from "./partner-flags.ts";
import { postOnce } from "./post-once.ts";
import { signedHeaders } from "./print-signature.ts";
import { readSigningKeys } from "./read-keys.ts";
import { eventPath, type EventSummary } from "../webhooks/event-forms.ts";
import { followEvents, placeOf } from "../webhooks/follow-events.ts";
import { keepPlace, readPlace } from "./place-file.ts";
import { rawEventOf } from "./raw-event.ts";
import { whileAway, type Patience } from "../webhooks/while-away.ts";

export interface FollowArguments extends ApiArguments {
  /** `namespace/name`. */
  readonly partner: string;
  /** Time to begin at without an earlier place. */
  readonly from: string;
  /** File that keeps the place. */
  readonly placeFile: string;
  /** Endpoint that gets a copy of each event, signed by {@link keys}. */
  readonly forward?: URL;
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
    say(`following ${args.partner} from ${start.afterId ?? start.from}; Ctrl-C ends`);
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
    if (error instanceof ApiRefusal && error.status === 404) return "gone";
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
