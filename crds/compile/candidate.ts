import { claimsOf, type Claim } from "../checks/claims.ts";
import { permissionProblems } from "../checks/permissions.ts";
import { resolveReferences, type References, type Secrets } from "../checks/references.ts";
import { unparsableUrls } from "../checks/url.ts";
import type { InstallationPolicy } from "../policy.ts";
import type { FieldProblem } from "../problem.ts";
import type { Resource } from "../resource.ts";
import { validateResource } from "../validate.ts";

/** The first stage at which an object fails; later stages are not looked at. */
export type Fault = "Invalid" | "NotPermitted" | "Unresolved";

/** An object and all that can be said of it without the others. */
export interface Candidate {
  readonly resource: Resource;
  readonly fault: Fault | undefined;
  /** Why it has that fault. */
  readonly problems: readonly FieldProblem[];
  readonly references: References;
  /** Empty for an object that cannot be in force. */
  readonly claims: readonly Claim[];
}

/** Validates one object, holds it against the policy and looks up what it refers to. */
export function examine(resource: Resource, secrets: Secrets, policy: InstallationPolicy): Candidate {
  const nothing: References = { keys: [], problems: [], warnings: [] };
  const failed = (fault: Fault, problems: readonly FieldProblem[], references = nothing): Candidate => {
    return { resource, fault, problems, references, claims: [] };
  };

  const validation = validateResource(resource);
  if (validation.resource === undefined) return failed("Invalid", validation.problems);
  const valid = validation.resource;
  const unparsable = unparsableUrls(valid);
  if (unparsable.length > 0) return failed("Invalid", unparsable);
  const forbidden = permissionProblems(valid, policy);
  if (forbidden.length > 0) return failed("NotPermitted", forbidden);
  const references = resolveReferences(valid, secrets);
  if (references.problems.length > 0) return failed("Unresolved", references.problems, references);
  return { resource: valid, fault: undefined, problems: [], references, claims: claimsOf(valid, references.keys) };
}
