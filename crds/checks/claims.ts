import type { FieldProblem } from "../problem.ts";
import type { MetricCatalog, QueryClassQuota, Resource } from "../resource.ts";
import type { ResolvedKey } from "./references.ts";

/** Something that only one object may have. */
export interface Claim {
  /** Identity of what is claimed, for example `metric/cpu_util`; never shown. */
  readonly name: string;
  readonly field: string;
  readonly reason: "Conflicted" | "SharedSigningKey";
  /** What is claimed, in the words of the message. */
  readonly what: string;
}

/** A claim that an older object has. */
export interface ClaimProblem extends FieldProblem {
  readonly reason: Claim["reason"];
}

/** An object that asks to be in force, with all that it claims. */
export interface Claimant {
  readonly resource: Resource;
  readonly claims: readonly Claim[];
}

/** All that an object claims. `keys` are the signing keys that were found for it. */
export function claimsOf(resource: Resource, keys: readonly ResolvedKey[]): readonly Claim[] {
  return [identityClaim(resource), ...kindClaims(resource, keys)];
}

function kindClaims(resource: Resource, keys: readonly ResolvedKey[]): readonly Claim[] {
  switch (resource.kind) {
    case "WebhookPartner":
      return keys.map(({ index, digest }) => ({
        name: `key/${digest}`,
        field: `spec.signing.keys[${index}].secretRef`,
        reason: "SharedSigningKey",
        what: "the signing key",
      }));
    case "MetricCatalog":
      return metricClaims(resource);
    case "QueryClassQuota":
      return clientClaims(resource);
  }
}

function identityClaim({ kind, metadata: { namespace, name } }: Resource): Claim {
  return { name: `object/${kind}/${namespace}/${name}`, field: "metadata.name", reason: "Conflicted", what: "the name" };
}

function metricClaims({ spec }: MetricCatalog): readonly Claim[] {
  return spec.metrics.map(({ id }, index) => ({
    name: `metric/${id}`,
    field: `spec.metrics[${index}].id`,
    reason: "Conflicted",
    what: `the metric ${id}`,
  }));
}

function clientClaims({ spec }: QueryClassQuota): readonly Claim[] {
  if (spec.clients.length === 0) {
    const what = `the default of class ${spec.class}`;
    return [{ name: `class/${spec.class}`, field: "spec.class", reason: "Conflicted", what }];
  }
  return spec.clients.map(({ clientId, scope }, index) => {
    const [noun, value] = clientId === undefined ? (["scope", scope ?? ""] as const) : (["clientId", clientId] as const);
    const field = `spec.clients[${index}].${noun}`;
    return { name: `${noun}/${value}`, field, reason: "Conflicted", what: `the ${noun} ${value}` };
  });
}

/**
 * Gives each claim to the first claimant, in the order given (oldest first). One that finds any of its claims taken is
 * out: it gets nothing, so that the next one may. Returns the problems of those that are out.
 */
export function settleClaims<C extends Claimant>(claimants: readonly C[]): ReadonlyMap<C, readonly ClaimProblem[]> {
  const owners = new Map<string, C>();
  const out = new Map<C, readonly ClaimProblem[]>();
  for (const claimant of claimants) {
    const problems = claimant.claims.flatMap((claim) => {
      const owner = owners.get(claim.name);
      return owner === undefined ? [] : [{ field: claim.field, reason: claim.reason, message: takenBy(claim, owner) }];
    });
    if (problems.length > 0) out.set(claimant, problems);
    else for (const { name } of claimant.claims) owners.set(name, claimant);
  }
  return out;
}

function takenBy({ what }: Claim, { resource: { kind, metadata } }: Claimant): string {
  return `${what} belongs to ${kind} ${metadata.namespace}/${metadata.name}, which is older`;
}
