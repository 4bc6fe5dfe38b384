import type { RegionReason, RegionState } from "../../../api/queries.ts";
import { type FieldError, ApiError, invalidField, type Suggestion } from "../../errors/api-error.ts";
import type { StoreError, StoreErrorKind } from "../../stores/store-error.ts";
import type { MissingPart } from "../merge/merge-scalars.ts";
import type { Plan, PlannedPart } from "../planning/plan.ts";
import type { Query } from "../planning/query.ts";
import { formatDuration } from "../request/time.ts";
import { coarserDownsample, coarserStep, windowSecondsOf } from "../request/window.ts";
import type { PartOutcome } from "./read-part.ts";

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
    if (publicDetail !== undefined)
      return [{ metric, code: kind === "unsupported" ? kind : "times_rounded", detail: publicDetail }];
    const { region } = part.store.config;
    if (kind === "resting") return [{ metric, code: kind, detail: `a store of ${region} ${restingText}` }];
    if (state !== "partial") return [];
    const code = stateOfFailures([kind]);
    return [{ metric, code, detail: `a store of ${region} ${missingText[code](metric)}` }];
  });
  return [...new Map(reasons.map((reason) => [`${reason.metric} ${reason.detail}`, reason])).values()];
}

const restingText = "failed repeatedly and was not queried; Retry-After is the time of the next request to it";

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
export function mayRunCheaper(errors: readonly StoreError[]): boolean {
  return errors.length === 0 || errors.some(({ kind }) => costlyKinds.includes(kind));
}

/**
 * Rejects a query when no store responded, or when the caller requires a complete response and a part is missing. A
 * partial response names its missing regions. Source: seed "Operational Metrics API" §7.
 *
 * @param showsMessages set when the caller may see the messages of stores that rejected a query
 * @throws ApiError `result_too_large` when the stores hold more than one query may read; `store_timeout` when all
 *   missing parts were late, else `store_failed`. They suggest a cheaper query where that may help
 */
export function requireResponses(outcomes: readonly PartOutcome[], query: Query, showsMessages: boolean): void {
  const errors = outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error]));
  if (errors.some(({ kind }) => kind === "too_large")) throw tooLarge(query, errors);
  const reports = regionReports(outcomes);
  const gone = { query, reports, errors, messages: showsMessages ? fieldErrorsOf(outcomes) : [] };
  if (errors.length === outcomes.length) throw incomplete("no store responded", gone);
  if (query.isCompleteRequired && reports.some(({ state }) => state !== "ok"))
    throw incomplete("the response would not be complete", gone);
}

/** Rejects a query that requires a complete response when a store lacks a part. @throws ApiError `store_failed` */
export function requireParts(reports: readonly RegionState[], query: Query): void {
  if (!query.isCompleteRequired || reports.every(({ state }) => state === "ok")) return;
  const details = reports.flatMap(({ reasons = [] }) => reasons.map(({ detail }) => detail));
  const messages = [...new Set(details)].map((detail) => ({ field: "metric", code: "store_failed", detail }));
  throw incomplete("the response would not be complete", { query, reports, errors: [], messages });
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
  /** Messages of stores that rejected a query. */
  readonly messages: readonly FieldError[];
}

/** The messages of stores that rejected a query, each once. */
function fieldErrorsOf(outcomes: readonly PartOutcome[]): readonly FieldError[] {
  const details = outcomes.flatMap(({ part, outcome }) =>
    outcome.ok || outcome.error.kind !== "refused"
      ? []
      : `the store ${part.store.config.name} rejected the query for ${part.metric.entry.metric.id}: ` +
        outcome.error.message,
  );
  return [...new Set(details)].map((detail) => ({ field: "metric", code: "store_failed", detail }));
}

function incomplete(what: string, { query, reports, errors, messages }: Missing): ApiError {
  const gone = reports.filter(({ state }) => state !== "ok");
  const allLate = errors.length > 0 && errors.every(({ kind }) => kind === "late");
  const names = gone.map(({ region, state }) => `${region} (${state})`);
  const settings = new Set(errors.flatMap(({ publicDetail }) => publicDetail ?? []));
  const detail = [`${what}: ${names.join(", ")}`, ...settings].join("; ");
  return new ApiError(allLate ? "store_timeout" : "store_failed", detail, {
    ...(mayRecover(reports) && {
      retryAfterSeconds: retryAfterOf(errors),
      ...(mayRunCheaper(errors) && { suggestion: suggestionFor(query) }),
    }),
    ...(messages.length === 0 ? {} : { errors: messages }),
    cause: new AggregateError(errors, what),
  });
}

