import { JetStreamApiError } from "@nats-io/jetstream";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { NoReplyError } from "../connection/requests.ts";
import { readStreamInfo } from "./stream-info.ts";
import { firstValues, parseHeaders } from "./headers.ts";

/** A message in a stream. */
export interface StoredMessage {
  readonly subject: string;
  readonly seq: number;
  /** Time at which JetStream stored it, Unix milliseconds by its clock. */
  readonly storedAtMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Uint8Array;
}

/** A message without its body. */
export type MessageHead = Omit<StoredMessage, "data">;

const leaderTimeoutMs = 2_000;
/** Longest time until the next message of a batch. The client bounds the time until the first one only. */
const batchTimeoutMs = 5_000;
const noMessageCode = 10037;
const noneStatus = 404;
/** No such sequence; no message at it. Source: nats-server `errors.json`. */
const goneCodes: ReadonlySet<number> = new Set([10037, 10043, 10057]);

/**
 * Reads the last message of a subject, which may hold wildcards, from the leader of the stream. A replica may lag
 * behind, and decisions about sending need the latest state.
 *
 * @throws NoReplyError
 */
export function readLast(
  handle: NatsConnectionHandle,
  stream: string,
  subject: string,
): Promise<StoredMessage | undefined> {
  return askLeader(handle, stream, { last_by_subj: subject });
}

/**
 * Reads the messages of an exact subject in order, at most `countMax`, one by one from the leader of the stream.
 *
 * @throws NoReplyError
 */
export async function readEach(
  handle: NatsConnectionHandle,
  stream: string,
  subject: string,
  countMax: number,
): Promise<readonly StoredMessage[]> {
  const messages: StoredMessage[] = [];
  for (let seq = 1; messages.length < countMax;) {
    const message = await askLeader(handle, stream, { next_by_subj: subject, seq });
    if (message === undefined) break;
    messages.push(message);
    seq = message.seq + 1;
  }
  return messages;
}

/**
 * Reads the last message of each subject that matches one of the filters, from any replica. At most 1,024.
 *
 * @param timeoutMs longest time until the next message. @default 5000
 * @throws NoReplyError
 */
export async function readLastOfEach(
  handle: NatsConnectionHandle,
  stream: string,
  filters: readonly string[],
  timeoutMs = batchTimeoutMs,
): Promise<readonly StoredMessage[]> {
  const { direct } = handle.manager;
  return handle.uninterrupted(async () =>
    collect(stream, await direct.getLastMessagesFor(stream, { multi_last: [...filters] }), timeoutMs),
  );
}

/**
 * Reads the last message of each of these tenants (`*`: of all), from any replica. At most 1,024.
 *
 * @param subjectOf returns the subject of a tenant, or of all for `*`
 */
export async function readLastOfTenants(
  handle: NatsConnectionHandle,
  stream: string,
  tenants: readonly string[],
  subjectOf: (tenant: string) => string,
): Promise<readonly StoredMessage[]> {
  const named = tenants.includes("*") ? ["*"] : [...new Set(tenants)];
  return named.length === 0
    ? []
    : readLastOfEach(
        handle,
        stream,
        named.map((tenant) => subjectOf(tenant)),
      );
}

/**
 * Reads the message with this sequence from the leader of the stream.
 *
 * @throws NoReplyError
 */
export function readAt(handle: NatsConnectionHandle, stream: string, seq: number): Promise<StoredMessage | undefined> {
  return askLeader(handle, stream, { seq });
}

/** Reads the messages with these sequences from any replica, in this order, without those that are gone. */
export async function readDirectly(
  { manager }: NatsConnectionHandle,
  stream: string,
  seqs: readonly number[],
): Promise<readonly StoredMessage[]> {
  const found = await Promise.all(seqs.map((seq) => manager.direct.getMessage(stream, { seq })));
  return found.flatMap((message) => {
    if (message === null) return [];
    const { subject, seq, time, header, data } = message;
    return [{ subject, seq, storedAtMs: time.getTime(), headers: firstValues(header), data }];
  });
}

