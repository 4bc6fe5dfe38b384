import type { Caller } from "../authorization/caller.ts";
import type { MetricsApi, RequestContext } from "../metrics-api.ts";
import type { QueryContext } from "../planning/query.ts";
import { readLabelValues, readSeriesLabels, type LookUpSources } from "./read-look-up.ts";

interface LookUpsOptions extends Pick<MetricsApi, "leaves" | "admitEmpty"> {
  /** The configuration that applies. */
  readonly queryContext: () => QueryContext;
}

/** Creates the look-ups of the metrics API over its own leaves. */
export function createLookUps({
  leaves,
  admitEmpty,
  queryContext,
}: LookUpsOptions): Pick<MetricsApi, "labelValues" | "seriesLabels"> {
  const sourcesOf = (caller: Caller, signal: AbortSignal, context: RequestContext): LookUpSources => ({
    caller,
    queryContext: queryContext(),
    nowMs: context.nowMs,
    leaves: (request) => leaves(request, caller, signal, context),
    admitEmpty: () => admitEmpty(caller),
  });
  return {
    labelValues: (request, ...run) => readLabelValues(request, sourcesOf(...run)),
    seriesLabels: (request, ...run) => readSeriesLabels(request, sourcesOf(...run)),
  };
}
