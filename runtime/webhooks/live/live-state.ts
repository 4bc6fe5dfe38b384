// Live state: what the pod that owns the lane of a partner knows about it now. Other pods ask it.

import { pageItemsMax } from "../../../api/events.ts";
import type { PartnerLive } from "../../../api/partners.ts";
import { causeOf, openCauses, type BreakerState, type OpenCause } from "../settlement/circuit-breaker.ts";
import type { Partner } from "../partners/partner.ts";
import { BoundedMap, createSingleFlight } from "../../../limits/bounded-map.ts";
import type { PodMessages } from "../../nats/messages/pod-messages.ts";
import { ownerOf } from "../../pods/pods.ts";

/** Names that pods send each other; earlier versions know no others. */
const sentNames = ["closed", "open", "half_open"] as const;
/** What the owner of a partner answers. Its members are sent between pods; times are Unix milliseconds. */
export interface LiveState {
  readonly breaker: (typeof sentNames)[number];
  /** Time at which the breaker may be probed; null unless it is open. */
  readonly breakerUntilMs: number | null;
  /** Why it is not closed; null when it is, or in messages of earlier versions. */
  readonly cause: OpenCause | null;
  /** Null when the owner has not counted it. */
  readonly backlog: number | null;
  /** Deliveries that the owner has pulled and not settled. */
  readonly inFlight: number;
  /** Null for none, or when it is unknown. */
  readonly oldestDueAtMs: number | null;
  /** Time of the response by JetStream's clock. */
  readonly asOfMs: number;
}

/** Figures of one partner by the last counts of this pod. */
interface PartnerFigure {
  /** Deliveries that are due or in flight; undefined when this pod has not counted its lane. */
  readonly backlog: number | undefined;
  /** Time since when its oldest delivery is due, Unix milliseconds; undefined for none, or before the first read. */
  readonly oldestDueAtMs: number | undefined;
}

/** What the periodic counts of this pod found, by partner. It holds no more than the partners of the last counts. */
export type PartnerFigures = ReturnType<typeof createPartnerFigures>;

/** The live state by what its owner has in memory. @param nowMs JetStream's clock */
export function liveStateOf(
  breaker: BreakerState,
  inFlight: number,
  { backlog, oldestDueAtMs }: PartnerFigure,
  nowMs: number,
): LiveState {
  return {
    ...breakerAt(breaker, nowMs),
    backlog: backlog ?? null,
    inFlight,
    oldestDueAtMs: oldestDueAtMs ?? null,
    asOfMs: nowMs,
  };
}

function breakerAt(state: BreakerState, nowMs: number): Pick<LiveState, "breaker" | "breakerUntilMs" | "cause"> {
  const cause = causeOf(state) ?? null;
  if (state.kind === "closed") return { breaker: "closed", breakerUntilMs: null, cause };
  return state.kind === "open" && state.untilMs > nowMs
    ? { breaker: "open", breakerUntilMs: state.untilMs, cause }
    : { breaker: "half_open", breakerUntilMs: null, cause };
}

