// The quotas of the token as rows with a bar. The cost of a query is in its plan, elsewhere.
import type { Quota } from "../../api/quotas.ts";
import type { Tone } from "../components/badge.tsx";
import { formatNumber } from "../components/format.ts";

/** One limit that goes down while requests run. */
export interface QuotaRow {
  readonly name: string;
  readonly left: number;
  readonly most: number;
  /** How it is refilled. */
  readonly refill: string;
}

const requestsName = "Requests";
const costName = "Cost units";

/** Servers of earlier versions name no metrics. */
type ReadQuota = Omit<Quota, "metrics"> & Partial<Pick<Quota, "metrics">>;

/** The limits of a class, then those of metrics with separate limits. */
export function quotaRows(quota: ReadQuota): readonly QuotaRow[] {
  const { concurrent, metrics = [] } = quota;
  const running: QuotaRow = {
    name: "Concurrent requests",
    left: Math.max(0, concurrent.limit - concurrent.used),
    most: concurrent.limit,
    refill: `${formatNumber(concurrent.used)} running in the responding pod`,
  };
  const own = metrics.flatMap(({ metric, ...buckets }) =>
    bucketRows(buckets).map((row) => ({ ...row, name: `${row.name} of ${metric}` })),
  );
  return [...bucketRows(quota), running, ...own];
}

function bucketRows({ requests, cost }: Pick<Quota["metrics"][number], "requests" | "cost">): readonly QuotaRow[] {
  return [
    ...(requests === null
      ? []
      : [rowOf(requestsName, requests, `${formatNumber(requests.limit_per_second)} a second`)]),
    ...(cost === null ? [] : [rowOf(costName, cost, `${formatNumber(cost.limit_per_minute)} a minute`)]),
  ];
}

function rowOf(name: string, { remaining, burst }: { remaining: number; burst: number }, refill: string): QuotaRow {
  return { name, left: remaining, most: burst, refill };
}

/** How a limit is drawn. */
export function quotaTone({ left, most }: Pick<QuotaRow, "left" | "most">): Tone {
  if (left <= 0) return "bad";
  return left < most / 4 ? "warn" : "good";
}