function tooLarge(query: Query, errors: readonly StoreError[]): ApiError {
  const detail =
    "the stores have more data than one query may read; use a coarser step, fewer groups or a shorter time range";
  return invalidField("result_too_large", "step", detail, {
    suggestion: suggestionFor(query),
    cause: new AggregateError(errors, "too large"),
  });
}

/** A cheaper form of a query. Source: seed "Operational Metrics API" §7 and §8, "Backpressure". */
function suggestionFor({ window }: Query): Suggestion {
  const mostSeconds = windowSecondsOf(window);
  const step = coarserStep(window);
  const downsample = coarserDownsample(window.stepSeconds, mostSeconds);
  return {
    ...(step === undefined ? {} : { step: formatDuration(step) }),
    ...(downsample === undefined ? {} : { downsample }),
  };
}

/**
 * Headers of a partial response: a cheaper query if that may help, and the time of the next try. None for complete
 * regions, and for those that lack a part or cannot compute the query. Source: seed "Operational Metrics API" §7.
 */
export function recoveryHints(
  report: {
    readonly regions: readonly RegionState[];
    readonly mayRunCheaper: boolean;
    /** @default {@link retryAfterSeconds} */
    readonly retryAfterSeconds?: number;
  },
  query: Query,
): Readonly<Record<string, string>> {
  if (!mayRecover(report.regions)) return {};
  const { step, downsample } = report.mayRunCheaper ? suggestionFor(query) : {};
  return {
    "Retry-After": String(report.retryAfterSeconds ?? retryAfterSeconds),
    ...(step === undefined ? {} : { "X-Suggested-Step": step }),
    ...(downsample === undefined ? {} : { "X-Suggested-Downsample": downsample }),
  };
}

function stateOf(outcomes: readonly PartOutcome[]): StateOfRegion {
  const failures = outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error.kind]));
  if (failures.length > 0 && failures.length === outcomes.length) return stateOfFailures(failures);
  return outcomes.every(({ outcome }) => outcome.ok && outcome.value.warning === "none") ? "ok" : "partial";
}

/** A reason and its region. */
export interface RegionGap {
  readonly region: string;
  readonly reason: RegionReason;
}

/** Least samples that a point has had time for when it lacks a part: an increase needs two of them. */
const samplesMin = 2;

/**
 * The reasons for the parts that the stores of one metric lack. A point that has just begun gives none: its first
 * samples may have arrived between the reads of two parts.
 */
export function gapsOf(
  missing: readonly MissingPart[],
  parts: readonly Pick<PlannedPart, "store" | "metric">[],
  plan: Plan,
): readonly RegionGap[] {
  const gaps: RegionGap[] = [];
  for (const { store, lacks, points } of missing) {
    const part = parts[store];
    if (part === undefined || !isReported(points, part, plan)) continue;
    const { region } = part.store.config;
    const metric = part.metric.entry.metric.id;
    const found = `a store of ${region} has a part of ${metric} but no ${lacks}`;
    const detail = `${found}; points without it exclude this store`;
    gaps.push({ region, reason: { metric, code: "part_missing", detail } });
  }
  return uniqueGaps(gaps);
}

/** Leaves out gaps that were given before. */
export function uniqueGaps(gaps: readonly RegionGap[]): readonly RegionGap[] {
  return [...new Map(gaps.map((gap) => [gap.reason.detail, gap])).values()];
}

function isReported(points: Uint8Array, { store }: Pick<PlannedPart, "store">, { grid, query, nowMs }: Plan): boolean {
  const first = points.indexOf(1);
  const beginsMs = grid.startMs + first * grid.stepMs - query.window.widthSeconds * 1_000;
  return first !== -1 && nowMs - beginsMs >= samplesMin * store.intervalSeconds * 1_000;
}
