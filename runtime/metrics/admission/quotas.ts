import { Refusal, type Suggestion } from "../../errors/refusal.ts";
import { rateHeaders, type Balance } from "./rate-headers.ts";
import {
  type BucketCharge,
  chargesOf,
  clientKey,
  type QuotaClient,
  type RequestCost,
  type TokenSource,
} from "./token-source.ts";
import { waitMs } from "../../../limits/token-bucket.ts";
import type { Pods } from "../../pods/pods.ts";
import { createSharedBuckets } from "./shared-buckets.ts";

/** Seconds after which a request above the limit on concurrency can be sent again. */
const concurrencyRetrySeconds = 1;

/** One admitted request. */
export interface AdmittedRequest {
  /** The headers with the rest of the quotas. */
  headers(): Readonly<Record<string, string>>;
  /** Replaces the expected cost with the actual cost. */
  settle(costs: ReadonlyMap<string, number>): void;
  /** Ends the request for the limit on concurrency. Repeated calls have no effect. */
  end(): void;
}

/** The decision on a request that is not charged. */
interface QuotaDecision {
  /** The refusal of the request at this time; undefined when it would be admitted. */
  readonly refusal: Refusal | undefined;
}

/** The quotas of one client as this pod knows them. */
export interface QuotaState {
  /** The buckets of the class, requests first, then those of single metrics. */
  readonly balances: readonly Balance[];
  /** Requests of the client in this class that run in this pod. */
  readonly running: number;
  /** True when the owner pod of the buckets told their state; false for the share of this pod in an outage. */
  readonly isOfOwner: boolean;
}

/** Finds the finest step with at most this share of a request's cost, in (0, 1); undefined without one. */
type Cheaper = (share: number) => Suggestion | undefined;

/** Counts the requests and costs of clients. Source: seed "Operational Metrics API" §5.5 and §8. */
export interface Quotas {
  /**
   * Admits a request and charges its expected cost, or charges nothing.
   *
   * @param cheaper finds the suggestion of a refusal
   * @throws Refusal `rate_exceeded`, `cost_exceeded`, `concurrency_exceeded`, with the headers of the quotas
   */
  admit(client: QuotaClient, cost: RequestCost, cheaper: Cheaper): Promise<AdmittedRequest>;
  /** Admits a request synchronously; undefined, without a charge, when it is refused or needs another pod. */
  admitNow(client: QuotaClient, cost: RequestCost): AdmittedRequest | undefined;
  /** Decides on a request as {@link admit} does, and charges nothing. */
  decide(client: QuotaClient, cost: RequestCost, cheaper: Cheaper): Promise<QuotaDecision>;
  /** The buckets of a client's class, and those of the metrics that it names. It charges nothing. */
  state(client: QuotaClient, metrics: readonly string[]): Promise<QuotaState>;
  /** Returns the allocated tokens of this pod to their owner pods. */
  stop(): void;
}

/** Creates full quotas. @param pods that share the quotas */
export function createQuotas(now: () => number, pods: Pods): Quotas {
  const shared = createSharedBuckets(now, pods);
  const running = createRunningRequests();
  return {
    async admit(client, cost, cheaper) {
      const charges = chargesOf(client, cost);
      const key = clientKey(client);
      const { maxConcurrent } = client.limits;
      const end = running.begin(key, cost, maxConcurrent);
      if (end === undefined) throw busyRefusal(maxConcurrent, balancesOf(charges, shared.sourceOf(key)), cheaper);
      const { ok, source } = await shared.take(key, charges);
      if (ok) return admittedOf({ cost, charges, source, end });
      end();
      throw refusalOf(balancesOf(charges, source), cheaper);
    },
    admitNow(client, cost) {
      const key = clientKey(client);
      const end = running.begin(key, cost, client.limits.maxConcurrent);
      if (end === undefined) return undefined;
      const charges = chargesOf(client, cost);
      const taken = shared.takeNow(key, charges);
      if (taken?.ok === true) return admittedOf({ cost, charges, source: taken.source, end });
      end();
      return undefined;
    },
    async decide(client, cost, cheaper) {
      const charges = chargesOf(client, cost);
      const key = clientKey(client);
      const { maxConcurrent } = client.limits;
      if (cost.requests > 0 && running.count(key) >= maxConcurrent) {
        return { refusal: busyRefusal(maxConcurrent, balancesOf(charges, shared.sourceOf(key)), cheaper) };
      }
      const { ok, source } = await shared.has(key, charges);
      return { refusal: ok ? undefined : refusalOf(balancesOf(charges, source), cheaper) };
    },
    async state(client, metrics) {
      const charges = chargesOf(client, { requests: 0, costs: new Map(metrics.map((metric) => [metric, 0])) });
      const key = clientKey(client);
      const { source, isOfOwner } = await shared.askedSource(key, charges);
      return { balances: balancesOf(charges, source), running: running.count(key), isOfOwner };
    },
    stop: () => shared.stop(),
  };
}

interface ChargedRequest {
  readonly cost: RequestCost;
  readonly charges: readonly BucketCharge[];
  readonly source: TokenSource;
  readonly end: () => void;
}

function admittedOf({ cost, charges, source, end }: ChargedRequest): AdmittedRequest {
  const charged = [...charges];
  return {
    headers: () => rateHeaders(balancesOf(charges, source)),
    settle(costs) {
      const total = cost.costs.keys().reduce((sum, metric) => sum + (costs.get(metric) ?? 0), 0);
      for (const [index, charge] of charged.entries()) {
        if (charge.unit !== "cost") continue;
        const count = charge.metric === undefined ? total : (costs.get(charge.metric) ?? 0);
        source.spend(charge, count - charge.count);
        charged[index] = { ...charge, count };
      }
    },
    end,
  };
}

