import { Refusal, type Suggestion } from "../../errors/refusal.ts";
import { rateHeaders, type Balance } from "./rate-headers.ts";
import { chargesOf, clientKey, type BucketCharge, type QuotaClient, type RequestCost } from "./buckets/quota-client.ts";
import { waitMs } from "../../bounds/token-bucket.ts";
import { totalCost } from "./cost.ts";
import type { Pods } from "../../pods/pods.ts";
import type { TokenSource } from "./buckets/token-source.ts";
import { createSharedBuckets } from "./buckets/shared-buckets.ts";

/** When a place among the requests under way is worth asking for again. */
const placeRetrySeconds = 1;

/** One request that was let in. */
export interface AdmittedRequest {
  /** What is left, as headers. */
  headers(): Readonly<Record<string, string>>;
  /** Puts what was really spent in the place of what was expected. */
  settle(costs: ReadonlyMap<string, number>): void;
  /** Gives up the place among the requests under way. Harmless when repeated. */
  end(): void;
}

/**
 * The finest form of a request that costs at most this share of it, more than 0 and less than 1; undefined where there
 * is none.
 */
type Cheaper = (share: number) => Suggestion | undefined;

/** Counts what clients ask for. Source: seed "Operational Metrics API" §5.5 and §8, design §5 "Quota". */
export interface Quotas {
  /**
   * Lets a request in and spends what it is expected to cost, or neither.
   *
   * @param cheaper what to ask instead
   * @throws Refusal `rate_exceeded`, `cost_exceeded`, `concurrency_exceeded`, with the headers of what is left
   */
  admit(client: QuotaClient, cost: RequestCost, cheaper: Cheaper): Promise<AdmittedRequest>;
  /**
   * The same without waiting; undefined when it is refused, or another pod has to be asked first, and nothing was
   * spent.
   */
  admitNow(client: QuotaClient, cost: RequestCost): AdmittedRequest | undefined;
  /** Gives what this pod holds back to the others. */
  stop(): void;
}

/** Nothing is spent yet. @param pods pods that the quotas are shared with */
export function createQuotas(now: () => number, pods: Pods): Quotas {
  const shared = createSharedBuckets(now, pods);
  const places = createPlaces();
  return {
    async admit(client, cost, cheaper) {
      const charges = chargesOf(client, cost);
      const key = clientKey(client);
      const { maxConcurrent } = client.limits;
      if (cost.requests > 0 && places.isFull(key, maxConcurrent))
        throw fullHouse(maxConcurrent, balancesOf(charges, shared.sourceOf(key)));
      const end = cost.requests === 0 ? () => undefined : places.take(key);
      const { ok, source } = await shared.take(key, charges);
      if (ok) return admittedOf({ cost, charges, source, end });
      end();
      throw refusalOf(balancesOf(charges, source), cheaper);
    },
    admitNow(client, cost) {
      const key = clientKey(client);
      if (cost.requests > 0 && places.isFull(key, client.limits.maxConcurrent)) return undefined;
      const charges = chargesOf(client, cost);
      const taken = shared.takeNow(key, charges);
      if (taken?.ok !== true) return undefined;
      const end = cost.requests === 0 ? () => undefined : places.take(key);
      return admittedOf({ cost, charges, source: taken.source, end });
    },
    stop: () => shared.stop(),
  };
}

interface Paid {
  readonly cost: RequestCost;
  readonly charges: readonly BucketCharge[];
  readonly source: TokenSource;
  readonly end: () => void;
}

function admittedOf({ cost, charges, source, end }: Paid): AdmittedRequest {
  const charged = [...charges];
  return {
    headers: () => rateHeaders(balancesOf(charges, source)),
    settle(costs) {
      const actual = onlyOf(cost.costs, costs);
      const total = totalCost(actual);
      for (const [place, charge] of charged.entries()) {
        if (charge.unit !== "cost") continue;
        const count = charge.metric === undefined ? total : (actual.get(charge.metric) ?? 0);
        source.spend(charge, count - charge.count);
        charged[place] = { ...charge, count };
      }
    },
    end,
  };
}

