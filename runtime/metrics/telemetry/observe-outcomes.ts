import type { Logger } from "pino";
import type { PartOutcome } from "../reads/read-stores.ts";
import type { RequestContext } from "../metrics-api.ts";
import type { Instruments } from "./instruments.ts";

type Log = Pick<Logger, "warn">;

/** Counts the outcome of each part of a plan, and logs the parts that failed. */
export function observeParts(
  instruments: Instruments,
  log: Log,
  { correlationId }: RequestContext,
): (outcomes: readonly PartOutcome<unknown>[]) => void {
  return (outcomes) => {
    instruments.countParts(outcomes);
    for (const { part, outcome } of outcomes) {
      if (outcome.ok) continue;
      const { store, metric } = part;
      const ids = { correlationId, store: store.key, region: store.config.region, metric: metric.entry.metric.id };
      log.warn({ ...ids, outcome: outcome.error.kind, reason: outcome.error.message }, "store read failed");
    }
  };
}

/** Counts the outcome of work that no request waits for, and logs its failure. */
export function observeBackground(
  name: string,
  { log, count }: { readonly log: Log; readonly count: (outcome: "ok" | "failed") => void },
): (failure: unknown) => void {
  return (failure) => {
    count(failure === undefined ? "ok" : "failed");
    if (failure !== undefined) log.warn({ err: failure }, `${name} failed`);
  };
}
