import type { ConflictProblem } from "./uniqueness.ts";
import type { HeldReason } from "../config.ts";
import type { FieldProblem } from "../problem.ts";
import { reasons, type AcceptedReason, type ResolvedRefsReason } from "../reasons.ts";
import type { Kind, Resource } from "../resource.ts";
import type { EvaluatedResource } from "./evaluate-resource.ts";
import { catalogWarnings } from "./catalog.ts";
import { uidOf } from "./origin.ts";
import type { ConfigPart } from "../part.ts";
import { partnerWarnings } from "./partner.ts";

/** One condition of an object. */
interface ConditionResult<Reason> {
  readonly status: boolean;
  readonly reason: Reason;
  readonly message: string;
}

/** Result of one object. Its spec is applied as written when both conditions hold. */
export interface ResourceResult {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly accepted: ConditionResult<AcceptedReason>;
  readonly resolvedRefs: ConditionResult<ResolvedRefsReason>;
  /** Everything that prevents the spec from being applied. */
  readonly problems: readonly FieldProblem[];
  /** Warnings for valid values that are probably mistakes. */
  readonly warnings: readonly string[];
  /** A sentence for each signing key that recipients may read as other bytes; also a warning. */
  readonly ambiguousKeys: readonly string[];
  /** Present when its last good version is applied instead: start and end of that time, in Unix milliseconds. */
  readonly lastGood?: { readonly sinceMs: number; readonly untilMs: number };
  /** Reason why its events wait; absent when they do not. */
  readonly held?: HeldReason;
}

/**
 * Builds the result of an object.
 * @param conflicts unique keys that other objects hold
 * @param part the part that is applied
 */
export function resultOf(
  evaluated: EvaluatedResource,
  conflicts: readonly ConflictProblem[],
  part: ConfigPart | undefined,
): ResourceResult {
  const { kind, metadata } = evaluated.resource;
  return {
    kind,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: uidOf(evaluated.resource),
    accepted: acceptedOf(evaluated, conflicts),
    resolvedRefs: resolvedRefsOf(evaluated),
    problems: [...evaluated.problems, ...conflicts],
    warnings: warningsOf(evaluated),
    ambiguousKeys: evaluated.references.ambiguousKeys,
    ...insteadOf(evaluated, part),
  };
}

function insteadOf(
  { lastGoodUntilMs }: EvaluatedResource,
  part: ConfigPart | undefined,
): Pick<ResourceResult, "lastGood" | "held"> {
  if (part === undefined || part.kind === "QueryClassQuota") return {};
  if (part.kind === "WebhookPartner" && part.config.held !== undefined) return { held: part.config.held };
  const { lastGoodSinceMs } = part.config;
  if (lastGoodSinceMs === undefined || lastGoodUntilMs === undefined) return {};
  return { lastGood: { sinceMs: lastGoodSinceMs, untilMs: lastGoodUntilMs } };
}

function acceptedOf(
  { fault, problems }: EvaluatedResource,
  conflicts: readonly ConflictProblem[],
): ResourceResult["accepted"] {
  const [conflict] = conflicts;
  if (conflict !== undefined) return { status: false, reason: conflict.reason, message: summary(conflicts) };
  if (fault === "Invalid" || fault === "NotPermitted")
    return { status: false, reason: fault, message: summary(problems) };
  return { status: true, reason: "Accepted", message: reasons.Accepted.Accepted.meaning };
}

function resolvedRefsOf({ fault, references: { problems } }: EvaluatedResource): ResourceResult["resolvedRefs"] {
  const [missing] = problems;
  if (missing !== undefined) return { status: false, reason: missing.reason, message: summary(problems) };
  const reason = fault === "Invalid" || fault === "NotPermitted" ? "NotChecked" : "ResolvedRefs";
  const { status, meaning } = reasons.ResolvedRefs[reason];
  return { status: status === "True", reason, message: meaning };
}

function warningsOf({ resource, fault, references }: EvaluatedResource): readonly string[] {
  if (fault === "Invalid") return [];
  return [...kindWarnings(resource), ...references.warnings, ...references.ambiguousKeys];
}

function kindWarnings(resource: Resource): readonly string[] {
  switch (resource.kind) {
    case "WebhookPartner":
      return partnerWarnings(resource);
    case "MetricCatalog":
      return catalogWarnings(resource);
    case "QueryClassQuota":
      return [];
  }
}

function summary([first, ...more]: readonly FieldProblem[]): string {
  if (first === undefined) return "";
  const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
  return `${first.field}: ${first.message}${others}`;
}