function balancesOf(charges: readonly BucketCharge[], source: TokenSource): readonly Balance[] {
  return charges.map((charge) => ({ charge, bucket: source.look(charge) }));
}

interface Places {
  /** @returns how to give the place up */
  take(key: string): () => void;
  isFull(key: string, most: number): boolean;
}

/** Requests under way in this pod. */
function createPlaces(): Places {
  const underWay = new Map<string, number>();
  return {
    isFull: (key, most) => (underWay.get(key) ?? 0) >= most,
    take(key) {
      underWay.set(key, (underWay.get(key) ?? 0) + 1);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        const left = (underWay.get(key) ?? 1) - 1;
        if (left === 0) underWay.delete(key);
        else underWay.set(key, left);
      };
    },
  };
}

/** The same metrics, each with what it really cost; one that nothing was asked of cost nothing. */
function onlyOf(
  expected: ReadonlyMap<string, number>,
  actual: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  return new Map([...expected.keys()].map((metric) => [metric, actual.get(metric) ?? 0]));
}

/** For the first claim that finds too little, or, where what was there has just come, for the first of all. */
function refusalOf(balances: readonly Balance[], cheaper: Cheaper): Refusal {
  const short = balances.find(({ charge, bucket }) => bucket.tokens < charge.count) ?? balances[0];
  if (short === undefined) throw new Error("a request without a claim was refused");
  return short.charge.unit === "cost" ? tooDear(short, balances, cheaper) : tooOften(short, balances);
}

function tooOften(short: Balance, balances: readonly Balance[]): Refusal {
  return new Refusal("rate_exceeded", needOf(short, "requests"), {
    ...retryAfter(short, short.charge.count),
    headers: rateHeaders(balances),
  });
}

/**
 * Suggests what fits what is left, else what fits a whole burst, which there is at the latest when the caller is told
 * to come again.
 */
function tooDear(short: Balance, balances: readonly Balance[], cheaper: Cheaper): Refusal {
  const { count, limits } = short.charge;
  const costs = balances.filter(({ charge }) => charge.unit === "cost" && charge.count > 0);
  const shareOf = (most: (balance: Balance) => number): number =>
    Math.min(...costs.map((balance) => most(balance) / balance.charge.count));
  const now = cheaper(shareOf(({ bucket }) => bucket.tokens));
  const suggestion = now ?? cheaper(shareOf(({ charge }) => charge.limits.burst));
  if (suggestion === undefined) {
    const detail = `${needOf(short, "cost units")}; no coarser step fits, ask for less time or fewer groups`;
    return new Refusal("cost_exceeded", detail, { ...retryAfter(short, count), headers: rateHeaders(balances) });
  }
  const waitedFor = now === undefined ? Math.min(count, limits.burst) : count;
  return new Refusal("cost_exceeded", needOf(short, "cost units"), {
    ...retryAfter(short, waitedFor),
    suggestion,
    headers: rateHeaders(balances),
  });
}

function needOf({ charge: { count, limits, metric }, bucket }: Balance, what: string): string {
  const of = metric === undefined ? "of this class" : `for ${metric}`;
  const never = count > limits.burst ? `; more than ${limits.burst} are never allowed at once` : "";
  return `this needs ${count} ${what} ${of} and ${Math.max(0, Math.floor(bucket.tokens))} are left${never}`;
}

function retryAfter({ charge: { limits }, bucket }: Balance, count: number): { readonly retryAfterSeconds?: number } {
  const waitSeconds = Math.ceil(waitMs(bucket, limits, count) / 1_000);
  return Number.isFinite(waitSeconds) ? { retryAfterSeconds: Math.max(1, waitSeconds) } : {};
}

function fullHouse(most: number, balances: readonly Balance[]): Refusal {
  const detail = `${most} requests of this class are under way already`;
  return new Refusal("concurrency_exceeded", detail, {
    retryAfterSeconds: placeRetrySeconds,
    headers: rateHeaders(balances),
  });
}
