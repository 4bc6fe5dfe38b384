import { readCacheWords, type ProbeResponse } from "../responses.ts";
import type { Reply } from "../ask.ts";
import { recoverMs, storeTroubles, type Knowledge } from "./check-metadata.ts";

/** Points that one pod's responses report as hits or misses. */
export interface HitTally {
  add(response: ProbeResponse, planned: number | undefined): void;
  /** The pod begins anew. */
  reset(): void;
  /** Least and greatest share of points that were known, as the pod may count them. */
  bounds(reply: Pick<Reply, "sentMs" | "receivedMs">): readonly [low: number, high: number];
}

interface Entry {
  readonly sentMs: number;
  readonly receivedMs: number;
  readonly hit: number;
  readonly miss: number;
}

/** As the pod counts: in slices, of which the last ones make the ratio. */
const sliceMs = 10_000;
const slices = 30;

export function createHitTally(): HitTally {
  let entries: Entry[] = [];
  return {
    add({ sentMs, receivedMs, headers }, planned) {
      const { kind, counts } = readCacheWords(headers["x-query-cache"] ?? "");
      // A page of data that is kept is none of the points that a pod counts.
      if (kind === "snapshot") return;
      const isKept = kind !== "memory";
      entries.push({
        sentMs,
        receivedMs,
        hit: isKept ? (planned ?? 0) : (counts["hit"] ?? 0),
        miss: isKept ? 0 : (counts["miss"] ?? 0),
      });
    },
    reset: () => {
      entries = [];
    },
    bounds({ sentMs, receivedMs }) {
      const oldest = (ms: number): number => Math.floor(ms / sliceMs) - slices;
      entries = entries.filter((entry) => Math.floor(entry.receivedMs / sliceMs) > oldest(sentMs));
      const isSure = (entry: Entry): boolean =>
        entry.receivedMs <= sentMs && Math.floor(entry.sentMs / sliceMs) > oldest(receivedMs);
      const sum = (own: readonly Entry[], of: "hit" | "miss"): number =>
        own.reduce((total, entry) => total + entry[of], 0);
      const [sure, maybe] = [entries.filter(isSure), entries.filter((entry) => !isSure(entry))];
      const [hit, miss] = [sum(sure, "hit"), sum(sure, "miss")];
      const share = (hits: number, all: number): number => (all === 0 ? 0 : hits / all);
      return [
        share(hit, hit + miss + sum(maybe, "miss")),
        share(hit + sum(maybe, "hit"), hit + sum(maybe, "hit") + miss),
      ];
    },
  };
}

interface HealthBody {
  readonly status: string;
  readonly error_rate: number;
  readonly partial_response_rate: number;
  readonly cache_hit_ratio: number;
  readonly caches: readonly {
    readonly name: string;
    readonly state: string;
    readonly hit_ratio: number;
    readonly fallback: string;
  }[];
  readonly stores: readonly { readonly region: string; readonly state: string }[];
}

/** A store is known to fail when it was away for so long while it was asked: at once, or when a request was late. */
const noticedMs = { kill: 2_500, block: 2_500, hang: 5_500 } as const;
/** NATS that is away is noticed by what cannot be put there. */
const natsRecoverMs = 20_000;
const rounding = 0.001;
/** Share of requests whose response never came. */
const unseen = 0.02;

/** Wrong statements of the health response. @param tally undefined: the counts of the pod are not known */
export function healthFaults(reply: Reply, { timeline }: Knowledge, tally: HitTally | undefined): readonly string[] {
  const { sentMs, receivedMs, status, bytes } = reply;
  if (status !== 200) return [`health answered ${status}`];
  const health = JSON.parse(bytes.toString()) as HealthBody;
  const isAway = (region: string): boolean =>
    Object.entries(noticedMs).some(([trouble, ms]) => timeline.covers(`${trouble} ${region}`, sentMs - ms, receivedMs));
  const stores = health.stores.flatMap(({ region, state }) => {
    const isQuiet = storeTroubles.every((trouble) =>
      timeline.isQuiet(`${trouble} ${region}`, sentMs - recoverMs, receivedMs),
    );
    if (isQuiet && state === "failing") return [`health: the store of ${region} is ${state} and well`];
    return isAway(region) && state === "ok" ? [`health: the store of ${region} is ${state} and away`] : [];
  });
  const ratios = [
    health.error_rate,
    health.partial_response_rate,
    health.cache_hit_ratio,
    ...health.caches.map((cache) => cache.hit_ratio),
  ];
  return [
    ...stores,
    ...cacheFaults(health, timeline.isQuiet("nats", sentMs - natsRecoverMs, receivedMs)),
    ...(ratios.every((ratio) => ratio >= 0 && ratio <= 1) ? [] : [`health: a share is none: ${ratios.join()}`]),
    ...statusFaults(health),
    ...(tally === undefined ? [] : hitFaults(health, tally.bounds(reply))),
  ];
}

function cacheFaults({ caches }: HealthBody, natsIsWell: boolean): readonly string[] {
  const [memory, distributed] = ["memory", "distributed"].map((name) => caches.find((cache) => cache.name === name));
  const isRight =
    memory?.state === "ok" &&
    distributed?.fallback === "stores" &&
    memory.fallback === (distributed.state === "ok" ? "distributed" : "stores");
  if (!isRight) return [`health: the caches are ${JSON.stringify(caches)}`];
  return natsIsWell && distributed.state !== "ok"
    ? [`health: what pods share is ${distributed.state}, and NATS is well`]
    : [];
}

function statusFaults({ status, stores, caches }: HealthBody): readonly string[] {
  const failing = stores.filter(({ state }) => state === "failing").length;
  const isDegraded =
    failing > 0 ||
    caches.some(({ state }) => state === "failing") ||
    stores.some(({ state }) => state === "unsupported");
  const wanted = failing === stores.length ? "down" : isDegraded ? "degraded" : "ok";
  return status === wanted ? [] : [`health: status ${status}, not ${wanted}`];
}

function hitFaults(
  { cache_hit_ratio: reported }: HealthBody,
  [low, high]: readonly [number, number],
): readonly string[] {
  return reported >= low - rounding - unseen && reported <= high + rounding + unseen
    ? []
    : [`health: cache_hit_ratio ${reported}, not between ${low} and ${high}`];
}
