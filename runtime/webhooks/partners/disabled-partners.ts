import type { Bucket } from "../../nats/streams/buckets.ts";
import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import type { Partner } from "./partner.ts";

/** The mark of a partner that answered 410. It counts as long as the partner's specification is the same. */
export interface DisabledMark {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly specDigest: string;
  /** ISO 8601 UTC. */
  readonly at: string;
}

/** Partners that a 410 disabled, for every pod. Source: seed "Webhook Event Delivery" §7, design §4. */
export interface DisabledPartners {
  /** Stores the mark. @throws Unanswered when `signal` is aborted */
  mark(partner: Partner, nowMs: number, signal: AbortSignal): Promise<void>;
  /** Whether the partner, as specified now, is disabled. @throws Unanswered */
  isDisabled(partner: Partner): Promise<boolean>;
  /** Every mark, also those that an edit has lifted since. */
  list(): Promise<readonly DisabledMark[]>;
  /** Calls the listener after every mark that was stored here; answers how to stop that. */
  onMark(listener: () => void): () => void;
}

/** Keys are partner tokens. */
export function createDisabledPartners(bucket: Bucket): DisabledPartners {
  const listeners = new Set<() => void>();
  return {
    mark: async ({ config, key: token }, nowMs, signal) => {
      const { uid, namespace, name, generation, specDigest } = config;
      const mark: DisabledMark = { uid, namespace, name, generation, specDigest, at: new Date(nowMs).toISOString() };
      await untilAnswered(() => bucket.put(token, JSON.stringify(mark)), { signal });
      listeners.forEach((listener) => listener());
    },
    isDisabled: async ({ config, key: token }) => {
      const entry = await bucket.get(token);
      return entry !== undefined && parseMark(entry.value).specDigest === config.specDigest;
    },
    list: async () => (await bucket.list()).map(({ value }) => parseMark(value)),
    onMark: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function parseMark(value: string): DisabledMark {
  return JSON.parse(value) as DisabledMark;
}
