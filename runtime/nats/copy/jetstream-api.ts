import type { ConsumerInfo, StreamConfig, StreamInfo, StreamState } from "@nats-io/jetstream";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { untilReceived } from "../connection/retry-until-answered.ts";

/** Response of the JetStream API that begins a backup. Source: NATS ADR and `schemas` of jsm.go. */
export interface SnapshotStart {
  readonly config: StreamConfig;
  /** Counts at the moment of the backup. */
  readonly state: StreamState;
}

/** An error that JetStream reports. */
export class JetStreamRefusal extends Error {
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

interface Answer {
  readonly error?: { readonly err_code?: number; readonly code?: number; readonly description?: string };
}

/** Parses a response of the JetStream API. @throws JetStreamRefusal */
export function answerOf(subject: string, payload: Uint8Array): unknown {
  const answer = JSON.parse(Buffer.from(payload).toString()) as Answer;
  const { error } = answer;
  if (error === undefined) return answer;
  throw new JetStreamRefusal(subject, error.err_code ?? error.code ?? 0, error.description ?? "refused");
}

/** Calls the JetStream API, again while nobody receives the call. @throws JetStreamRefusal, and Unanswered */
export async function callJetStream<T>(
  { requests }: NatsConnectionHandle,
  operation: string,
  body: object = {},
  timeoutMs = requestTimeoutMs,
): Promise<T> {
  const subject = `$JS.API.${operation}`;
  const request = (): Promise<Uint8Array> => requests.request(subject, JSON.stringify(body), { timeoutMs });
  return answerOf(subject, await untilReceived(request, timeoutMs)) as T;
}

/** The names of all streams of the account. @throws JetStreamRefusal, and Unanswered without a response in time */
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
