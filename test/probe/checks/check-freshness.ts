import { kinds, inStore } from "../../runtime/metrics/oracle/asked.ts";
import type { ProbeResponse, ResponseBody } from "../responses.ts";
import { isInCatalog, settleSeconds, type ProbedMetricId } from "../catalog.ts";
import { regionsOf, type Panel } from "../panels.ts";
import type { StoreRecord } from "../store-record.ts";

/** What an answer's freshness is held against. */
interface FreshnessQuestion {
  readonly body: ResponseBody;
  readonly records: readonly StoreRecord[];
  /** How long what a store answered is served at most. */
  readonly staleMs: number;
}

/** How far an instant query looks back. */
const lookbackMs = 300_000;
/** Ages are whole seconds. Those of cached responses are rounded twice. */
const roundingMs = 2_000;

/** `X-Data-Freshness` is never fresher than the data, nor older than what may have been served. */
export function freshnessFaults(
  { panel, headers, sentMs, receivedMs }: ProbeResponse,
  { body, records, staleMs }: FreshnessQuestion,
): readonly string[] {
  const reported = headers["x-data-freshness"];
  const answering = records.filter(
    ({ region }) =>
      regionsOf(panel).includes(region) && body.regions.some((own) => own.region === region && own.state === "ok"),
  );
  // A pair of metrics may have lost one of them in a region that is said to be partial.
  if (body.partial) return [];
  const newest = (atMs: readonly [number, number], place: 0 | 1): readonly number[] =>
    answering.flatMap((record) =>
      panel.metrics.flatMap(
        (metric) =>
          newestOf(
            record,
            { panel, metric, version: Number(body.schemaVersion.slice(1)) },
            body.grid.toMs,
            record.states(...atMs)[place],
          ) ?? [],
      ),
    );
  // The time of the newest sample is kept for itself, so that an answer that was kept may be older by as much again.
  const [freshest, stalest] = [newest([receivedMs, receivedMs], 1), newest([sentMs - 2 * staleMs, receivedMs], 0)];
  // A window that settles between request and response may have been planned either way.
  const isOfNow = isLive(body, receivedMs);
  if (reported === undefined) return absenceFaults(stalest, isOfNow);
  if (freshest.length === 0) return [`X-Data-Freshness: ${reported} without any sample`];
  const reportedMs = Number.parseInt(reported, 10) * 1_000;
  const isSure = isOfNow && stalest.length === freshest.length;
  // A settled window tells the age of points: a store whose newest sample is in none of them has no part in it.
  const least = sentMs - (isOfNow ? Math.min(...freshest) : Math.max(...freshest));
  const oldestMs = isSure ? Math.min(...stalest) : body.grid.fromMs - body.grid.stepSeconds * 1_000;
  const most = receivedMs - oldestMs + roundingMs;
  return isWithin(reportedMs, least, most)
    ? []
    : [`X-Data-Freshness: ${reported}, not between ${least} and ${most} ms`];
}

function absenceFaults(samples: readonly number[], isOfNow: boolean): readonly string[] {
  return samples.length > 0 && isOfNow ? ["X-Data-Freshness is absent where samples are there"] : [];
}

function isWithin(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}

/** Whether the newest samples of a window may still change. */
function isLive({ grid }: ResponseBody, nowMs: number): boolean {
  return grid.toMs >= nowMs - settleSeconds * 1_000;
}

interface Dated {
  readonly panel: Panel;
  readonly metric: ProbedMetricId;
  readonly version: number;
}

/** When the newest sample was taken that a store held of a metric; undefined without any. */
function newestOf(
  record: StoreRecord,
  { panel, metric, version }: Dated,
  toMs: number,
  state: number,
): number | undefined {
  const { kind, name } = kinds[metric];
  const suffix = kind === "histogram" || kind === "anchoredHistogram" ? "_count" : "";
  const { region: _imposed, ...filters } = panel.filters;
  const wanted = Object.fromEntries([
    ...Object.entries(filters).map(([label, value]) => [inStore(label), value]),
    ["tenant", panel.tenant],
  ]);
  const series = record
    .slice(`${name}${suffix}`, wanted, toMs - lookbackMs, toMs)
    .at(state)
    .filter(({ labels }) => isInCatalog(version, metric, labels));
  const times = series.flatMap(({ samples, histograms }) => [...samples, ...histograms].map(({ ms }) => ms));
  return times.length === 0 ? undefined : times.reduce((a, b) => Math.max(a, b));
}
