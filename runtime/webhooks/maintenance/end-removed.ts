import type { MaintenanceContext } from "./background-loops.ts";
import type { PendingEnder } from "./end-pending.ts";
import type { RegisteredPartner } from "../partners/partner-registry.ts";
import type { NamedPartner, Partner } from "../partners/partner.ts";
import type { PodMessages } from "../../nats/messages/pod-messages.ts";
import type { Log } from "../log.ts";
import type { PartnerHolds, DisabledPartners } from "../partners/partner-holds.ts";
import { heldDetails } from "../settlement/outcome.ts";
import { lastAttemptAtMs } from "../settlement/settle.ts";

const detail = "the partner was removed before anything more could be sent to it";

/** Finds the partners that a pod still has configured, or has an attempt for. */
export interface RunningPartners {
  /** Of these keys, those of running partners. All keys count as running when a live pod does not respond. */
  among(keys: readonly string[]): Promise<ReadonlySet<string>>;
}

interface RunningPartnersDeps {
  /** Requests between pods; undefined: no other pod is requested. */
  readonly peers: Pick<PodMessages, "request" | "serve"> | undefined;
  /** Names of the live pods, including this one. */
  readonly livePods: () => readonly string[];
  readonly own: string;
  /** True when this pod has a partner configured, or an attempt to it under way. */
  readonly has: (key: string) => boolean;
  readonly log: Log;
}

const topic = "partners";
const requestMs = 1_000;
/** Keys of one request; keys beyond this number count as running. */
const keysMax = 256;

/**
 * Ends waiting deliveries of partners that no pod has configured any more, and then removes their consumers.
 *
 * @returns a function for one run; it resolves with true when nothing of the partner is left
 */
export function createRemovedEnder(
  { deliveries, mayExist }: MaintenanceContext,
  ender: PendingEnder,
): (entry: RegisteredPartner) => Promise<boolean> {
  return async (entry) => {
    const { token: key } = entry;
    const isRemoved = (): boolean => !mayExist(key);
    const progress = await ender.run({
      partner: named(entry),
      reason: "partner_removed",
      detail,
      acceptedUpToMs: Number.POSITIVE_INFINITY,
      isValid: isRemoved,
    });
    if (progress.kind !== "done" || !isRemoved() || !(await deliveries.removePartner(key))) return false;
    ender.forget(key);
    return true;
  };
}

/** The partner of an entry. An entry made from a stored message has the partner's key as its label. */
function named({ token, uid, label }: RegisteredPartner): NamedPartner {
  const at = label.indexOf("/");
  const [namespace, name] = at < 0 ? ["", label] : [label.slice(0, at), label.slice(at + 1)];
  return { key: token, label, config: { uid, namespace, name, specDigest: "" } };
}

/**
 * Serves requests of other pods from now on, and sends them. All partners of a pod that does not respond count as
 * running.
 */
export function createRunningPartners({ peers, livePods, own, has, log }: RunningPartnersDeps): RunningPartners {
  peers?.serve(topic, (request) => ({ running: keysIn(request, "tokens").filter(has) }));
  const silent = new Set<string>();
  const request = async (pod: string, keys: readonly string[]): Promise<readonly string[]> => {
    try {
      const response = await peers?.request(pod, topic, { tokens: keys }, requestMs);
      silent.delete(pod);
      return peers === undefined ? [] : keysIn(response, "running");
    } catch (error) {
      if (!silent.has(pod)) log.warn({ err: error, pod }, "pod did not respond, deliveries of removed partners stay");
      silent.add(pod);
      return keys;
    }
  };
  return {
    among: async (keys) => {
      const requested = keys.slice(0, keysMax);
      const others = livePods().filter((pod) => pod !== own);
      const running = await Promise.all(others.map((pod) => request(pod, requested)));
      return new Set([...keys.slice(keysMax), ...requested.filter(has), ...running.flat()]);
    },
  };
}

/** @throws Error when the message has another form, as from another version of the program */
function keysIn(message: unknown, name: string): readonly string[] {
  const keys =
    typeof message === "object" && message !== null ? (message as Readonly<Record<string, unknown>>)[name] : undefined;
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === "string"))
    throw new Error(`message of another pod has no list of strings "${name}"`);
  return keys;
}

