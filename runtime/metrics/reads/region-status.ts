import type { RegionReason, RegionState } from "../../../api/queries.ts";
import { type FieldError, Refusal, refuseField, type Suggestion } from "../../errors/refusal.ts";
import type { StoreError, StoreErrorKind } from "../../stores/store-error.ts";
import type { Query } from "../planning/query.ts";
import { formatDuration } from "../request/time.ts";
import { coarserDownsample, coarserStep, stepWithin, windowSecondsOf } from "../request/window.ts";
import type { PartOutcome } from "./read-stores.ts";
import type { RegionGap } from "./region-gaps.ts";

type StateOfRegion = RegionState["state"];

/** Seconds until the next try after a store failed or was late. */
export const retryAfterSeconds = 5;

/** Seconds until the next try after these failures: stores that rest get no request before. */
export function retryAfterOf(errors: readonly StoreError[]): number {
  const waits = errors.map(({ restMs }) =>
    restMs === undefined ? retryAfterSeconds : Math.max(1, Math.ceil(restMs / 1_000)),
  );
  return waits.length === 0 ? retryAfterSeconds : Math.max(...waits);
}

/** The regions of a query, sorted, each with its state. @param gaps parts that stores lack. @default none */
export function regionReports(
  outcomes: readonly PartOutcome[],
  gaps: readonly RegionGap[] = [],
): readonly RegionState[] {
  const byRegion = Map.groupBy(outcomes, ({ part }) => part.store.config.region);
  return [...byRegion]
    .map(([region, own]): RegionState => {
      const state = stateOf(own);
      const found = gaps.filter((gap) => gap.region === region).map(({ reason }) => reason);
      const reasons = [...found, ...failureReasons(own, state)];
      return reasons.length === 0 ? { region, state } : { region, state: state === "ok" ? "partial" : state, reasons };
    })
    .sort((a, b) => (a.region < b.region ? -1 : 1));
}

/** The reasons that the state does not give: the metrics that lack a store of a partial region, and rounded times. */
function failureReasons(outcomes: readonly PartOutcome[], state: StateOfRegion): readonly RegionReason[] {
  const reasons = outcomes.flatMap(({ part, outcome }): readonly RegionReason[] => {
    if (outcome.ok) return [];
    const { kind, publicDetail } = outcome.error;
    const metric = part.metric.entry.metric.id;
    if (publicDetail !== undefined) {
      return [{ metric, code: kind === "unsupported" ? kind : "times_rounded", detail: publicDetail }];
    }
    const { region } = part.store.config;
    if (kind === "resting") return [{ metric, code: kind, detail: `a store of ${region} ${restingText}` }];
    if (state !== "partial") return [];
    const code = stateOfFailures([kind]);
    return [{ metric, code, detail: `a store of ${region} ${missingText[code](metric)}` }];
  });
  return [...new Map(reasons.map((reason) => [`${reason.metric} ${reason.detail}`, reason])).values()];
}

const restingText = "failed repeatedly and was not asked; Retry-After is when it gets a request again";

type FailedState = Extract<StateOfRegion, "failed" | "late" | "unsupported">;

const missingText: Readonly<Record<FailedState, (metric: string) => string>> = {
  late: (metric) => `did not return ${metric} in time`,
  failed: (metric) => `failed to return ${metric}`,
  unsupported: (metric) => `cannot compute ${metric} exactly`,
};

/** The state of a region or an objective of which every store failed. */
export function stateOfFailures(kinds: readonly StoreErrorKind[]): FailedState {
  if (kinds.every((kind) => kind === "late")) return "late";
  return kinds.every((kind) => kind === "unsupported") ? "unsupported" : "failed";
}

/** Failures that a cheaper query may avoid. */
const costlyKinds: readonly StoreErrorKind[] = ["late", "status", "refused", "too_large"];

/** Tests if a cheaper query may be complete. Stores that were not reached return no cheaper one either. */
export function mayRunCheaper(outcomes: readonly PartOutcome[]): boolean {
  return isHelpedByCheaper(outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error])));
}

function isHelpedByCheaper(errors: readonly StoreError[]): boolean {
  return errors.length === 0 || errors.some(({ kind }) => costlyKinds.includes(kind));
}

/**
 * Refuses a query when no store answered, or when the caller requires a complete response and a part is missing. A
 * partial response names its missing regions. Source: seed "Operational Metrics API" §7.
 *
 * @param showsRefusals set when the caller may see the messages of stores that refused a query
 * @throws Refusal `result_too_large` when the stores hold more than one query may read; `store_timeout` when all
 *   missing parts were late, else `store_failed`. They suggest a cheaper query where that may help
 */
