import { type DeliveriesStream, pendingPlaces } from "../../nats/streams/deliveries-stream.ts";
import type { PartnerFigures } from "../live/live-state.ts";
import type { Partner } from "../partners/partner.ts";
import type { PartnerMetrics } from "../telemetry/delivery-metrics.ts";
import { laneQueues } from "../../nats/layout.ts";

interface DueBacklogDeps {
  readonly deliveries: Pick<DeliveriesStream, "dueByLane" | "dueByPartner" | "size" | "waitingFor">;
  readonly partners: () => readonly Partner[];
  /** True when this pod owns the lane. */
  readonly isOwner: (lane: string) => boolean;
  /** Attempts straight from events that are under way here, by lane. They have no stored delivery. */
  readonly direct: () => ReadonlyMap<string, number>;
  readonly metrics: Pick<PartnerMetrics, "backlog">;
  readonly figures: Pick<PartnerFigures, "counted">;
}

type Due = readonly [partner: string, count: number];

/** Time between two counts: a little less than five polls of one second. */
const countMs = 4_500;
/** About how many subjects the server counts in a second. */
const subjectsPerSecond = 20_000;
const secondMs = 1_000;
/** A count by partner in a shared lane reads every waiting message. Above this number it is left out. */
const splitMax = 10_000;

interface OldestDueDeps {
  readonly deliveries: Pick<DeliveriesStream, "oldest" | "size">;
  /** Partners whose lanes this pod owns. */
  readonly own: () => readonly Partner[];
  readonly metrics: PartnerMetrics;
  readonly figures: Pick<PartnerFigures, "oldest">;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
}

/** Time between two reads: a little less than five polls of one second. */
const readMs = 4_500;
/** Partners of one read; the next read continues with the others. */
const partnersMax = 32;

interface HeldBytesDeps {
  readonly deliveries: Pick<DeliveriesStream, "waitingFor" | "pending">;
  readonly partners: () => readonly Partner[];
}

/** Minimum time between two counts. */
const pauseMsMin = 500;
/** Messages of a partner whose sizes are read. */
const sampleMax = 16;
/** Subject and headers of a message. */
const overheadBytes = 400;

/**
 * Reports how many deliveries are due or in flight in the lanes of this pod. The sum over all pods is the total. It
 * reports the total and the number of each partner, but no partners of a shared lane with more than ten thousand. A
 * retry is not due before its time. Of a paused or held partner, all deliveries that wait count, because its lane may
 * have no consumer. While the stream is empty, no consumer is read.
 *
 * @returns a function for one poll, to be called often
 */
export function createDueBacklog({
  deliveries,
  partners,
  isOwner,
  direct,
  metrics,
  figures,
}: DueBacklogDeps): () => Promise<void> {
  let nextAtMs = 0;
  const countPaused = createPausedCounts(deliveries);
  return async () => {
    if (performance.now() < nextAtMs) return;
    nextAtMs = performance.now() + countMs;
    const isEmpty = (await deliveries.size()).messages === 0;
    const dueByLane = new Map(isEmpty ? [] : await deliveries.dueByLane());
    for (const [lane, count] of direct()) dueByLane.set(lane, (dueByLane.get(lane) ?? 0) + count);
    const paused = await countPaused(isEmpty ? [] : partners().filter((one) => isPaused(one) && isOwner(one.lane)));
    for (const { lane, key, count } of paused) if (lane === key) dueByLane.set(lane, count);
    const lanes = [...dueByLane].filter(([lane, due]) => due > 0 && isOwner(lane));
    const labels = new Map(partners().map(({ key, label }) => [key, label]));
    const dueIn = async (lane: string, due: number): Promise<Iterable<Due>> => {
      if (labels.has(lane)) return [[lane, due]];
      return due > splitMax ? [] : deliveries.dueByPartner(lane);
    };
    const split = await Promise.all(lanes.map(([lane, due]) => dueIn(lane, due)));
    const named = split
      .flatMap((some) => [...some])
      .flatMap(([key, due]): Due[] => {
        const label = labels.get(key);
        return label === undefined ? [] : [[label, due]];
      });
    const { byPartner, moreThanDue } = withPaused(named, paused);
    metrics.backlog(
      lanes.reduce((total, [, due]) => total + due, moreThanDue),
      [...byPartner],
    );
    const uncounted = new Set(lanes.flatMap(([lane, due]) => (labels.has(lane) || due <= splitMax ? [] : [lane])));
    const owned = partners().flatMap(({ lane }) => (isOwner(lane) && !uncounted.has(lane) ? [lane] : []));
    figures.counted(new Set(owned), byPartner);
  };
}

