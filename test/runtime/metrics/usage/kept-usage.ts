import type { UsageStore } from "../../../../runtime/metrics/usage/usage-message.ts";

interface KeptMessage {
  readonly hour: number;
  readonly payload: Uint8Array;
  readonly seq: number;
}

/** A store of usage in memory that fails as JetStream may. */
export interface KeptUsage extends UsageStore {
  /** What happens to the next writes. @default `stored` */
  readonly faults: ("stored" | "reply lost" | "unavailable")[];
  nowMs: number;
  /** Replaces the stream by an empty one. */
  wipe(): void;
  messages(): readonly KeptMessage[];
}

/** Creates an empty store. */
export function keptUsage(nowMs: number): KeptUsage {
  const messages = new Map<string, KeptMessage>();
  let seq = 0;
  let createdAtMs = 0;
  const own: KeptUsage = {
    faults: [],
    nowMs,
    now: () => own.nowMs,
    createdAtMs: async () => createdAtMs,
    lastSeq: async (place) => messages.get(JSON.stringify(place))?.seq ?? 0,
    async write(place, payload, { afterSeq }) {
      const fault = own.faults.shift();
      if (fault === "unavailable") throw new Error("NATS does not respond");
      const key = JSON.stringify(place);
      if ((messages.get(key)?.seq ?? 0) !== afterSeq) return undefined;
      seq += 1;
      messages.set(key, { hour: place.hour, payload, seq });
      if (fault === "reply lost") throw new Error("the reply was lost");
      return seq;
    },
    async *read() {
      yield* [...messages.values()].toSorted((one, other) => one.seq - other.seq);
    },
    wipe() {
      messages.clear();
      createdAtMs = own.nowMs;
    },
    messages: () => [...messages.values()],
  };
  return own;
}