function balancesOf(charges: readonly BucketCharge[], source: TokenSource): readonly Balance[] {
  return charges.map((charge) => ({ charge, bucket: source.look(charge) }));
}

/** Counts the running requests of each client. */
interface RunningRequests {
  /** Begins a request. Returns its end; undefined above the limit. */
  begin(key: string, cost: RequestCost, most: number): (() => void) | undefined;
  count(key: string): number;
}

/** Creates a count for this pod. A part of a running request is not counted again. */
function createRunningRequests(): RunningRequests {
  const running = new Map<string, number>();
  return {
    count: (key) => running.get(key) ?? 0,
    begin(key, { requests }, most) {
      if (requests === 0) return () => undefined;
      const before = running.get(key) ?? 0;
      if (before >= most) return undefined;
      running.set(key, before + 1);
      let isEnded = false;
      return () => {
        if (isEnded) return;
        isEnded = true;
        const left = (running.get(key) ?? 1) - 1;
        if (left === 0) running.delete(key);
        else running.set(key, left);
      };
    },
  };
}

/**
 * Builds the refusal of a charge that no wait admits, else of the first charge above its bucket, or of the first charge
 * where tokens came in between.
 */
function refusalOf(balances: readonly Balance[], cheaper: Cheaper): Refusal {
  const short =
    balances.find(isNeverAdmitted) ??
    balances.find(({ charge, bucket }) => bucket.tokens < charge.count) ??
    balances[0];
  if (short === undefined) throw new Error("a request without a charge was refused");
  return short.charge.unit === "cost" ? costRefusal(short, balances, cheaper) : rateRefusal(short, balances);
}

/** True for a charge above the burst, which no bucket ever has. */
function isNeverAdmitted({ charge: { count, limits } }: Balance): boolean {
  return count > limits.burst;
}

function rateRefusal(short: Balance, balances: readonly Balance[]): Refusal {
  return new Refusal("rate_exceeded", `${needOf(short, "request tokens")}; retry later`, {
    ...retryAfter(short, short.charge.count),
    headers: rateHeaders(balances),
  });
}

/**
 * Suggests a step for the tokens that are left, else a step for a whole burst. `Retry-After` is only about the request
 * itself: one above the burst has none, and its detail says when there are enough tokens for the suggestion.
 */
function costRefusal(short: Balance, balances: readonly Balance[], cheaper: Cheaper): Refusal {
  const { count, limits } = short.charge;
  const costs = balances.filter(({ charge }) => charge.unit === "cost" && charge.count > 0);
  const shareOf = (most: (balance: Balance) => number): number =>
    Math.min(...costs.map((balance) => most(balance) / balance.charge.count));
  const now = cheaper(shareOf(({ bucket }) => bucket.tokens));
  const suggestion = now ?? cheaper(shareOf(({ charge }) => charge.limits.burst));
  const advice = adviceOf(suggestion, isNeverAdmitted(short), now === undefined ? waitSeconds(short, limits.burst) : 0);
  return new Refusal("cost_exceeded", `${needOf(short, "cost units")}; ${advice}`, {
    ...retryAfter(short, count),
    ...(suggestion === undefined ? {} : { suggestion }),
    headers: rateHeaders(balances),
  });
}

function adviceOf(suggestion: Suggestion | undefined, isNever: boolean, suggestionSeconds: number): string {
  const never = isNever ? "waiting does not help; " : "";
  if (suggestion === undefined) return `${never}no coarser step fits, use a shorter window or fewer groups`;
  if (!isNever) return "use the suggestion or retry later";
  const when = suggestionSeconds === 0 ? "" : `, for which enough are left in ${suggestionSeconds} s`;
  return `${never}use the suggestion${when}`;
}

function needOf({ charge: { count, limits, metric }, bucket }: Balance, unit: string): string {
  const of = metric === undefined ? "of this class" : `for ${metric}`;
  const never = count > limits.burst ? `; more than ${limits.burst} are never allowed at once` : "";
  const units = count === 1 ? unit.replace(/s$/u, "") : unit;
  return `the request needs ${count} ${units} ${of} and ${Math.max(0, Math.floor(bucket.tokens))} are left${never}`;
}

function retryAfter(balance: Balance, count: number): { readonly retryAfterSeconds?: number } {
  const seconds = waitSeconds(balance, count);
  return Number.isFinite(seconds) ? { retryAfterSeconds: Math.max(1, seconds) } : {};
}

/** Seconds until a bucket has a number of tokens; infinite above its burst. */
function waitSeconds({ charge: { limits }, bucket }: Balance, count: number): number {
  return Math.ceil(waitMs(bucket, limits, count) / 1_000);
}

/** Builds the refusal of a request above the limit on concurrency, unless no wait admits it. */
function busyRefusal(most: number, balances: readonly Balance[], cheaper: Cheaper): Refusal {
  if (balances.some(isNeverAdmitted)) return refusalOf(balances, cheaper);
  const detail = `${most} requests of this client run in this class already; send the next one after the end of one`;
  return new Refusal("concurrency_exceeded", detail, {
    retryAfterSeconds: concurrencyRetrySeconds,
    headers: rateHeaders(balances),
  });
}
