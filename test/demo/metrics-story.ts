import { seriesCatalog } from "./series-catalog.ts";
import { claim, type ShownAnswer, type Stage } from "./stage.ts";

const shownHeaders = [
  "x-data-freshness",
  "x-downsample",
  "x-partial",
  "x-query-cost-estimate",
  "x-query-plan",
  "x-query-cache",
  "x-query-shards",
];

interface Series {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [string, number])[];
}

/** Queries over both regions with their headers, and queries that are refused. */
export async function tellMetricsStory(stage: Stage, token: string): Promise<void> {
  const get = (what: string, status: number, query: string): Promise<ShownAnswer> =>
    stage.ask(what, status, `/v1/metrics/${query}`, { headers: { authorization: `Bearer ${token}` } });

  stage.title("A percentile, merged from the buckets of two regional stores: GET /v1/metrics/query");
  const path = "query?metric=bet_settle_p99_ms&agg=p99&step=10m&filter[tenant]=lumen&group_by=version";
  stage.say(`        ${path}`);
  const answer = await get("p99 of bet settlement by version, 3 h", 200, path);
  for (const name of shownHeaders) stage.say(`        ${name}: ${answer.headers.get(name) ?? "-"}`);
  const { data, meta } = answer.body as { readonly data: readonly Series[]; readonly meta: object };
  data.forEach((series) => showSeries(stage, series));
  stage.say(`        meta ${JSON.stringify(meta)}`);
  claim(data.length > 0 && data.every(({ points }) => points.length > 0), "the percentile has points");

  stage.title("Every metric id of the catalog, now: GET /v1/metrics/instant");
  for (const { metric } of seriesCatalog) await showInstant(stage, get, metric);

  stage.title("Queries that are refused, each with a coded error");
  await get("a forbidden label", 400, "query?metric=cpu_util&group_by=userId");
  await get("a step below the minimum", 400, "query?metric=cpu_util&step=1s");
  await get("a percentile of a gauge", 400, "query?metric=cpu_util&agg=p95");
  await get("a tenant that the token does not hold", 403, "query?metric=cpu_util&filter[tenant]=vega");
  await get("a raw query", 400, "query?query=up");
}

function showSeries(stage: Stage, { labels, points }: Series): void {
  const last = points.slice(-3).map(([at, value]) => `${at.slice(11, 16)} ${value.toPrecision(4)}`);
  stage.say(`        ${JSON.stringify(labels)} ${points.length} points, the last: ${last.join(", ")}`);
}

async function showInstant(
  stage: Stage,
  get: (what: string, status: number, query: string) => Promise<ShownAnswer>,
  metric: string,
): Promise<void> {
  const { body } = await get(metric, 200, `instant?metric=${metric}&filter[region]=eu`);
  const [item] = (body as { readonly data: readonly { readonly value: number; readonly labels: object }[] }).data;
  claim(item !== undefined && Number.isFinite(item.value), `${metric} has a value now`);
  stage.say(`        ${item?.value.toPrecision(6) ?? ""} ${JSON.stringify(item?.labels)}`);
}
