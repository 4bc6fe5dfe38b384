import type { Bucket } from "../../nats/streams/buckets.ts";
import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import type { Partner } from "./partner.ts";

/** The mark of a partner that answered 410. It is valid while the specification of the partner is unchanged. */
export interface DisabledMark {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly specDigest: string;
  /** ISO 8601 UTC. */
  readonly at: string;
}

/** Partners that a 410 disabled, for every pod. Source: seed "Webhook Event Delivery" §7. */
export interface DisabledPartners {
  /** Stores the mark. @throws Unanswered when `signal` is aborted */
  mark(partner: Partner, nowMs: number, signal: AbortSignal): Promise<void>;
  /** Whether the partner, as specified now, is disabled. @throws Unanswered */
  isDisabled(partner: Partner): Promise<boolean>;
  /** The mark of the partner as specified now; undefined when it is not disabled. @throws Unanswered */
  find(partner: Partner): Promise<DisabledMark | undefined>;
  /** Keys of the marks, including those that an edit has made invalid. @throws Unanswered */
  keys(): Promise<readonly string[]>;
  /** Lists all marks, including those that an edit has made invalid. */
  list(): Promise<readonly DisabledMark[]>;
  /** Calls the listener after each mark that this pod stored. Returns a function that removes the listener. */
  onMark(listener: () => void): () => void;
}

/** @param bucket marks by partner key */
export function createDisabledPartners(bucket: Bucket): DisabledPartners {
  const listeners = new Set<() => void>();
  const find: DisabledPartners["find"] = async ({ config, key }) => {
    const entry = await bucket.get(key);
    const mark = entry === undefined ? undefined : parseMark(entry.value);
    return mark?.specDigest === config.specDigest ? mark : undefined;
  };
  return {
    mark: async ({ config, key }, nowMs, signal) => {
      const { uid, namespace, name, generation, specDigest } = config;
      const mark: DisabledMark = { uid, namespace, name, generation, specDigest, at: new Date(nowMs).toISOString() };
      await untilAnswered(() => bucket.put(key, JSON.stringify(mark)), { signal });
      listeners.forEach((listener) => listener());
    },
    isDisabled: async (partner) => (await find(partner)) !== undefined,
    find,
    keys: () => bucket.keys(),
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