/** Start and bounds of a batch. */
interface Batch {
  /** May hold wildcards. */
  readonly subject: string;
  /** First sequence. The alternative is the first time, Unix milliseconds. */
  readonly seq?: number;
  readonly atMs?: number;
  /** At most 1,024. */
  readonly countMax: number;
  /** The batch ends with the message that reaches this size. @default no limit */
  readonly bytesMax?: number;
}

/**
 * Reads messages of a subject in order, from any replica. Fewer than `countMax` messages do not mean the end.
 *
 * @throws NoReplyError
 */
export async function readBatch(
  handle: NatsConnectionHandle,
  stream: string,
  { subject, seq = 1, atMs, countMax, bytesMax }: Batch,
): Promise<readonly StoredMessage[]> {
  const start = atMs === undefined ? { seq: Math.max(1, seq) } : { start_time: new Date(atMs).toISOString() };
  const size = bytesMax === undefined ? {} : { max_bytes: bytesMax };
  const query = { next_by_subj: subject, batch: countMax, ...start, ...size };
  return handle.uninterrupted(async () => collect(stream, await handle.manager.direct.getBatch(stream, query)));
}

/** Size of a stream, and its first sequence. */
export interface StreamSize {
  readonly messages: number;
  readonly bytes: number;
  readonly firstSeq: number;
}

export async function readSize(handle: NatsConnectionHandle, stream: string): Promise<StreamSize> {
  const { messages, bytes, first_seq: firstSeq } = (await readStreamInfo(handle, stream)).state;
  return { messages, bytes, firstSeq };
}

/** Deletes one message if it exists. */
export async function removeMessage(handle: NatsConnectionHandle, stream: string, seq: number): Promise<void> {
  try {
    await handle.manager.streams.deleteMessage(stream, seq, false);
  } catch (error) {
    if (!(error instanceof JetStreamApiError && goneCodes.has(error.code))) throw error;
  }
}

interface DirectMessage {
  readonly subject: string;
  readonly seq: number;
  readonly time: Date;
  readonly header: Iterable<[string, string[]]>;
  readonly data: Uint8Array;
}

interface Batched extends AsyncIterable<DirectMessage> {
  stop(error: Error): void;
}

async function collect(
  stream: string,
  replies: Batched,
  timeoutMs = batchTimeoutMs,
): Promise<readonly StoredMessage[]> {
  const messages: StoredMessage[] = [];
  // The server of the batch may be lost before its end.
  const timer = setTimeout(() => replies.stop(new NoReplyError(stream, "timeout")), timeoutMs);
  try {
    for await (const { subject, seq, time, header, data } of replies) {
      messages.push({ subject, seq, storedAtMs: time.getTime(), headers: firstValues(header), data });
      timer.refresh();
    }
  } catch (error) {
    // "None" is an error for a batch of one subject, and an empty response for several subjects.
    if ((error as { readonly code?: unknown }).code !== noneStatus) throw error;
  } finally {
    clearTimeout(timer);
  }
  return messages;
}

interface LeaderResponse {
  readonly message?: {
    readonly subject: string;
    readonly seq: number;
    readonly time: string;
    readonly hdrs?: string;
    readonly data?: string;
  };
  readonly error?: { readonly err_code?: number; readonly description?: string };
}

async function askLeader(
  handle: NatsConnectionHandle,
  stream: string,
  query: object,
): Promise<StoredMessage | undefined> {
  const payload = await handle.requests.request(`$JS.API.STREAM.MSG.GET.${stream}`, JSON.stringify(query), {
    timeoutMs: leaderTimeoutMs,
  });
  const { message, error } = JSON.parse(Buffer.from(payload).toString()) as LeaderResponse;
  if (error !== undefined && error.err_code !== noMessageCode)
    throw new Error(`cannot read from ${stream}: ${error.description ?? "unknown error"}`);
  if (message === undefined) return undefined;
  const { subject, seq, time, hdrs = "", data = "" } = message;
  const headers = parseHeaders(Buffer.from(hdrs, "base64").toString());
  return { subject, seq, storedAtMs: Date.parse(time), headers, data: Buffer.from(data, "base64") };
}
