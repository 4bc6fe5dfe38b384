import { laneLeaseMs } from "../../runtime/nats/connection/lease-clock.ts";
import { losesPod, losesServer, type Fault, type FaultVerb } from "./faults.ts";

/** One request at a partner. Times are Unix milliseconds of this machine. */
export interface Receipt {
  readonly eventId: string;
  readonly attempt: number;
  /** Place of the request on its connection; the first one is 1. */
  readonly place: number;
  readonly fromMs: number;
  /** Until the response was written or the connection ended; infinite while the request is open. */
  readonly toMs: number;
  /** Status of the response; 0 when there was none. */
  readonly status: number;
}

/** A fault as it happened. */
export interface PastFault {
  readonly fault: Fault;
  readonly fromMs: number;
  /** When everything that it took away was back. */
  readonly toMs: number;
}

/** A request that repeats an attempt, or that comes after the event was delivered. */
export interface Doubled {
  readonly first: Receipt;
  readonly again: Receipt;
}

/** Time between the end of a request and the record of the attempt, while JetStream works. */
const recordMsMax = 1_500;
/** Time limit of an attempt: `endpoint.timeoutSeconds` of every partner. */
export const attemptMsMax = 5_000;
/** Time that a request may take to the partner longer than the one before it. */
const wayMsMax = 500;
/** Time for which JetStream may not store records after a server is back. */
const settleMsMax = 10_000;
/** Until a new owner of a lane may have the full limit again, beyond the time limit of an attempt. */
const stallMsMax = 15_000;

/** Whether this receipt delivered its event. */
export function isDelivered({ status }: Receipt): boolean {
  return status >= 200 && status <= 299;
}

/** Accepted events that a partner did not get, and that its receipts do not show as refused for good. */
export function undelivered(eventIds: readonly string[], receipts: readonly Receipt[]): readonly string[] {
  const delivered = new Set(receipts.filter(isDelivered).map(({ eventId }) => eventId));
  return eventIds.filter((id) => !delivered.has(id));
}

/**
 * Requests that should not have been necessary. A request on a kept connection that was cut off without a response is
 * sent once more on a new one, within the time limit of its attempt (RFC 9110 §9.2.2).
 */
export function doubled(receipts: readonly Receipt[]): readonly Doubled[] {
  return [...Map.groupBy(receipts, ({ eventId }) => eventId).values()].flatMap((all) => {
    const ordered = all.toSorted((one, other) => one.fromMs - other.fromMs);
    return ordered.flatMap((again, index) => {
      const before = ordered.slice(0, index);
      const same = before.filter(({ attempt }) => attempt === again.attempt);
      const first = before.find((one) => isDelivered(one) && one.toMs <= again.fromMs) ?? same[0];
      return first === undefined || (same.length === 1 && isResent(first, again)) ? [] : [{ first, again }];
    });
  });
}

function isResent(first: Receipt, again: Receipt): boolean {
  const isCutOff = first.status === 0 && first.toMs <= again.fromMs;
  const isInTime = again.fromMs - first.fromMs <= attemptMsMax + wayMsMax;
  return isCutOff && isInTime && first.place > 1 && again.place === 1;
}

/**
 * The fault at which the first of two requests was under way: its record could not be stored. A pod that is gone or
 * stalled has such attempts at the beginning of the fault only. Undefined for a repeat that nothing excuses.
 */
export function excuseOf({ first }: Doubled, faults: readonly PastFault[]): PastFault | undefined {
  return faults.find(({ fault, fromMs, toMs }) => {
    if (first.fromMs > (losesPod(fault) ? fromMs + recordMsMax : toMs + settleMsMax)) return false;
    return (losesPod(fault) || touchesServers(fault)) && first.toMs + recordMsMax >= fromMs;
  });
}

function touchesServers(fault: Pick<Fault, "verb">): boolean {
  return losesServer(fault) || fault.verb === "starve_server" || fault.verb === "starve_pod";
}

/**
 * Stalls of pods without a fault, such as on a starved machine: others took their lanes before the next heartbeat. A
 * lost pod explains the stall that begins with the loss. A fault of a server delays the heartbeats of all pods.
 *
 * @param beatsMs times of the heartbeats of each pod, ascending
 */