export function requireAnswers(outcomes: readonly PartOutcome[], query: Query, showsRefusals: boolean): void {
  const errors = outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error]));
  if (errors.some(({ kind }) => kind === "too_large")) throw tooLarge(query, errors);
  const reports = regionReports(outcomes);
  const gone = { query, reports, errors, messages: showsRefusals ? refusalsOf(outcomes) : [] };
  if (errors.length === outcomes.length) throw missing("no store answered", gone);
  const isWhole = reports.every(({ state }) => state === "ok");
  if (query.isCompleteRequired && !isWhole) throw missing("the response would not be complete", gone);
}

/**
 * Refuses a query that requires a complete response when a store lacks a part.
 *
 * @throws Refusal `store_failed`
 */
export function requireParts(reports: readonly RegionState[], query: Query): void {
  if (!query.isCompleteRequired || reports.every(({ state }) => state === "ok")) return;
  const details = reports.flatMap(({ reasons = [] }) => reasons.map(({ detail }) => detail));
  const messages = [...new Set(details)].map((detail) => ({ field: "metric", code: "store_failed", detail }));
  throw missing("the response would not be complete", { query, reports, errors: [], messages });
}

/** Reasons that neither waiting nor a cheaper query removes. */
const lastingCodes: readonly RegionReason["code"][] = ["part_missing", "times_rounded", "unsupported"];

/** Tests if another query, or the same one later, may have more data: a store failed, was late or warned of a gap. */
export function mayRecover(reports: readonly RegionState[]): boolean {
  return reports.some(({ state, reasons = [] }) => {
    if (state !== "partial") return state === "failed" || state === "late";
    return reasons.length === 0 || reasons.some(({ code }) => !lastingCodes.includes(code));
  });
}

interface Missing {
  readonly query: Query;
  readonly reports: readonly RegionState[];
  readonly errors: readonly StoreError[];
  /** Messages of stores that refused a query. */
  readonly messages: readonly FieldError[];
}

/** The messages of stores that refused a query, each once. */
function refusalsOf(outcomes: readonly PartOutcome[]): readonly FieldError[] {
  const details = outcomes.flatMap(({ part, outcome }) =>
    outcome.ok || outcome.error.kind !== "refused"
      ? []
      : `the store ${part.store.config.name} refused the query of ${part.metric.entry.metric.id}: ` +
        outcome.error.message,
  );
  return [...new Set(details)].map((detail) => ({ field: "metric", code: "store_failed", detail }));
}

function missing(what: string, { query, reports, errors, messages }: Missing): Refusal {
  const gone = reports.filter(({ state }) => state !== "ok");
  const allLate = errors.length > 0 && errors.every(({ kind }) => kind === "late");
  const names = gone.map(({ region, state }) => `${region} (${state})`);
  const settings = new Set(errors.flatMap(({ publicDetail }) => publicDetail ?? []));
  const detail = [`${what}: ${names.join(", ")}`, ...settings].join("; ");
  return new Refusal(allLate ? "store_timeout" : "store_failed", detail, {
    ...(mayRecover(reports) ? recoveryOf(errors, query) : {}),
    ...(messages.length === 0 ? {} : { errors: messages }),
    cause: new AggregateError(errors, what),
  });
}

function recoveryOf(errors: readonly StoreError[], query: Query) {
  const retry = { retryAfterSeconds: retryAfterOf(errors) };
  return isHelpedByCheaper(errors) ? { ...retry, suggestion: suggestionFor(query) } : retry;
}

function tooLarge(query: Query, errors: readonly StoreError[]): Refusal {
  const detail =
    "the stores have more data for this than one query may read; use a coarser step, fewer groups or less time";
  return refuseField("result_too_large", "step", detail, {
    suggestion: suggestionFor(query),
    cause: new AggregateError(errors, "too large"),
  });
}

/** A cheaper form of a query. Source: seed "Operational Metrics API" §7 and §8, "Backpressure". */
export function suggestionFor({ window }: Query): Suggestion {
  const mostSeconds = windowSecondsOf(window);
  const step = coarserStep(window);
  const downsample = coarserDownsample(window.stepSeconds, mostSeconds);
  return {
    ...(step === undefined ? {} : { step: formatDuration(step) }),
    ...(downsample === undefined ? {} : { downsample }),
  };
}

/** The finest cheaper form that costs at most this share of a query; undefined without one. */
export function suggestionWithin({ window }: Query, share: number): Suggestion | undefined {
  const step = stepWithin(window, share);
  if (step === undefined) return undefined;
  const downsample = coarserDownsample(step - 1, windowSecondsOf(window));
  return { step: formatDuration(step), ...(downsample === undefined ? {} : { downsample }) };
}

function stateOf(outcomes: readonly PartOutcome[]): StateOfRegion {
  const failures = outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error.kind]));
  const isWhole = outcomes.every(({ outcome }) => !outcome.ok || outcome.value.warning === "none");
  if (failures.length === 0) return isWhole ? "ok" : "partial";
  if (failures.length < outcomes.length) return "partial";
  return stateOfFailures(failures);
}