interface ExpireHeldDeps {
  readonly partners: () => readonly Partner[];
  readonly disabled: Pick<DisabledPartners, "keys" | "find">;
  readonly holds: Pick<PartnerHolds, "keys" | "read">;
  readonly ender: PendingEnder;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
}

/** Nothing is sent to a partner until a time. */
interface Block {
  readonly detail: string;
  /** Unix milliseconds. */
  readonly untilMs: number;
  /** Only deliveries accepted after this time end. */
  readonly acceptedAfterMs?: number;
}

/** Minimum time between two walks over the messages of a partner. */
const walkMs = 60_000;
/** The same as a share of the maximum age. */
const walkShare = 0.05;
const secondMs = 1_000;
/** Time before the probe of an open circuit breaker in which nothing ends. */
const probeMarginMs = 1_000;
/** Added to the time limit of an attempt: attempts from before the pause must have ended. */
const inFlightMarginMs = 5_000;

/**
 * Ends deliveries to partners that are held, disabled, or paused by their circuit breaker or a `Retry-After`, at their
 * maximum age. A partner whose state is `Paused` keeps its deliveries. The messages of a partner are read when the
 * oldest has this age, and periodically.
 *
 * @returns a function for one run
 */
export function createHeldExpiry(deps: ExpireHeldDeps): () => Promise<void> {
  const { partners, ender, now } = deps;
  const nextAtMs = new Map<string, number>();
  return async () => {
    const marked = new Set([...(await deps.disabled.keys()), ...(await deps.holds.keys())]);
    const candidates = partners().filter(
      ({ config, key }) => config.held !== undefined || (config.state !== "Paused" && marked.has(key)),
    );
    const keys = new Set(candidates.map(({ key }) => key));
    for (const key of [...nextAtMs.keys()].filter((one) => !keys.has(one))) {
      nextAtMs.delete(key);
      ender.forget(key);
    }
    for (const partner of candidates.filter(({ key }) => (nextAtMs.get(key) ?? 0) <= now())) {
      const block = await blockOf(deps, partner);
      if (block !== undefined) nextAtMs.set(partner.key, await endOld(deps, partner, block));
    }
  };
}

/** Undefined when deliveries to the partner may be in flight, or it gets them again soon. */
async function blockOf({ disabled, holds, now }: ExpireHeldDeps, partner: Partner): Promise<Block | undefined> {
  const { held, endpoint, retry } = partner.config;
  if (held !== undefined) return { detail: heldDetails.held, untilMs: Number.POSITIVE_INFINITY };
  const mark = await disabled.find(partner);
  if (mark !== undefined) {
    const isOver = now() - Date.parse(mark.at) > endpoint.timeoutMs + inFlightMarginMs;
    return isOver ? { detail: heldDetails.disabled, untilMs: Number.POSITIVE_INFINITY } : undefined;
  }
  const pause = await holds.read(partner);
  if (pause === undefined) return undefined;
  const pausedMs = now() - pause.sinceMs;
  const untilMs = pause.untilMs - probeMarginMs;
  if (untilMs <= now() || pausedMs <= endpoint.timeoutMs + inFlightMarginMs) return undefined;
  // A delivery that was too old before, as after a long Paused, still gets its attempt, unless the pause is as long.
  const ageMs = retry.maxAgeSeconds * secondMs;
  const isLong = pausedMs >= ageMs;
  return { detail: heldDetails[pause.cause], untilMs, ...(!isLong && { acceptedAfterMs: pause.sinceMs - ageMs }) };
}

/** Resolves with the time of the next walk. */
async function endOld({ partners, ender, now }: ExpireHeldDeps, partner: Partner, block: Block): Promise<number> {
  const { key, config } = partner;
  const ageMs = config.retry.maxAgeSeconds * secondMs;
  const atMs = now();
  const isSame = (): boolean => {
    const current = partners().find((one) => one.key === key)?.config;
    return current?.specDigest === config.specDigest && current.held === config.held && current.state === config.state;
  };
  const { untilMs, ...rest } = block;
  const progress = await ender.run({
    partner,
    reason: "held_expired",
    ...rest,
    acceptedUpToMs: atMs - ageMs,
    isValid: () => now() < untilMs && isSame(),
  });
  if (progress.kind !== "done") return 0;
  const endMs = lastAttemptAtMs(config.retry, progress.oldestMs ?? atMs);
  const laterMs = atMs + Math.min(ageMs, Math.max(walkMs, ageMs * walkShare));
  return Math.min(endMs, laterMs);
}
