import { permissionProblems } from "../checks/permissions.ts";
import { noReferences, type References, resolveReferences } from "../checks/references.ts";
import type { Secrets } from "../checks/secret-entry.ts";
import type { HeldReason } from "../config.ts";
import type { ConfigPart } from "../part.ts";
import type { InstallationPolicy } from "../policy.ts";
import type { FieldProblem } from "../problem.ts";
import { type AcceptedReason, reasons, type ResolvedRefsReason } from "../reasons.ts";
import type { Kind, Resource } from "../resource.ts";
import { validateResource } from "../validate.ts";
import { catalogWarnings, compileCatalog } from "./catalog.ts";
import { compileEventCatalog, eventCatalogWarnings } from "./event-catalog.ts";
import { uidOf } from "./origin.ts";
import { compilePartner, partnerWarnings } from "./partner.ts";
import { compileQuota } from "./quota.ts";
import { type ConflictProblem, type UniqueKey, uniqueKeysOf, uniqueKeysOfPart } from "./uniqueness.ts";

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
  /** Patterns of a partner that match no declared type of their domain; absent without one. */
  readonly unresolvedTypes?: readonly string[];
  /** Fields that a partner excludes by a class, and that no catalog declares any more; absent without one. */
  readonly keptFields?: readonly string[];
  /** Present when its last good version is applied instead: start and end of that time, in Unix milliseconds. */
  readonly lastGood?: { readonly sinceMs: number; readonly untilMs: number };
  /** Reason why its events wait; absent when they do not. */
  readonly held?: HeldReason;
}

/** The first stage at which an object fails; later stages do not run. */
type Fault = "Invalid" | "NotPermitted" | "Unresolved" | "Incompatible";

/** An object with the result of all checks that need no other object. */
export interface EvaluatedResource {
  /** With every default, unless it is invalid. */
  readonly resource: Resource;
  readonly fault: Fault | undefined;
  /** Problems that make the fault; empty without one. */
  readonly problems: readonly FieldProblem[];
  readonly references: References;
  /** The part to apply, unless an older object has one of its unique keys; undefined for an object without one. */
  readonly part: ConfigPart | undefined;
  /** Empty for an object without a part. */
  readonly uniqueKeys: readonly UniqueKey[];
  /** Unix milliseconds at which the result changes with time alone; infinity for never. */
  readonly againMs: number;
  /**
   * End of the time in which its last good version may be used instead, in Unix milliseconds; absent when none does.
   */
  readonly lastGoodUntilMs?: number;
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
    problems: [...evaluated.problems, ...conflicts.map(({ eventType: _type, ...problem }) => problem)],
    warnings: warningsOf(evaluated),
    ambiguousKeys: evaluated.references.ambiguousKeys,
    ...insteadOf(evaluated, part),
  };
}

function insteadOf(
  { lastGoodUntilMs }: EvaluatedResource,
  part: ConfigPart | undefined,
): Pick<ResourceResult, "lastGood" | "held"> {
  if (part === undefined || part.kind === "QueryClassQuota" || part.kind === "EventCatalog") return {};
  if (part.kind === "WebhookPartner" && part.config.held !== undefined) return { held: part.config.held };
  const { lastGoodSinceMs } = part.config;
  if (lastGoodSinceMs === undefined || lastGoodUntilMs === undefined) return {};
  return { lastGood: { sinceMs: lastGoodSinceMs, untilMs: lastGoodUntilMs } };
}

const uncomparedNote = "No earlier version was published, so its schemas were not compared with any.";

function acceptedOf(
  { fault, problems, part }: EvaluatedResource,
  conflicts: readonly ConflictProblem[],
): ResourceResult["accepted"] {
  const [conflict] = conflicts;
  if (conflict !== undefined) return { status: false, reason: conflict.reason, message: summary(conflicts) };
  if (fault !== undefined && fault !== "Unresolved")
    return { status: false, reason: fault, message: summary(problems) };
  const { meaning } = reasons.Accepted.Accepted;
  const isUncompared = part?.kind === "EventCatalog" && part.config.uncompared === true;
  return { status: true, reason: "Accepted", message: isUncompared ? `${meaning} ${uncomparedNote}` : meaning };
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
    case "EventCatalog":
      return eventCatalogWarnings(resource);
  }
}

function summary([first, ...more]: readonly FieldProblem[]): string {
  if (first === undefined) return "";
  const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
  return `${first.field}: ${first.message}${others}`;
}

/** Validates one object, checks it against the policy and resolves its references. */
export function evaluate(resource: Resource, secrets: Secrets, policy: InstallationPolicy): EvaluatedResource {
  const validation = validateResource(resource);
  const invalid: EvaluatedResource = {
    resource,
    fault: "Invalid",
    problems: validation.problems,
    references: noReferences,
    part: undefined,
    uniqueKeys: [],
    againMs: Number.POSITIVE_INFINITY,
  };
  if (validation.resource === undefined) return invalid;
  const valid: EvaluatedResource = { ...invalid, resource: validation.resource };
  const forbidden = permissionProblems(valid.resource, policy);
  if (forbidden.length > 0) return { ...valid, fault: "NotPermitted", problems: forbidden };
  const references = resolveReferences(valid.resource, secrets);
  const { keys, problems } = references;
  if (problems.length > 0) return { ...valid, fault: "Unresolved", problems, references };
  const part = partOf(valid.resource, references);
  return { ...valid, fault: undefined, references, part, uniqueKeys: uniqueKeysOf(valid.resource, keys) };
}

/** The same object with another part than its spec gives. A held part has no unique key but the name of its object. */
export function withPart(evaluated: EvaluatedResource, part: ConfigPart | undefined): EvaluatedResource {
  return { ...evaluated, part, uniqueKeys: part === undefined ? [] : uniqueKeysOfPart(evaluated.resource, part) };
}

function partOf(resource: Resource, { keys, entries, endpoint }: References): ConfigPart {
  const material = Object.fromEntries([...keys, ...entries, ...endpoint].map((one) => [one.material, one.base64]));
  switch (resource.kind) {
    case "WebhookPartner":
      return { kind: resource.kind, config: compilePartner(resource, keys, endpoint), material };
    case "MetricCatalog":
      return { kind: resource.kind, config: compileCatalog(resource, entries), material };
    case "QueryClassQuota":
      return { kind: resource.kind, config: compileQuota(resource), material };
    case "EventCatalog":
      return { kind: resource.kind, config: compileEventCatalog(resource), material };
  }
}
