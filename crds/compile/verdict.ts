import type { FieldProblem } from "../problem.ts";
import type { AcceptedReason, ResolvedRefsReason } from "../reasons.ts";
import type { Kind, Resource } from "../resource.ts";
import type { Candidate } from "./candidate.ts";
import { catalogWarnings } from "./catalog.ts";
import { uidOf } from "./origin.ts";
import { partnerWarnings } from "./partner.ts";

/** One condition of an object. */
export interface ConditionVerdict<Reason> {
  readonly status: boolean;
  readonly reason: Reason;
  readonly message: string;
}

/** What became of one object. It is in force when both conditions hold. */
export interface Verdict {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly accepted: ConditionVerdict<AcceptedReason>;
  readonly resolvedRefs: ConditionVerdict<ResolvedRefsReason>;
  /** Everything that keeps the object out of force. */
  readonly problems: readonly FieldProblem[];
  /** What is legal and yet probably not meant. */
  readonly warnings: readonly string[];
}

/** What the conditions of an object say. `conflicts` are the claims that others hold. */
export function verdictOf(candidate: Candidate, conflicts: readonly FieldProblem[]): Verdict {
  const { kind, metadata } = candidate.resource;
  return {
    kind,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: uidOf(candidate.resource),
    accepted: acceptedOf(candidate, conflicts),
    resolvedRefs: resolvedRefsOf(candidate),
    problems: [...candidate.problems, ...conflicts],
    warnings: warningsOf(candidate),
  };
}

function acceptedOf({ fault, problems }: Candidate, [conflict, ...more]: readonly FieldProblem[]): Verdict["accepted"] {
  if (conflict !== undefined) {
    const reason = conflict.reason === "SharedSigningKey" ? "SharedSigningKey" : "Conflicted";
    return { status: false, reason, message: summary([conflict, ...more]) };
  }
  if (fault === undefined || fault === "Unresolved") {
    return { status: true, reason: "Accepted", message: "the object is valid, permitted and in conflict with nothing" };
  }
  return { status: false, reason: fault, message: summary(problems) };
}

function resolvedRefsOf({ fault, problems }: Candidate): Verdict["resolvedRefs"] {
  switch (fault) {
    case undefined:
      return { status: true, reason: "ResolvedRefs", message: "everything that the object refers to is there" };
    case "Unresolved":
      return { status: false, reason: referenceReason(problems), message: summary(problems) };
    case "Invalid":
    case "NotPermitted":
      return { status: false, reason: "NotChecked", message: "references are looked up once the object is accepted" };
  }
}

function referenceReason([first]: readonly FieldProblem[]): ResolvedRefsReason {
  const known = ["SecretNotFound", "SecretKeyMissing", "KeyTooShort"] as const;
  return known.find((reason) => reason === first?.reason) ?? "SecretNotFound";
}

function warningsOf({ resource, fault, references }: Candidate): readonly string[] {
  if (fault === "Invalid") return [];
  return [...kindWarnings(resource), ...references.warnings];
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