/** Parses the response of a pod; undefined for that of a pod that does not own the lane, or of another version. */
export function parseLiveState(message: unknown): LiveState | undefined {
  if (typeof message !== "object" || message === null) return undefined;
  const { breaker, breakerUntilMs, cause, backlog, inFlight, oldestDueAtMs, asOfMs } = message as Partial<LiveState>;
  const name = sentNames.find((one) => one === breaker);
  if (name === undefined || !isCount(inFlight) || !isTime(asOfMs)) return undefined;
  return {
    breaker: name,
    breakerUntilMs: isTime(breakerUntilMs) ? breakerUntilMs : null,
    cause: openCauses.find((one) => one === cause) ?? null,
    backlog: isCount(backlog) ? backlog : null,
    inFlight,
    oldestDueAtMs: isTime(oldestDueAtMs) ? oldestDueAtMs : null,
    asOfMs,
  };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** Milliseconds that a date can hold. */
const isTime = (value: unknown): value is number =>
  typeof value === "number" && !Number.isNaN(new Date(value).valueOf());

const secondMs = 1_000;

/** The view of a state. @param state the last known one; undefined for none  @param isKnown it was answered just now */
export function liveViewOf(state: LiveState | undefined, isKnown: boolean, nowMs: number): PartnerLive {
  if (state === undefined) return neverKnown;
  return {
    known: isKnown,
    hidden: false,
    as_of: iso(state.asOfMs),
    age_seconds: Math.max(0, Math.round(nowMs - state.asOfMs)) / secondMs,
    breaker: state.breaker === "open" && state.cause === "rate_limited" ? "rate_limited" : state.breaker,
    breaker_until: iso(state.breakerUntilMs),
    backlog: state.backlog,
    in_flight: state.inFlight,
    oldest_due_at: iso(state.oldestDueAtMs),
  };
}

const neverKnown: PartnerLive = {
  known: false,
  hidden: false,
  as_of: null,
  age_seconds: null,
  breaker: null,
  breaker_until: null,
  backlog: null,
  in_flight: null,
  oldest_due_at: null,
};

/** The view of a caller that may not see all tenants of the partner. */
export const hiddenView: PartnerLive = { ...neverKnown, hidden: true };

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** Creates the memory of a pod that has counted nothing. */
export function createPartnerFigures() {
  let lanes: ReadonlySet<string> = new Set();
  let due: ReadonlyMap<string, number> = new Map();
  const oldest = new Map<string, number>();
  return {
    /** Replaces the counts. @param nextLanes those that were counted @param nextDue by `namespace/name`; absent: 0 */
    counted: (nextLanes: ReadonlySet<string>, nextDue: ReadonlyMap<string, number>) => {
      lanes = nextLanes;
      due = nextDue;
    },
    /** Stores the time of the oldest due delivery of a partner; undefined: none. */
    oldest: (label: string, atMs: number | undefined) => {
      if (atMs === undefined) oldest.delete(label);
      else oldest.set(label, atMs);
    },
    of: ({ label, lane }: { readonly label: string; readonly lane: string }) => {
      const backlog = lanes.has(lane) ? (due.get(label) ?? 0) : undefined;
      // The two counts have different times: without a backlog, the oldest delivery has ended since.
      return { backlog, oldestDueAtMs: backlog === 0 ? undefined : oldest.get(label) };
    },
  };
}

/** The live states of partners, from the pods that own their lanes. */
export interface LiveStates {
  /** Resolves within a second, with the last known state when the owner does not respond. Never rejects. */
  of(partner: Pick<Partner, "key" | "lane">): Promise<PartnerLive>;
  /** Pending deliveries by partner key, as far as the owners know them. Resolves within a second and never rejects. */
  backlogs(partners: readonly Pick<Partner, "key" | "lane">[]): Promise<ReadonlyMap<string, number>>;
}

interface LiveStatesDeps {
  /** Requests between pods; undefined: no other pod is requested. */
  readonly peers: Pick<PodMessages, "request" | "serve"> | undefined;
  /** Names of the live pods, including this one. */
  readonly livePods: () => readonly string[];
  readonly own: string;
  /** The state in this pod; undefined when it does not own the lane of the partner with this key. */
  readonly here: (key: string) => LiveState | undefined;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
}

const topic = "live";
const backlogsTopic = "backlogs";
/** A pod of an older version does not know the topic and is silent. */
const requestMs = 800;
/** Partners whose last known state is kept. */
const lastKnownMax = 4_096;

/** Serves requests of other pods from now on, and sends them. Concurrent requests for a partner are one. */
export function createLiveStates({ peers, livePods, own, here, now }: LiveStatesDeps): LiveStates {
  peers?.serve(topic, (message) => here(keyOf(message)) ?? {});
  peers?.serve(backlogsTopic, (message) => ({ backlogs: backlogsOf(keysOf(message), here) }));
  const lastKnown = new BoundedMap<string, LiveState>(lastKnownMax);
  const once = createSingleFlight<LiveState | undefined>();
  const request = async (pod: string | undefined, key: string): Promise<LiveState | undefined> => {
    if (pod === undefined || pod === own) return here(key);
    try {
      return parseLiveState(await peers?.request(pod, topic, { key }, requestMs));
    } catch {
      return undefined;
    }
  };
  return {
    of: async ({ key, lane }) => {
      const found = await once(key, () => request(ownerOf(lane, livePods()), key));
      if (found !== undefined) lastKnown.set(key, found);
      return liveViewOf(found ?? lastKnown.use(key), found !== undefined, now());
    },
    backlogs: async (partners) => {
      const byOwner = Map.groupBy(partners, ({ lane }) => ownerOf(lane, livePods()));
      const reads = [...byOwner].map(async ([pod, some]) => {
        const keys = some.map(({ key }) => key);
        if (pod === undefined || pod === own) return backlogsOf(keys, here);
        const response = await peers?.request(pod, backlogsTopic, { keys }, requestMs).catch(() => undefined);
        return parseBacklogs(response, new Set(keys));
      });
      return new Map((await Promise.all(reads)).flat());
    },
  };
}

type Backlogs = readonly (readonly [key: string, backlog: number])[];

function backlogsOf(keys: readonly string[], here: LiveStatesDeps["here"]): Backlogs {
  return keys.flatMap((key) => {
    const backlog = here(key)?.backlog ?? undefined;
    return backlog === undefined ? [] : [[key, backlog] as const];
  });
}

/** Backlogs of these keys. Parts of another form are left out. */
function parseBacklogs(message: unknown, keys: ReadonlySet<string>): Backlogs {
  const { backlogs } = ((typeof message === "object" ? message : null) as { readonly backlogs?: unknown }) ?? {};
  if (!Array.isArray(backlogs)) return [];
  return backlogs.flatMap((entry: unknown) => {
    const [key, backlog] = Array.isArray(entry) ? (entry as readonly unknown[]) : [];
    return typeof key === "string" && keys.has(key) && isCount(backlog) ? [[key, backlog] as const] : [];
  });
}

/** The keys of a request, at most those of a page. */
function keysOf(message: unknown): readonly string[] {
  const keys = typeof message === "object" && message !== null && "keys" in message ? message.keys : undefined;
  return Array.isArray(keys) ? keys.slice(0, pageItemsMax).filter((key) => typeof key === "string") : [];
}

/** Empty for a message of another form, which is no key. */
function keyOf(message: unknown): string {
  const key = typeof message === "object" && message !== null && "key" in message ? message.key : undefined;
  return typeof key === "string" ? key : "";
}
