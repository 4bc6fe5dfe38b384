import type { MetricConfig } from "../../../crds/config.ts";
import { refuseField } from "../../errors/refusal.ts";
import { formatTime } from "../request/time.ts";

/** The notice of one deprecated metric in a response. */
interface DeprecationNotice {
  readonly metric: string;
  readonly deprecated_at: string;
  readonly sunset_at: string;
  readonly replaced_by?: string;
}

/** Lists the notices of the deprecated metrics, in the given order. */
export function deprecationNotices(metrics: readonly MetricConfig[]): readonly DeprecationNotice[] {
  return metrics.flatMap(({ id, deprecatedAtMs, sunsetAtMs, replacedBy }) => {
    if (deprecatedAtMs === undefined || sunsetAtMs === undefined) return [];
    const times = { deprecated_at: formatTime(deprecatedAtMs), sunset_at: formatTime(sunsetAtMs) };
    return [{ metric: id, ...times, ...(replacedBy === undefined ? {} : { replaced_by: replacedBy }) }];
  });
}

/**
 * The headers `Deprecation` and `Sunset` of a response about several metrics: the earliest of each. `Link` names the
 * catalog entries of the replacements. Source: RFC 9745, RFC 8594.
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

/** True from the sunset of a metric on. The API then neither lists nor reads it. */
export function isPastSunset({ sunsetAtMs }: MetricConfig, nowMs: number): boolean {
  return sunsetAtMs !== undefined && nowMs >= sunsetAtMs;
}

/** @throws Refusal `metric_gone` for the first metric past its sunset; it names the replacement */
export function refuseSunset(metrics: readonly MetricConfig[], nowMs: number): void {
  const gone = metrics.find((metric) => isPastSunset(metric, nowMs));
  if (gone?.sunsetAtMs === undefined) return;
  const instead =
    gone.replacedBy === undefined ? "it has no replacement; leave it out" : `query ${gone.replacedBy} instead`;
  throw refuseField(
    "metric_gone",
    "metric",
    `the metric ${gone.id} ended on ${formatTime(gone.sunsetAtMs)}; ${instead}`,
  );
}
