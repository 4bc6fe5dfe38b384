import type { QueryClass } from "../../../crds/config.ts";
import { ApiError } from "../../errors/api-error.ts";
import { type FanOutOptions, queryBytesMax } from "../../stores/limits/fan-out.ts";
import { type ReadMemo, shareReads, tracedReads } from "../../stores/read-middleware.ts";
import type { Stores } from "../../stores/store.ts";
import type { Admission } from "../admission/admission.ts";
import { type Costs, totalCost } from "../admission/cost.ts";
import { countBytes, type UsageKey } from "../admission/usage-counts.ts";
import { cachedStores, computedShare } from "../cache/cached-stores.ts";
import type { ReadCache } from "../cache/read-cache.ts";
import { pointsOf } from "../response/cached-response.ts";
import type { Caller } from "../authorization/access.ts";
import type { RequestContext } from "../metrics-api.ts";
import type { Parameters } from "../request/parameters.ts";
import type { QueryContext } from "../planning/query.ts";
import type { PartOutcome } from "../reads/read-part.ts";
import { mayRecover, regionReports, retryAfterOf } from "../reads/region-status.ts";
import type { ClassBulkheads } from "../reads/store-middleware.ts";
import type { SloData, SloPlan } from "./read-slo.ts";
import { type CompletedReads, type DatedData, type SloCache, sliceLifetimes, type StoreReads } from "./slo-cache.ts";
import type { SloEntry } from "./slo-selection.ts";

/** Bound on a request to a store that outlasts the request for objectives. The timeout of the store is shorter. */
const sentMsMax = 30_000;
/** Most bytes that the stores may send for all views of one request. */
const sloStoreBytesMax = queryBytesMax;

/** One request for objectives. */
export interface SloRequest {
  readonly params: Parameters;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly context: RequestContext;
}

/** The configuration and the observer of one request. */
export interface SloContext {
  readonly slos: readonly SloEntry[];
  readonly quotas: QueryContext["quotas"];
  /** Receives the outcome of each store. */
  readonly observe: (outcomes: readonly PartOutcome[]) => void;
}

/** What the handlers of objectives share, whatever the configuration. */
export interface SloOptions {
  readonly stores: Stores;
  readonly bulkheads: ClassBulkheads;
  /** Points of slices. */
  readonly points: ReadCache;
  readonly admission: Pick<Admission, "request" | "count">;
  /** Bound on all store reads of one request together. */
  readonly deadlineMs: number;
}

/** The usage of the views of one request, each of which counts as a request for its metric. */
export interface ViewUsage {
  /** Counts the bytes of the response. */
  readonly sent: (bytes: number) => void;
  /** Notes what stores computed of each view. @default all of its points */
  readonly read: (views: readonly Pick<ReadView<unknown>, "plan" | "share">[]) => void;
  /** Counts everything else. */
  readonly end: () => void;
}

/** Counts the usage of views. */
export function viewUsage(plans: readonly SloPlan[], caller: Caller, { count }: Pick<Admission, "count">): ViewUsage {
  let views = plans.map((plan) => ({ plan, share: 1 }));
  const keyOf = ({ view, plans: [first] }: SloPlan): readonly UsageKey[] => {
    if (first === undefined) return [];
    const { tenant, quota } = first.query;
    return [{ client: caller.client, tenant, metric: view.slo.metric, queryClass: quota.queryClass }];
  };
  return {
    sent: (bytes) => countBytes(plans.flatMap(keyOf), bytes, count),
    read: (read) => void (views = read.map(({ plan, share }) => ({ plan, share }))),
    end() {
      for (const view of views) {
        const { plan, share } = view;
        const points = plan.plans.reduce((sum, own) => sum + pointsOf(own).hit, 0);
        const cachedPoints = points - Math.ceil(points * share);
        const [estimate, cost] = [totalCost(plan.costs), totalCost(chargedCosts(view))];
        for (const key of keyOf(plan)) count(key, { requests: 1, points, cachedPoints, estimate, cost });
      }
    },
  };
}

/** One view with its data. */
export interface ReadView<Data> {
  readonly plan: SloPlan;
  readonly data: Data;
  /** Set when the data was cached. */
  readonly hit: boolean;
  /** The share of its points that stores computed for this request. */
  readonly share: number;
}

/** The costs of what stores computed of a view. */
export function chargedCosts({ plan, share }: Pick<ReadView<unknown>, "plan" | "share">): Costs {
  return new Map([...plan.costs].map(([metric, cost]) => [metric, Math.ceil(cost * share)]));
}

/** The views of one request. */
export interface ReadViews<Data> {
  readonly read: readonly ReadView<Data>[];
  /** The store reads, and those that were sent. */
  readonly counts: ReturnType<ReadMemo["counts"]>;
}

interface ViewSources<Data extends StoreReads> {
  readonly stores: Stores;
  readonly bulkheads: ClassBulkheads;
  readonly points: ReadCache;
  readonly completed: CompletedReads;
  readonly cache: SloCache<Data>;
  /** Bound on all store reads of one request together. */
  readonly deadlineMs: number;
  /** Receives the outcome of each store. */
  readonly observe: (outcomes: readonly PartOutcome[]) => void;
  readonly read: (plan: SloPlan, stores: Stores, options: FanOutOptions & { readonly nowMs: number }) => Promise<Data>;
}

