import { createLeaseClock } from "../../../runtime/nats/connection/lease-clock.ts";
import type { NatsConnectionHandle } from "../../../runtime/nats/connection/connect.ts";
import type { HeaderFields } from "../../../runtime/nats/messages/headers.ts";

/** A connection that keeps what the product sends, and stores none of it. */
interface RecordingNats {
  readonly handle: NatsConnectionHandle;
  /** Subject, headers and payload of each message since the last call, one per line. */
  take(): string;
  /** Payloads of answers by subject. @default the message is stored */
  readonly answers: Map<string, string>;
}

/** When everything happens, by every clock. */
export const nowMs = Date.parse("2026-01-02T03:04:05.678Z");

interface Sent {
  readonly headers?: { readonly encode?: () => Uint8Array };
}

/** Nothing is sent yet. */
export function recordingNats(): RecordingNats {
  let sent: string[] = [];
  const answers = new Map<string, string>();
  const note = (subject: string, payload: Uint8Array | string, options: Sent = {}): void => {
    const headers = options.headers?.encode?.() ?? new Uint8Array();
    const lines = Buffer.from(headers).toString().split("\r\n").slice(1).filter(Boolean);
    sent.push([subject, ...lines, Buffer.from(payload).toString()].join("\n").trimEnd());
  };
  const ask = async (subject: string, payload: Uint8Array | string, options?: Sent): Promise<Uint8Array> => {
    note(subject, payload, options);
    return Buffer.from(answers.get(subject) ?? '{"stream":"any","seq":7}');
  };
  const add = async (stream: string, config: object): Promise<object> => {
    sent.push(`consumer of ${stream}\n${JSON.stringify(config)}`);
    return {};
  };
  const handle = {
    connection: {},
    manager: { consumers: { add } },
    requests: { request: ask },
    outbox: { publish: note },
    clock: { observe: () => undefined, localMs: () => 0, now: () => nowMs, errorMs: () => 0, offsetMs: () => 0 },
    leases: createLeaseClock(),
    isConnected: () => true,
  };
  return {
    handle: handle as unknown as NatsConnectionHandle,
    answers,
    take: () => {
      const text = sent.join("\n");
      sent = [];
      return text;
    },
  };
}

/** Headers as a reader of messages gets them. */
export function textsOf(headers: HeaderFields): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter((pair): pair is [string, string] => pair[1] !== undefined));
}