/** Counts by label. Messages of a paused partner may wait outside the queues of its lane. */
function withPaused(named: readonly Due[], paused: readonly { readonly label: string; readonly count: number }[]) {
  const byPartner = new Map<string, number>();
  for (const [label, due] of named) byPartner.set(label, (byPartner.get(label) ?? 0) + due);
  let moreThanDue = 0;
  for (const { label, count } of paused) {
    moreThanDue += Math.max(0, count - (byPartner.get(label) ?? 0));
    byPartner.set(label, count);
  }
  return { byPartner, moreThanDue };
}

function isPaused({ config }: Partner): boolean {
  return config.state === "Paused" || config.held !== undefined;
}

/** Deliveries of paused partners that wait. A long count is repeated less often. */
function createPausedCounts({ waitingFor }: DueBacklogDeps["deliveries"]) {
  const known = new Map<string, { readonly count: number; readonly nextAtMs: number }>();
  const countOf = async ({ lane, key }: Partner): Promise<number> => {
    const last = known.get(key);
    if (last !== undefined && performance.now() < last.nextAtMs) return last.count;
    const count = await waitingFor(lane, key);
    known.set(key, { count, nextAtMs: performance.now() + (count / subjectsPerSecond) * secondMs });
    return count;
  };
  return async (paused: readonly Partner[]) => {
    const keys = new Set(paused.map(({ key }) => key));
    for (const key of [...known.keys()].filter((one) => !keys.has(one))) known.delete(key);
    const counts: { readonly label: string; readonly lane: string; readonly key: string; readonly count: number }[] =
      [];
    for (const partner of paused) {
      const { label, lane, key } = partner;
      counts.push({ label, lane, key, count: await countOf(partner) });
    }
    return counts;
  };
}

/**
 * Reports the age of the oldest due delivery, of all partners and of each. A first attempt is due when it is routed,
 * and a retry at its time. Delays by a rate or a circuit breaker count. Of a partner that is paused or held, nothing is
 * due; the age over all partners includes its deliveries. While the stream is empty, no partner is read.
 *
 * @returns a function for one poll, to be called often
 */
export function createOldestDue({ deliveries, own, metrics, figures, now }: OldestDueDeps): () => Promise<void> {
  let nextAtMs = 0;
  let position = 0;
  const reported = new Set<string>();
  const dueSinceMs = async (partner: string): Promise<number | undefined> => {
    const found = await Promise.all(laneQueues.map((queue) => deliveries.oldest(queue, partner)));
    const times = found.flatMap((message) => message?.storedAtMs ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  };
  const ageOf = (sinceMs: number | undefined): number =>
    sinceMs === undefined ? 0 : Math.max(0, now() - sinceMs) / secondMs;
  return async () => {
    if (performance.now() < nextAtMs) return;
    nextAtMs = performance.now() + readMs;
    const all = (await deliveries.size()).messages === 0 ? 0 : ageOf(await dueSinceMs("*"));
    metrics.oldestDue(undefined, all);
    const partners = own().filter(({ config }) => config.state !== "Paused");
    const known = new Set(partners.map(({ label }) => label));
    for (const label of [...reported].filter((one) => all === 0 || !known.has(one))) {
      reported.delete(label);
      metrics.oldestDue(label, 0);
      figures.oldest(label, undefined);
    }
    const some = all === 0 ? [] : nextPartners(partners, position);
    position = partners.length === 0 ? 0 : (position + some.length) % partners.length;
    for (const { label, key } of some) {
      const sinceMs = await dueSinceMs(key);
      metrics.oldestDue(label, ageOf(sinceMs));
      figures.oldest(label, sinceMs);
      reported.add(label);
    }
  };
}

/** The partners of one read, from a position on, each at most once. */
function nextPartners(partners: readonly Partner[], position: number): readonly Partner[] {
  return [...partners.slice(position), ...partners.slice(0, position)].slice(0, partnersMax);
}

/**
 * Estimates the bytes that wait for held partners: the number of messages of each, times the mean size of its first
 * messages. Returns the previous estimate until the next count is due.
 */
export function createHeldBytes({ deliveries, partners }: HeldBytesDeps): () => Promise<number> {
  let bytes = 0;
  let nextAtMs = 0;
  const meanBytes = async (key: string): Promise<number> => {
    for (const place of pendingPlaces) {
      const sample = await deliveries.pending(key, place, 1, sampleMax);
      if (sample.length > 0)
        return overheadBytes + sample.reduce((sum, { data }) => sum + data.length, 0) / sample.length;
    }
    return 0;
  };
  return async () => {
    if (performance.now() < nextAtMs) return bytes;
    let messages = 0;
    let sum = 0;
    for (const { lane, key } of partners().filter(({ config }) => config.held !== undefined)) {
      const waiting = await deliveries.waitingFor(lane, key);
      messages += waiting;
      sum += waiting === 0 ? 0 : waiting * (await meanBytes(key));
    }
    bytes = sum;
    nextAtMs = performance.now() + Math.max(pauseMsMin, (messages / subjectsPerSecond) * secondMs);
    return bytes;
  };
}