export function lapses(beatsMs: readonly (readonly number[])[], faults: readonly PastFault[]): readonly PastFault[] {
  const taking = faults.filter(({ fault }) => losesPod(fault) || touchesServers(fault));
  return beatsMs.flatMap((times, target) =>
    times.flatMap((toMs, index): readonly PastFault[] => {
      const fromMs = times[index - 1] ?? toMs;
      const isKnown = taking.some((one) => {
        const untilMs = losesPod(one.fault) ? one.fromMs + recordMsMax : one.toMs + settleMsMax;
        return fromMs <= untilMs && toMs >= one.fromMs;
      });
      if (toMs - fromMs <= laneLeaseMs || isKnown) return [];
      return [{ fault: { verb: "stop_pod", target, ms: toMs - fromMs }, fromMs, toMs }];
    }),
  );
}

/** Requests that were open at a time, or had ended so shortly before that their record may not be stored. */
export function underWay(receipts: readonly Receipt[], atMs: number): number {
  return receipts.filter(({ fromMs, toMs }) => fromMs <= atMs && toMs + recordMsMax >= atMs).length;
}

/** Doubled requests of a partner with the bound that its faults allow. */
interface DoubledResult {
  readonly count: number;
  /** Attempts under way at each fault, summed up. */
  readonly allowed: number;
  readonly unexcused: readonly Doubled[];
}

/** Repeats of attempts that were all recorded: nobody had to make them again. @param recorded attempts by event id */
export function needless(
  found: readonly Doubled[],
  receipts: readonly Receipt[],
  recorded: ReadonlyMap<string, readonly number[]>,
): readonly Doubled[] {
  return found.filter(({ again: { eventId, attempt } }) => {
    const made = receipts.filter((one) => one.eventId === eventId && one.attempt === attempt).length;
    return (recorded.get(eventId) ?? []).filter((number) => number === attempt).length >= made;
  });
}

/** Compares doubled requests with the attempts that were under way at each fault. */
export function judgeDoubled(receipts: readonly Receipt[], faults: readonly PastFault[]): DoubledResult {
  const found = doubled(receipts);
  const taking = faults.filter(({ fault }) => losesPod(fault) || touchesServers(fault));
  return {
    count: found.length,
    allowed: taking.reduce((sum, { fromMs, toMs, fault }) => {
      return sum + underWay(receipts, fromMs) + (losesPod(fault) ? 0 : underWay(receipts, toMs));
    }, 0),
    unexcused: found.filter((one) => excuseOf(one, faults) === undefined),
  };
}

/** Attempts that were under way at a 429, and the time in which a pod applies its pause. */
const pauseMsMax = 1_000;

/** Requests in the time for which a 429 asked for none. @param retryAfterMs of each 429 */
export function duringPause(receipts: readonly Receipt[], retryAfterMs: number): readonly Receipt[] {
  const paused = receipts.filter(({ status }) => status === 429);
  return receipts.filter(({ fromMs }) =>
    paused.some(({ toMs }) => fromMs > toMs + pauseMsMax && fromMs < toMs + retryAfterMs),
  );
}

/** More requests open at once than the limit of the partner allows. */
export interface Excess {
  readonly atMs: number;
  readonly open: number;
  readonly limit: number;
}

/** Every moment at which a request began above the limit. @param limitAt the highest limit that pods may apply then */
export function excesses(receipts: readonly Receipt[], limitAt: (atMs: number) => number): readonly Excess[] {
  const steps = receipts
    .flatMap(({ fromMs, toMs }) => [
      { atMs: fromMs, by: 1 },
      { atMs: toMs, by: -1 },
    ])
    .toSorted((one, other) => one.atMs - other.atMs || one.by - other.by);
  let open = 0;
  return steps.flatMap(({ atMs, by }) => {
    open += by;
    const limit = limitAt(atMs);
    return by > 0 && open > limit ? [{ atMs, open, limit }] : [];
  });
}

/** An excess is excused by the attempts that were under way when a pod was lost or stalled shortly before. */
export function isExcused(
  { atMs, open, limit }: Excess,
  receipts: readonly Receipt[],
  faults: readonly PastFault[],
): boolean {
  const near = faults.filter(
    ({ fault, fromMs, toMs }) =>
      (losesPod(fault) || touchesServers(fault)) && atMs >= fromMs && atMs <= toMs + stallMsMax,
  );
  return near.some(({ fromMs }) => open - limit <= underWay(receipts, fromMs));
}