/**
 * Reads the data of every plan, or finds it in the cache. The views do not wait for each other: the places of each
 * store bound their reads, so that a store that hangs holds up no view of another one.
 *
 * @throws the signal's reason
 */
export async function readViews<Data extends StoreReads>(
  plans: readonly SloPlan[],
  { signal: callerSignal, context }: { readonly signal: AbortSignal; readonly context: RequestContext },
  sources: ViewSources<Data>,
): Promise<ReadViews<Data>> {
  const { nowMs, span } = context;
  // Other requests may wait for the same data, so that the read continues when this caller leaves.
  const signal = new AbortController().signal;
  const sentSignal = AbortSignal.timeout(sentMsMax);
  const sharing = { sentSignal, deadlineMs: sources.deadlineMs, bytesMax: sloStoreBytesMax, context };
  return shareReads(sharing, async (reads, deadline) => {
    const shared = reads.share(tracedReads(sources.stores, span));
    const readOne = async (plan: SloPlan): Promise<DatedData<Data>> => {
      let readAtMs = nowMs;
      const note = (ms: number): void => void (readAtMs = Math.min(readAtMs, ms));
      const stores = sources.completed.of(sources.bulkheads.of(classOf(plan), shared), nowMs, note);
      const points = plan.view.slo.over && cachedStores(stores, sources.points, { lifetimes: sliceLifetimes, nowMs });
      const options = { deadlineMs: deadline.leftMs(), signal, nowMs };
      const data = await sources.read(plan, points?.stores ?? stores, options);
      sources.observe(data.outcomes);
      const counts = points?.counts();
      note(counts?.oldest.tailMs ?? nowMs);
      return { data, readAtMs, share: counts === undefined ? 1 : computedShare(counts) };
    };
    const readView = async (plan: SloPlan): Promise<ReadView<Data>> => {
      callerSignal.throwIfAborted();
      const get = () => sources.cache.get(plan, nowMs, () => readOne(plan));
      const { hit, dated } = get();
      const found = await dated;
      // The request that began this read had less time left than this one.
      const isCutOff = hit && found.data.outcomes.some(isLate) && deadline.leftMs() > 0;
      const own = isCutOff
        ? { plan, hit: false, ...(await get().dated) }
        : { plan, hit, data: found.data, share: hit ? 0 : found.share };
      return own.data.outcomes.some(isBusy) ? { ...own, ...sources.cache.earlier(plan, nowMs) } : own;
    };
    const isBusy = (outcome: PartOutcome): boolean =>
      isLate(outcome) && sources.stores.get(outcome.part.store.key).state() === "ok";
    const readyAtMs = (plan: SloPlan): number => sources.cache.earlier(plan, nowMs)?.readAtMs ?? 0;
    // The oldest data first: if stores have no time for all of it, each view has its turn.
    const ordered = plans.toSorted((one, other) => readyAtMs(one) - readyAtMs(other));
    const read = new Map(await Promise.all(ordered.map(async (plan) => [plan, await readView(plan)] as const)));
    return { read: plans.flatMap((plan) => read.get(plan) ?? []), counts: reads.counts() };
  });
}

function classOf({ plans: [plan] }: SloPlan): QueryClass {
  return plan?.query.quota.queryClass ?? "C";
}

function isLate({ outcome }: PartOutcome): boolean {
  return !outcome.ok && outcome.error.kind === "late";
}

/** Requires that a store answered. @throws ApiError `store_timeout` when all were late, else `store_failed` */
export function requireSomeStore(outcomes: readonly PartOutcome[]): void {
  const errors = outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error]));
  if (errors.length === 0 || errors.length < outcomes.length) return;
  const code = errors.every(({ kind }) => kind === "late") ? "store_timeout" : "store_failed";
  const regions = regionReports(outcomes).map(({ region, state }) => `${region} (${state})`);
  throw new ApiError(code, `no store responded for any of these objectives: ${regions.join(", ")}; retry later`, {
    retryAfterSeconds: retryAfterOf(errors),
    cause: new AggregateError(errors, "no store responded"),
  });
}

/** Time of the next try for a response that a later request may complete. */
export function retryHeaders(outcomes: readonly PartOutcome[]): Readonly<Record<string, string>> {
  const errors = outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error]));
  return mayRecover(regionReports(outcomes)) ? { "Retry-After": String(retryAfterOf(errors)) } : {};
}

/** True when a store is missing, or its data is incomplete. */
export function isPartial({ outcomes, gaps }: Pick<SloData, "outcomes" | "gaps">): boolean {
  return gaps.length > 0 || outcomes.some(({ outcome }) => !outcome.ok || outcome.value.warning !== "none");
}

/** `X-Query-Cache` of the views of one request. */
export function cacheStatus(read: readonly { readonly hit: boolean }[]): string {
  const hits = read.filter(({ hit }) => hit).length;
  return `memory;hit=${hits};miss=${read.length - hits}`;
}
