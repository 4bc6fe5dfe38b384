import { uniqueKeysOf, uniqueKeysOfPart, type UniqueKey } from "./uniqueness.ts";
import { permissionProblems } from "../checks/permissions.ts";
import { noReferences, resolveReferences, type References } from "../checks/references.ts";
import type { Secrets } from "../checks/secret-entry.ts";
import type { InstallationPolicy } from "../policy.ts";
import type { FieldProblem } from "../problem.ts";
import type { Resource } from "../resource.ts";
import { validateResource } from "../validate.ts";
import { compileCatalog } from "./catalog.ts";
import type { ConfigPart } from "../part.ts";
import { compilePartner } from "./partner.ts";
import { compileQuota } from "./quota.ts";

/** The first stage at which an object fails; later stages do not run. */
type Fault = "Invalid" | "NotPermitted" | "Unresolved";

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
  /** End of the time in which its last good version may stand in, in Unix milliseconds; absent when none does. */
  readonly lastGoodUntilMs?: number;
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
export function withPart(evaluated: EvaluatedResource, part: ConfigPart): EvaluatedResource {
  return { ...evaluated, part, uniqueKeys: uniqueKeysOfPart(evaluated.resource, part) };
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
  }
}
