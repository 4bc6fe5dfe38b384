import type { ConsumerInfo, StreamConfig, StreamInfo, StreamState } from "@nats-io/jetstream";
import { createInbox, type Msg, type Subscription } from "@nats-io/transport-node";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { untilReceived } from "../connection/retry-until-reply.ts";
import { copyMark } from "../layout.ts";

/** Response of the JetStream API that begins a backup. Source: NATS ADR and `schemas` of jsm.go. */
interface SnapshotStart {
  readonly config: StreamConfig;
  /** Counts at the moment of the backup. */
  readonly state: StreamState;
}

/** Below the 1 MiB that a server takes as one message. */
const chunkBytes = 512 * 1024;
/** The source ends a backup whose parts wait for five seconds. */
const chunkTimeoutMs = 20_000;
/** The target checks and indexes the whole stream before it answers. */
const restoreTimeoutMs = 10 * 60_000;

/** An error that JetStream reports. */
export class JetStreamApiError extends Error {
  override readonly name = "JetStreamRefusal";
  /** Number of nats-server's `errors.json`. */
  readonly code: number;

  constructor(subject: string, code: number, description: string) {
    super(`${subject}: ${description} (${code})`);
    this.code = code;
  }
}

/** Restores of large streams answer after the last byte is on the disk. */
const requestTimeoutMs = 30_000;

interface JetStreamReply {
  readonly error?: { readonly err_code?: number; readonly code?: number; readonly description?: string };
}

/** Parses a response of the JetStream API. @throws JetStreamApiError */
function resultOf(subject: string, payload: Uint8Array): unknown {
  const reply = JSON.parse(Buffer.from(payload).toString()) as JetStreamReply;
  const { error } = reply;
  if (error === undefined) return reply;
  throw new JetStreamApiError(subject, error.err_code ?? error.code ?? 0, error.description ?? "refused");
}

/** Calls the JetStream API, again while nobody receives the call. @throws JetStreamApiError, and NoReplyError */
export async function callJetStream<T>(
  { requests }: NatsConnectionHandle,
  operation: string,
  body: object = {},
  timeoutMs = requestTimeoutMs,
): Promise<T> {
  const subject = `$JS.API.${operation}`;
  const request = (): Promise<Uint8Array> => requests.request(subject, JSON.stringify(body), { timeoutMs });
  return resultOf(subject, await untilReceived(request, timeoutMs)) as T;
}

/** The names of all streams of the account. @throws JetStreamApiError, and NoReplyError without a response in time */
export function streamNames(handle: NatsConnectionHandle, timeoutMs?: number): Promise<readonly string[]> {
  return pages<string>(handle, "STREAM.NAMES", "streams", timeoutMs);
}

export function streamInfo(handle: NatsConnectionHandle, stream: string): Promise<StreamInfo> {
  return callJetStream<StreamInfo>(handle, `STREAM.INFO.${stream}`);
}

/** The durable consumers of a stream. Others end with their readers. */
export async function durableConsumers(handle: NatsConnectionHandle, stream: string): Promise<readonly ConsumerInfo[]> {
  const all = await pages<ConsumerInfo>(handle, `CONSUMER.LIST.${stream}`, "consumers");
  return all.filter(({ config }) => config.durable_name !== undefined);
}

async function pages<T>(
  handle: NatsConnectionHandle,
  operation: string,
  member: string,
  timeoutMs?: number,
): Promise<readonly T[]> {
  const found: T[] = [];
  for (;;) {
    const from = { offset: found.length };
    const page = await callJetStream<Readonly<Record<string, unknown>>>(handle, operation, from, timeoutMs);
    const items = (page[member] ?? []) as readonly T[];
    found.push(...items);
    if (items.length === 0 || found.length >= Number(page["total"] ?? 0)) return found;
  }
}

/** Number of messages on the subjects of a filter. Source: nats-server, at most 100,000 subjects in one response. */
export async function countMatching(handle: NatsConnectionHandle, stream: string, filter: string): Promise<number> {
  let [messages, offset] = [0, 0];
  for (;;) {
    const { state } = await callJetStream<StreamInfo>(handle, `STREAM.INFO.${stream}`, {
      subjects_filter: filter,
      offset,
    });
    const counts = Object.values(state.subjects ?? {});
    messages += counts.reduce((sum, count) => sum + count, 0);
    offset += counts.length;
    if (counts.length === 0 || offset >= (state.num_subjects ?? 0)) return messages;
  }
}

/** The source ended a backup before its last part. */
export class BackupEnded extends Error {
  override readonly name = "BackupEnded";
}

/** One stream and the account that gets it. */
interface StreamCopy {
  readonly from: NatsConnectionHandle;
  readonly to: NatsConnectionHandle;
  readonly stream: string;
  /** Text of the mark that the copy has until it is verified. */
  readonly mark: string;
  /** Copies of each message on the target. */
  readonly replicas: number;
}

/**
 * Copies a stream with its consumers: reads a backup and restores it, part by part. No part is kept: memory holds one
 * window of the source. Sequences, consumers and schedules stay. The target gives the stream a new time of creation.
 *
 * @throws JetStreamApiError, NoReplyError or BackupEnded. The target then keeps an unfinished stream with the mark: a
 * single server what came, a cluster an empty one.
 */
export async function copyStream({ from, to, stream, mark, replicas }: StreamCopy): Promise<StreamInfo> {
  const inbox = createInbox();
  const parts = from.connection.subscribe(inbox);
  try {
    const request = { deliver_subject: inbox, chunk_size: chunkBytes, jsck: true };
    const { config, state } = await callJetStream<SnapshotStart>(from, `STREAM.SNAPSHOT.${stream}`, request);
    const copied = { config: copyConfig(config, mark, replicas), state };
    const { deliver_subject: subject } = await callJetStream<RestoreStart>(to, `STREAM.RESTORE.${stream}`, copied);
    await forward(parts, to, subject, stream);
    const last = await to.requests.request(subject, "", { timeoutMs: restoreTimeoutMs });
    return resultOf(`restore of ${stream}`, last) as StreamInfo;
  } finally {
    parts.unsubscribe();
  }
}

interface RestoreStart {
  /** Takes the parts of the backup. */
  readonly deliver_subject: string;
}

/** The stream's configuration on the target. A single server rejects a stream with more copies than one. */
function copyConfig(config: StreamConfig, mark: string, replicas: number): StreamConfig {
  return { ...config, num_replicas: replicas, metadata: { ...config.metadata, [copyMark]: mark } };
}

async function forward(parts: Subscription, to: NatsConnectionHandle, subject: string, stream: string): Promise<void> {
  const silence = setTimeout(() => parts.unsubscribe(), chunkTimeoutMs);
  try {
    for await (const part of parts) {
      silence.refresh();
      if (part.data.length === 0) {
        assertWhole(part, stream);
        return;
      }
      await to.requests.request(subject, part.data, { timeoutMs: chunkTimeoutMs });
      // The source sends further parts after this response only.
      part.respond();
    }
  } finally {
    clearTimeout(silence);
  }
  throw new BackupEnded(
    `the backup of ${stream} ended before its last part; the source or the connection to it is gone`,
  );
}

/** The last part is empty. It has a status when the source gave up. */
function assertWhole({ headers }: Msg, stream: string): void {
  const status = headers?.get("Status") ?? headers?.status ?? "";
  if (status !== "" && headers?.code !== 204) throw new BackupEnded(`the backup of ${stream} failed: ${status}`);
}
