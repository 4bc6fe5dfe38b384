import type { MetricConfig } from "../../../crds/config.ts";
import type { Caller } from "../authorization/caller.ts";
import type { MetricsApi, RequestContext } from "../metrics-api.ts";
import type { QueryContext } from "../planning/query.ts";
import { readLabelValues, readSeriesLabels, type AdmittedLookUp, type LookUpSources } from "./read-look-up.ts";

interface LookUpsOptions {
  /** Handles leaves of a look-up, which took its request token. */
  readonly leaves: MetricsApi["leaves"];
  /** Admits a look-up of metrics: one request token. @throws Refusal */
  readonly admit: (caller: Caller, metrics: readonly MetricConfig[]) => Promise<AdmittedLookUp>;
  /** The configuration that applies. */
  readonly queryContext: () => QueryContext;
}

/** Creates the look-ups of the metrics API over its own leaves. */
export function createLookUps({
  leaves,
  admit,
  queryContext,
}: LookUpsOptions): Pick<MetricsApi, "labelValues" | "seriesLabels"> {
  const sourcesOf = (caller: Caller, signal: AbortSignal, context: RequestContext): LookUpSources => ({
    caller,
    queryContext: queryContext(),
    nowMs: context.nowMs,
    leaves: (request) => leaves(request, caller, signal, context),
    admit: (metrics) => admit(caller, metrics),
  });
  return {
    labelValues: (request, ...run) => readLabelValues(request, sourcesOf(...run)),
    seriesLabels: (request, ...run) => readSeriesLabels(request, sourcesOf(...run)),
  };
}
