import { AckPolicy, DeliverPolicy, type ConsumerConfig } from "@nats-io/jetstream";
import { createInbox, nanos, type Msg } from "@nats-io/transport-node";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { firstValues, headerText, headerValue, parseHeaders } from "./headers.ts";
import { readReply } from "./pulled-message.ts";
import type { StoredMessage } from "./stored-messages.ts";

/** Reads subjects and headers of a stream in order. Bodies stay on the server, so it costs a fraction of a batch. */
export type HeaderScan = Awaited<ReturnType<typeof openHeaderScan>>;

/** Start of a scan. */
export interface ScanStart {
  /** Subjects, which may hold wildcards and do not overlap. */
  readonly subjects: readonly string[];
  /** First sequence, or first time in Unix milliseconds. */
  readonly from: { readonly seq: number } | { readonly atMs: number };
  /** True to read bodies too. @default headers only */
  readonly withBodies?: boolean;
}

/** The server removes the consumer of a scan that stopped for this long, as after the end of its pod. */
const unusedMs = 60_000;
const replyTimeoutMs = 10_000;

/** Opens a scan with a consumer of its own, in memory and without acknowledgements. @throws JetStreamApiError */
export async function openHeaderScan(handle: NatsConnectionHandle, stream: string, start: ScanStart) {
  const { name } = await handle.manager.consumers.add(stream, consumerConfig(start));
  const subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`;
  return {
    /** Reads the next messages; fewer than `countMax` mean the end of the stream for now. @throws Error when late */
    next: (countMax: number) => handle.uninterrupted(() => readNext(handle, subject, countMax)),
    /** Removes the consumer. Never rejects: the server removes an unused one itself. */
    close: async () => {
      await handle.manager.consumers.delete(stream, name).catch(() => undefined);
    },
  };
}

function consumerConfig({ subjects, from, withBodies = false }: ScanStart): Partial<ConsumerConfig> {
  const start =
    "seq" in from
      ? { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: Math.max(1, from.seq) }
      : { deliver_policy: DeliverPolicy.StartTime, opt_start_time: new Date(from.atMs).toISOString() };
  return {
    ...start,
    ack_policy: AckPolicy.None,
    filter_subjects: [...subjects],
    headers_only: !withBodies,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: nanos(unusedMs),
  };
}

/** One request that does not wait for later messages. The server ends it with a status when none is left. */
function readNext(handle: NatsConnectionHandle, subject: string, countMax: number): Promise<readonly ScannedMessage[]> {
  const inbox = createInbox();
  const messages: ScannedMessage[] = [];
  return new Promise((resolve, reject) => {
    const end = (done: () => void): void => {
      clearTimeout(timer);
      subscription.unsubscribe();
      done();
    };
    const receive = (error: Error | null, message: Msg): void => {
      if (error !== null) end(() => reject(error));
      else if (message.subject === inbox) end(() => endOf(message, messages, resolve, reject));
      else if (messages.push(scannedMessage(message)) === countMax) end(() => resolve(messages));
    };
    // A connection that has ended throws here, before there is a timer.
    const subscription = handle.connection.subscribe(inbox, { callback: receive });
    const late = new Error(`no response to ${subject} within ${replyTimeoutMs} ms`);
    const timer = setTimeout(() => end(() => reject(late)), replyTimeoutMs);
    handle.outbox.publish(subject, JSON.stringify({ batch: countMax, no_wait: true }), { reply: inbox });
  });
}

const noneStatus = 404;
const timeoutStatus = 408;

/** Source: NATS ADR-13. */
function endOf(
  status: Msg,
  messages: readonly ScannedMessage[],
  resolve: (messages: readonly ScannedMessage[]) => void,
  reject: (error: Error) => void,
): void {
  const code = status.headers?.code;
  if (code === noneStatus || code === timeoutStatus) resolve(messages);
  else reject(new Error(`the scan ended with ${String(code)} ${status.headers?.description ?? "no responders"}`));
}

/** A message that a scan read. Each part is parsed when it is first asked for: most scans use few of them. */
export interface ScannedMessage extends StoredMessage {
  /** The first value of one header, without reading the others. @param mark made by `headerMark` */
  header(mark: string): string | undefined;
}

/** A message of a scan as the client received it. */
export function scannedMessage(message: Msg): ScannedMessage {
  return new Scanned(message);
}

/** A class, since closures would be created anew for each message. */
class Scanned implements ScannedMessage {
  readonly #message: Msg;
  #delivery: ReturnType<typeof readReply> | undefined;
  #text: string | undefined;
  #headers: Readonly<Record<string, string>> | undefined;

  constructor(message: Msg) {
    this.#message = message;
  }

  get subject(): string {
    return this.#message.subject;
  }

  get seq(): number {
    return this.#read().seq;
  }

  get storedAtMs(): number {
    return this.#read().storedAtMs;
  }

  get data(): Uint8Array {
    return this.#message.data;
  }

  get headers(): Readonly<Record<string, string>> {
    this.#headers ??= parseHeaders(this.#block());
    return this.#headers;
  }

  header(mark: string): string | undefined {
    return headerValue(this.#block(), mark);
  }

  #block(): string {
    this.#text ??= headerText(this.#message) ?? textOf(this.#message);
    return this.#text;
  }

  #read(): ReturnType<typeof readReply> {
    this.#delivery ??= readReply(this.#message.reply ?? "");
    return this.#delivery;
  }
}

/** The text of headers whose bytes the client does not show. */
function textOf({ headers = [] }: { readonly headers?: Msg["headers"] | readonly [] }): string {
  const lines = Object.entries(firstValues(headers)).map(([name, value]) => `${name}: ${value}`);
  return ["NATS/1.0", ...lines, "", ""].join("\r\n");
}
