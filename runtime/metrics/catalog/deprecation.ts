import type { MetricConfig } from "../../../crds/config.ts";
import { refuseField } from "../../errors/refusal.ts";
import { formatTime } from "../request/time.ts";

/** What an answer says of one deprecated metric. */
interface DeprecationNotice {
  readonly metric: string;
  readonly deprecated_at: string;
  readonly sunset_at: string;
  readonly replaced_by?: string;
}

/** The deprecated metrics among some, in their order. */
export function deprecationNotices(metrics: readonly MetricConfig[]): readonly DeprecationNotice[] {
  return metrics.flatMap(({ id, deprecatedAtMs, sunsetAtMs, replacedBy }) => {
    if (deprecatedAtMs === undefined || sunsetAtMs === undefined) return [];
    const times = { deprecated_at: formatTime(deprecatedAtMs), sunset_at: formatTime(sunsetAtMs) };
    return [{ metric: id, ...times, ...(replacedBy === undefined ? {} : { replaced_by: replacedBy }) }];
  });
}

/**
 * `Deprecation` and `Sunset` of an answer about some metrics: of several, the earliest of each, since from then on the
 * answer is not what it was. `Link` names the catalog entries of what replaces them. Source: RFC 9745, RFC 8594.
 */
export function deprecationHeaders(metrics: readonly MetricConfig[]): Readonly<Record<string, string>> {
  const deprecated = metrics.filter(({ state }) => state === "Deprecated");
  if (deprecated.length === 0) return {};
  const deprecatedAtMs = Math.min(...deprecated.map((metric) => metric.deprecatedAtMs ?? Infinity));
  const sunsetAtMs = Math.min(...deprecated.map((metric) => metric.sunsetAtMs ?? Infinity));
  const successors = [...new Set(deprecated.flatMap(({ replacedBy }) => replacedBy ?? []))];
  const links = successors.map((id) => `</v1/metrics/catalog?metric=${id}>; rel="successor-version"`);
  return {
    Deprecation: `@${Math.floor(deprecatedAtMs / 1_000)}`,
    Sunset: new Date(sunsetAtMs).toUTCString(),
    ...(links.length === 0 ? {} : { Link: links.join(", ") }),
  };
}

/** Whether the sunset of a metric has come: it is neither listed nor answered any more. */
export function isPastSunset({ sunsetAtMs }: MetricConfig, nowMs: number): boolean {
  return sunsetAtMs !== undefined && nowMs >= sunsetAtMs;
}

/** @throws Refusal `metric_gone` for the first metric past its sunset, with what replaces it */
export function refuseSunset(metrics: readonly MetricConfig[], nowMs: number): void {
  const gone = metrics.find((metric) => isPastSunset(metric, nowMs));
  if (gone?.sunsetAtMs === undefined) return;
  const instead = gone.replacedBy === undefined ? "nothing replaces it" : `ask ${gone.replacedBy} instead`;
  throw refuseField(
    "metric_gone",
    "metric",
    `the metric ${gone.id} went on ${formatTime(gone.sunsetAtMs)}; ${instead}`,
  );
}