/**
 * The longest time without a delivery to a partner, from the beginning of a fault until `tailMs` after its end.
 *
 * @param nextMs beginning of the next fault: what it delays is no silence of this one. @default never
 * @param electedMs times of elections that deliveries need. A silence counts from the last one. @default none
 */
export function silenceMs(
  deliveredMs: readonly number[],
  { fromMs, toMs }: Pick<PastFault, "fromMs" | "toMs">,
  tailMs: number,
  nextMs = Number.POSITIVE_INFINITY,
  electedMs: readonly number[] = [],
): number {
  const endMs = toMs + tailMs;
  const before = deliveredMs.findLast((atMs) => atMs <= fromMs) ?? fromMs;
  const times = [before, ...deliveredMs.filter((atMs) => atMs > fromMs && atMs < endMs)];
  const after = Math.min(deliveredMs.find((atMs) => atMs >= endMs) ?? endMs, nextMs);
  return [...times, after].reduce((longest, atMs, index, all) => {
    const sinceMs = all[index - 1] ?? atMs;
    const elected = electedMs.filter((one) => one > sinceMs && one <= atMs);
    return Math.max(longest, atMs - Math.max(sinceMs, ...elected));
  }, 0);
}

/**
 * The deliveries to a partner, with the beginning of a fault among them if the one before it had silenced the partner:
 * that part belongs to the earlier fault. Of two losses of pods within two seconds, the second may hit the new owner of
 * a lane before it has delivered, so a partner may be silent until the bar has passed after the second.
 */
export function heardUntil(deliveredMs: readonly number[], fromMs: number, previousMs: number): readonly number[] {
  const isHeard = deliveredMs.some((atMs) => atMs > previousMs && atMs <= fromMs);
  return isHeard ? deliveredMs : [...deliveredMs, fromMs].toSorted((one, other) => one - other);
}

/**
 * Each fault with the time that belongs to it alone: until `tailMs` after its end, or until the next one begins at
 * `nextMs`.
 *
 * @param lastMs when the last event was sent: partners receive nothing afterwards. It ends the time of the last fault
 */
export function withTails<T extends PastFault>(
  faults: readonly T[],
  tailMs: number,
  lastMs: number,
): readonly { readonly past: T; readonly tailMs: number; readonly nextMs: number; readonly previousMs: number }[] {
  return faults.map((past, index) => {
    const nextMs = faults[index + 1]?.fromMs ?? lastMs;
    const previousMs = faults[index - 1]?.fromMs ?? Number.NEGATIVE_INFINITY;
    return { past, tailMs: Math.max(0, Math.min(tailMs, nextMs - past.toMs)), nextMs, previousMs };
  });
}

/** Longest and median silence by verb. */
export function silencesByVerb(
  silences: readonly { readonly verb: FaultVerb; readonly ms: number }[],
): Readonly<Record<string, { readonly count: number; readonly medianMs: number; readonly maxMs: number }>> {
  const byVerb = Map.groupBy(silences, ({ verb }) => verb);
  return Object.fromEntries(
    [...byVerb].map(([verb, all]) => {
      const sorted = all.map(({ ms }) => ms).toSorted((one, other) => one - other);
      const medianMs = sorted[Math.floor(sorted.length / 2)] ?? 0;
      return [verb, { count: sorted.length, medianMs, maxMs: sorted.at(-1) ?? 0 }];
    }),
  );
}

/** The last scrape of a counter in one life of a pod. */
export interface LastScrape {
  readonly atMs: number;
  readonly value: number;
  /** When the pod was killed; absent when it still runs, and its counter is final. */
  readonly endedMs?: number;
}

/**
 * Compares a counter with what was counted. A pod that was killed counted further after its last scrape, so the sum may
 * be lower by the events of that time. Returns the sentence of the difference; undefined when there is none.
 *
 * @param timesMs times of the counted events
 */
export function counterFault(
  name: string,
  scrapes: readonly LastScrape[],
  timesMs: readonly number[],
  slack = 0,
): string | undefined {
  const sum = scrapes.reduce((total, { value }) => total + value, 0);
  const unseen = timesMs.filter((atMs) =>
    scrapes.some(
      (one) => one.endedMs !== undefined && atMs >= one.atMs - recordMsMax && atMs <= one.endedMs + recordMsMax,
    ),
  ).length;
  const low = timesMs.length - unseen - slack;
  const high = timesMs.length + slack;
  return sum >= low && sum <= high ? undefined : `${name} is ${sum}, and ${low} to ${high} were counted`;
}
