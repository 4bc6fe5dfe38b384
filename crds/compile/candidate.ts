import { claimsOf, type Claim } from "../checks/claims.ts";
import { permissionProblems } from "../checks/permissions.ts";
import { resolveReferences, type References, type Secrets } from "../checks/references.ts";
import type { InstallationPolicy } from "../policy.ts";
import type { FieldProblem } from "../problem.ts";
import type { Resource } from "../resource.ts";
import { validateResource } from "../validate.ts";

/** The first stage at which an object fails; later stages are not looked at. */
export type Fault = "Invalid" | "NotPermitted" | "Unresolved";

/** An object and all that can be said of it without the others. */
export interface Candidate {
  /** With every default, unless it is invalid. */
  readonly resource: Resource;
  readonly fault: Fault | undefined;
  /** Why it has that fault; empty without one. */
  readonly problems: readonly FieldProblem[];
  readonly references: References;
  /** Empty for an object that cannot be in force. */
  readonly claims: readonly Claim[];
}

const none: References = { keys: [], problems: [], warnings: [] };

/** Validates one object, holds it against the policy and looks up what it refers to. */
export function examine(resource: Resource, secrets: Secrets, policy: InstallationPolicy): Candidate {
  const validation = validateResource(resource);
  const unchecked: Candidate = { resource, fault: "Invalid", problems: validation.problems, references: none, claims: [] };
  if (validation.resource === undefined) return unchecked;
  const valid: Candidate = { ...unchecked, resource: validation.resource };
  const forbidden = permissionProblems(valid.resource, policy);
  if (forbidden.length > 0) return { ...valid, fault: "NotPermitted", problems: forbidden };
  const references = resolveReferences(valid.resource, secrets);
  if (references.problems.length > 0) return { ...valid, fault: "Unresolved", problems: references.problems, references };
  return { ...valid, fault: undefined, references, claims: claimsOf(valid.resource, references.keys) };
}
