import { hash } from "node:crypto";
import { parseJsonObject } from "../../json/json-body.ts";
import type { Bucket } from "../../nats/streams/buckets.ts";
import { retryUntilReply } from "../../nats/connection/retry-until-reply.ts";
import type { Log } from "../log.ts";
import type { Partner } from "./partner.ts";
import { openCauses, type BreakerState, type OpenBreaker } from "../settlement/circuit-breaker.ts";

/** Pauses of partners by circuit breakers and `Retry-After`, for the next owner of a lane and for the leader pod. */
export type PartnerHolds = ReturnType<typeof createPartnerHolds>;

/** The stored form of a pause. */
interface StoredHold extends Omit<OpenBreaker, "kind"> {
  /** What the pause is about: an edit that changes it ends the pause. */
  readonly about: string;
}

/** The pod of subjects on which every pod listens to holds. */
export const holdsPod = "_partners";

/** Tells all pods of a hold at once: another one may own the lane by now. Delivery is not guaranteed. */
type Announce = (message: HoldMessage) => void;

/** A hold of a partner, for the pod that owns its lane now. */
type HoldMessage = { readonly key: string } & (
  | { readonly pause: StoredHold }
  /** Specification that responded with 410. */
  | { readonly disabled: string }
);

interface PartnerHoldsDeps {
  /** Pauses by partner key. */
  readonly bucket: Bucket;
  readonly announce: Announce;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** A pause that JetStream does not store for so long is known to this pod alone. */
const storeMsMax = 5_000;

export function createPartnerHolds({ bucket, announce, log, signal }: PartnerHoldsDeps) {
  /** States that are not stored yet, and the writes under way, by partner key. */
  const next = new Map<string, readonly [Partner, BreakerState]>();
  const writes = new Map<string, Promise<void>>();
  const writeAll = async (key: string): Promise<void> => {
    for (let latest = next.get(key); latest !== undefined; latest = next.get(key)) {
      next.delete(key);
      const [partner, state] = latest;
      try {
        await retryUntilReply(() => write(bucket, partner, state), { signal, giveUpAfterMs: storeMsMax });
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error, partner: partner.label }, "pause of the partner not stored");
      }
    }
    writes.delete(key);
  };
  return {
    /** Stores a pause, or removes that of a closed breaker. The latest state of a partner wins. Never rejects. */
    keep: (partner: Partner, state: BreakerState) => {
      const { key } = partner;
      if (state.kind === "open") announce({ key, pause: storedHold(partner, state) });
      next.set(key, [partner, state]);
      if (!writes.has(key)) writes.set(key, writeAll(key));
    },
    /** Resolves when the states kept so far are stored. Never rejects. */
    kept: async (key: string) => writes.get(key),
    /** The stored pause of a partner; undefined when there is none, or an edit has ended it. @throws NoReplyError */
    read: async (partner: Partner) => {
      const entry = await bucket.get(partner.key);
      return entry === undefined ? undefined : parseHold(entry.value, partner);
    },
    /** Keys of the partners with a stored pause. @throws NoReplyError */
    keys: async () => new Set(await bucket.keys()),
  };
}

async function write(bucket: Bucket, partner: Partner, state: BreakerState): Promise<void> {
  if (state.kind !== "open") {
    await bucket.drop(partner.key);
    return;
  }
  await bucket.put(partner.key, JSON.stringify(storedHold(partner, state)));
}

function storedHold(partner: Partner, { kind: _kind, ...rest }: OpenBreaker): StoredHold {
  return { ...rest, about: aboutOf(partner, rest.cause) };
}

function parseHold(text: string, partner: Partner): OpenBreaker | undefined {
  return readHold(parseJsonObject(text) ?? {}, partner);
}

/** Undefined for a pause that an edit has ended, and for the form of another version. */
function readHold(stored: Partial<StoredHold>, partner: Partner): OpenBreaker | undefined {
  const { cause, about, sinceMs, untilMs, restMs, failures } = stored;
  const known = openCauses.find((one) => one === cause);
  if (known === undefined || about !== aboutOf(partner, known)) return undefined;
  if (!isNumber(sinceMs) || !isNumber(untilMs) || !isNumber(restMs) || !isNumber(failures)) return undefined;
  return { kind: "open", cause: known, sinceMs, untilMs, restMs, failures };
}

/** What ends the deliveries to a partner: a pause, or a 410. */
export type Hold = OpenBreaker | "disabled";

/** Reads the message of a hold. @param partnerOf the configured partner with a key */
export function readHoldMessage(
  text: string,
  partnerOf: (key: string) => Partner | undefined,
): { readonly partner: Partner; readonly hold: Hold } | undefined {
  const { key, pause, disabled }: { key?: unknown; pause?: unknown; disabled?: unknown } = parseJsonObject(text) ?? {};
  const partner = typeof key === "string" ? partnerOf(key) : undefined;
  if (partner === undefined) return undefined;
  const isDisabled = disabled === partner.config.specDigest;
  const hold = isDisabled ? "disabled" : readHold(Object(pause) as Partial<StoredHold>, partner);
  return hold && { partner, hold };
}

/** An edit may have repaired a partner that failed. A `Retry-After` is about the endpoint. */
function aboutOf({ config }: Partner, cause: OpenBreaker["cause"]): string {
  return cause === "failures" ? config.specDigest : hash("sha256", config.endpoint.url, "base64url");
}

const isNumber = (value: unknown): value is number => Number.isFinite(value);

/** The mark of a partner that responded with 410. It is valid while the specification of the partner is unchanged. */
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
  /** Stores the mark. @throws NoReplyError when `signal` is aborted */
  mark(partner: Partner, nowMs: number, signal: AbortSignal): Promise<void>;
  /** Whether the partner, as specified now, is disabled. @throws NoReplyError */
  isDisabled(partner: Partner): Promise<boolean>;
  /** The mark of the partner as specified now; undefined when it is not disabled. @throws NoReplyError */
  find(partner: Partner): Promise<DisabledMark | undefined>;
  /** Keys of the marks, including those that an edit has made invalid. @throws NoReplyError */
  keys(): Promise<readonly string[]>;
  /** Lists all marks, including those that an edit has made invalid. */
  list(): Promise<readonly DisabledMark[]>;
  /** Calls the listener after each mark that this pod stored. Returns a function that removes the listener. */
  onMark(listener: () => void): () => void;
}

/** @param bucket marks by partner key */
export function createDisabledPartners(bucket: Bucket, announce: Announce): DisabledPartners {
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
      await retryUntilReply(() => bucket.put(key, JSON.stringify(mark)), { signal });
      announce({ key, disabled: specDigest });
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
