import type { EventCatalogSpec } from "../../crds/types/event-catalog.ts";
import type { MetricCatalogSpec } from "../../crds/types/metric-catalog.ts";
import type { QueryClassQuotaSpec } from "../../crds/types/query-class-quota.ts";
import type { WebhookPartnerSpec } from "../../crds/types/webhook-partner.ts";
import { type ConditionDraft, decideConditions, type Facts, ownConditions, withTimes } from "../conditions.ts";
import type { Condition, ResourceObject, ResourceStatus, StatusColumns } from "../resource-types.ts";

/** The decision on a status. */
type StatusDecision =
  | { readonly kind: "keep"; readonly againMs?: number }
  | { readonly kind: "write"; readonly status: ResourceStatus; readonly againMs?: number };

/** Times of one decision, in milliseconds. */
export interface Moments {
  /** Monotonic. */
  readonly nowMs: number;
  /** RFC 3339. */
  readonly now: string;
  /** Start of the object's transitional state. */
  readonly pendingSinceMs: number;
  /** Time of the last write of this status; undefined when unknown. */
  readonly writtenAtMs: number | undefined;
}

export interface StatusTimes {
  /** A shorter transitional state is not written, except for an object without a status. */
  readonly graceMs: number;
  /** Least time between two writes that change only a message. */
  readonly messageMs: number;
}

export const statusTimesDefault: StatusTimes = { graceMs: 5_000, messageMs: 10_000 };

/** Scheme, then the host and its port, without a user. */
const hostIn = /^[a-z]+:\/\/(?<host>[^/?#@]+)/iu;

/**
 * Decides whether a status is written, and its content. An ordinary edit has one write, once every pod applied it. A
 * new object has two: the first one is `Unknown`.
 */
export function decideStatus(
  facts: Facts,
  before: ResourceStatus | undefined,
  moments: Moments,
  times: StatusTimes,
): StatusDecision {
  const { nowMs } = moments;
  const drafts = decideConditions(facts);
  const own = ownConditions(before);
  const graceUntilMs = graceEndOf(facts, moments, times);
  if (isPassing(drafts, facts) && own.length > 0 && nowMs < graceUntilMs)
    return { kind: "keep", againMs: graceUntilMs - nowMs };
  const status = { ...facts.columns, ...statusOf(drafts, own, moments.now), ...observedOf(facts) };
  const difference = compare(before, own, status);
  const quietUntilMs = (moments.writtenAtMs ?? Number.NEGATIVE_INFINITY) + times.messageMs;
  if (difference === "message" && nowMs < quietUntilMs) return { kind: "keep", againMs: quietUntilMs - nowMs };
  const again = againAt(facts, nowMs);
  return difference === "none" ? { kind: "keep", ...again } : { kind: "write", status, ...again };
}

/** Returns true while a decision, publication or rollout is pending. A paused object stays so. */
function isPassing(drafts: readonly ConditionDraft[], { isPaused, result }: Facts): boolean {
  return drafts.some(({ reason }) => reason === "Pending") && !(isPaused && result === undefined);
}

/** End of the time in which a transitional state is not written. */
function graceEndOf({ isPublished, rollout }: Facts, { pendingSinceMs }: Moments, { graceMs }: StatusTimes): number {
  return isPublished && rollout.kind === "waiting" ? rollout.untilMs : pendingSinceMs + graceMs;
}

function againAt({ rollout }: Facts, nowMs: number): { readonly againMs?: number } {
  const restMs = ("untilMs" in rollout ? (rollout.untilMs ?? nowMs) : nowMs) - nowMs;
  return restMs > 0 ? { againMs: restMs } : {};
}

function statusOf(drafts: readonly ConditionDraft[], own: readonly Condition[], now: string): ResourceStatus {
  const generation = readyOf(drafts)?.observedGeneration;
  const conditions = withTimes(drafts, own, now);
  return generation === undefined ? { conditions } : { observedGeneration: generation, conditions };
}

function readyOf<T extends Pick<Condition, "type">>(conditions: readonly T[]): T | undefined {
  return conditions.find(({ type }) => type === "Ready");
}

function compare(
  before: ResourceStatus | undefined,
  own: readonly Condition[],
  after: ResourceStatus,
): "none" | "message" | "state" {
  const conditions = after.conditions ?? [];
  if (!showsColumns(before, after)) return "state";
  if (before?.observedGeneration !== after.observedGeneration || own.length !== conditions.length) return "state";
  const known = new Map(own.map((condition) => [condition.type, condition]));
  if (checkStates(before) !== checkStates(after)) return "state";
  const pairs = conditions.map((condition) => ({ condition, earlier: known.get(condition.type) }));
  if (pairs.some(({ condition, earlier }) => earlier === undefined || stateOf(condition) !== stateOf(earlier)))
    return "state";
  const isEqual = pairs.every(({ condition, earlier }) => condition.message === earlier?.message);
  return isEqual && checkTexts(before) === checkTexts(after) ? "none" : "message";
}

/** The list is absent while all metrics match. */
function observedOf({ observed }: Facts): Pick<ResourceStatus, "observed"> {
  return observed === undefined || observed.metrics.length === 0 ? {} : { observed: observed.metrics };
}

function checkStates(status: ResourceStatus | undefined): string {
  return JSON.stringify((status?.observed ?? []).map(({ metric, status: own, check }) => [metric, own, check]));
}

function checkTexts(status: ResourceStatus | undefined): string {
  return JSON.stringify((status?.observed ?? []).map(({ message }) => message));
}

function stateOf({ type, status, reason, observedGeneration }: ConditionDraft): string {
  return JSON.stringify([type, status, reason, observedGeneration]);
}

/** Values of the columns, from the present spec. */
export function columnsOf({ kind, spec }: Pick<ResourceObject, "kind" | "spec">): StatusColumns {
  switch (kind) {
    case "WebhookPartner": {
      const host = hostIn.exec((spec as WebhookPartnerSpec).endpoint.url)?.groups?.["host"];
      return host === undefined ? {} : { endpointHost: host };
    }
    case "MetricCatalog": {
      const { metrics, stores } = spec as MetricCatalogSpec;
      return { metrics: metrics.length, stores: stores.length };
    }
    case "QueryClassQuota":
      return { clients: (spec as QueryClassQuotaSpec).clients.length };
    case "EventCatalog": {
      const { types } = spec as EventCatalogSpec;
      return { types: types.length, versions: types.reduce((sum, { versions }) => sum + versions.length, 0) };
    }
  }
}

/** Returns true for a status with exactly these columns. */
export function showsColumns(status: ResourceStatus | undefined, columns: StatusColumns): boolean {
  const names = ["installation", "endpointHost", "metrics", "stores", "clients", "types", "versions"] as const;
  return names.every((name) => status?.[name] === columns[name]);
}
