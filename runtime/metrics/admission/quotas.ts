import { waitMs } from "../../../limits/token-bucket.ts";
import type { ApiError } from "../../errors/api-error.ts";
import type { Pods } from "../../pods/pods.ts";
import { busyRejection, type Cheaper, quotaRejection } from "./quota-rejections.ts";
import { createSharedBuckets } from "./shared-buckets.ts";
import {
  type Balance,
  type BucketCharge,
  chargesOf,
  clientKey,
  type QuotaClient,
  type RequestCost,
  type TokenSource,
  type Unit,
} from "./token-source.ts";

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
  /** The rejection of the request at this time; undefined when it would be admitted. */
  readonly error: ApiError | undefined;
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

/** Counts the requests and costs of clients. Source: seed "Operational Metrics API" §5.5 and §8. */
export interface Quotas {
  /**
   * Admits a request and charges its expected cost, or charges nothing.
   *
   * @param cheaper finds the suggestion of a rejection
   * @throws ApiError `rate_exceeded`, `cost_exceeded`, `concurrency_exceeded`, with the headers of the quotas
   */
  admit(client: QuotaClient, cost: RequestCost, cheaper: Cheaper): Promise<AdmittedRequest>;
  /**
   * Prepares the admission of equal requests, each of which ends at once and reads nothing: it needs its expected cost,
   * and is charged its request tokens only.
   *
   * @returns a function that admits one of them synchronously and returns the headers with the rest of the quotas;
   *   undefined, without a charge, when the request is rejected or needs another pod
   */
  repeats(client: QuotaClient, cost: RequestCost): () => Readonly<Record<string, string>> | undefined;
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
      if (end === undefined)
        throw rejected(charges, shared.sourceOf(key), (own) => busyRejection(maxConcurrent, own, cheaper));
      const { ok, source } = await shared.take(key, charges);
      if (ok) return admittedOf({ cost, charges, source, end });
      end();
      throw rejected(charges, source, (own) => quotaRejection(own, cheaper));
    },
    repeats(client, cost) {
      const key = clientKey(client);
      const charges = chargesOf(client, cost);
      const taken = charges.map((charge) => (charge.unit === "cost" ? { ...charge, count: 0 } : charge));
      return () => {
        if (running.count(key) >= client.limits.maxConcurrent) return undefined;
        const source = shared.takeNow(key, charges, taken);
        return source && rateHeaders(balancesOf(charges, source));
      };
    },
    async decide(client, cost, cheaper) {
      const charges = chargesOf(client, cost);
      const key = clientKey(client);
      const { maxConcurrent } = client.limits;
      if (cost.requests > 0 && running.count(key) >= maxConcurrent) {
        return {
          error: rejected(charges, shared.sourceOf(key), (own) => busyRejection(maxConcurrent, own, cheaper)),
        };
      }
      const { ok, source } = await shared.has(key, charges);
      return { error: ok ? undefined : rejected(charges, source, (own) => quotaRejection(own, cheaper)) };
    },
    async state(client, metrics) {
      const charges = chargesOf(client, { requests: 0, costs: new Map(metrics.map((metric) => [metric, 0])) });
      const key = clientKey(client);
      const { source, isOfOwner } = await shared.remoteSource(key, charges);
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

/** A rejection with the headers of its quotas. */
function rejected(
  charges: readonly BucketCharge[],
  source: TokenSource,
  error: (balances: readonly Balance[]) => ApiError,
): ApiError {
  const balances = balancesOf(charges, source);
  return error(balances).with(rateHeaders(balances));
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

/** Longest `RateLimit` and longest `RateLimit-Policy`, in characters: default proxies take 4 KB of headers in all. */
const listCharactersMax = 384;

/**
 * Builds the headers with the rest of the quotas, for every response that a quota counts. `RateLimit` and
 * `RateLimit-Policy` list the quotas as in the IETF draft "RateLimit header fields for HTTP": those of the class, then
 * as many of single metrics as fit, the emptiest first. The older headers are about requests only. Source: seed
 * "Operational Metrics API" §6.
 */
function rateHeaders(balances: readonly Balance[]): Readonly<Record<string, string>> {
  const [requests] = balances;
  if (requests === undefined) return {};
  const all = listed(balances);
  return {
    "X-RateLimit-Limit": String(requests.charge.limits.burst),
    "X-RateLimit-Remaining": String(leftOf(requests)),
    "X-RateLimit-Reset": String(resetSeconds(requests)),
    "RateLimit-Policy": all.map(({ policy }) => policy).join(", "),
    RateLimit: all.map(({ left }) => left).join(", "),
  };
}

/** The texts of the class, then of metrics, the emptiest first, as many as fit into both headers. */
function listed(balances: readonly Balance[]): readonly { readonly policy: string; readonly left: string }[] {
  const shareLeft = ({ bucket, charge: { limits } }: Balance): number => bucket.tokens / limits.burst;
  const ofMetrics = balances.filter(({ charge }) => charge.metric !== undefined);
  ofMetrics.sort((a, b) => shareLeft(a) - shareLeft(b));
  const ofClass = ofMetrics.length === 0 ? balances : balances.filter(({ charge }) => charge.metric === undefined);
  let characters = 0;
  return [...ofClass, ...ofMetrics]
    .map((balance) => {
      const left = `${nameOf(balance.charge)};r=${leftOf(balance)};t=${resetSeconds(balance)}`;
      return { policy: policyOf(balance.charge), left };
    })
    .filter(({ policy, left }) => (characters += Math.max(policy.length, left.length) + 2) <= listCharactersMax);
}

/** The parameter of the counted unit, in the syntax of RFC 9651. Requests are the default unit. */
const unitParameter: Readonly<Record<Unit, string>> = { requests: "", cost: ';qu="cost-units"' };

/** The policies of charges, which repeat requests have again. */
const policies = new WeakMap<BucketCharge, string>();

/** `"requests";q=20;w=2`: the burst, and the seconds in which an empty bucket fills. */
function policyOf(charge: BucketCharge): string {
  const known = policies.get(charge);
  if (known !== undefined) return known;
  const { perSecond, burst } = charge.limits;
  const seconds = Math.max(1, Math.round(burst / perSecond));
  const policy = `${nameOf(charge)};q=${burst}${unitParameter[charge.unit]};w=${seconds}`;
  policies.set(charge, policy);
  return policy;
}

function nameOf({ unit, metric }: BucketCharge): string {
  return metric === undefined ? `"${unit}"` : `"${unit}:${metric}"`;
}

/** The whole tokens that a bucket has. */
export function leftOf({ bucket }: Balance): number {
  return Math.max(0, Math.floor(bucket.tokens));
}

/** Seconds until the bucket is full. */
export function resetSeconds({ bucket, charge }: Balance): number {
  return Math.ceil(waitMs(bucket, charge.limits, charge.limits.burst) / 1_000);
}
