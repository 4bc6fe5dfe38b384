import { createHash } from "node:crypto";
import type { ConfigPart } from "../part.ts";
import type { FieldProblem } from "../problem.ts";
import type { Resource } from "../resource.ts";
import type { ResolvedKey } from "../checks/references.ts";

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
      return keys.map(({ index, digest }) => keyClaim(index, digest));
    case "MetricCatalog":
      return resource.spec.metrics.map(metricClaim);
    case "QueryClassQuota":
      return clientClaims(resource.spec);
  }
}

/** Whether the object itself is what is claimed twice. */
export function isNamesake({ field }: ClaimProblem): boolean {
  return field === identityField;
}

/**
 * All that a part of the configuration holds, for an object of which something else is in force than what it says. The
 * fields are named without their place in lists, which may be another by now.
 */
export function claimsOfPart(resource: Resource, part: ConfigPart): readonly Claim[] {
  if (part.kind === "WebhookPartner" && part.config.held !== undefined) return [identityClaim(resource)];
  const claims = partClaims(part).map((claim) => ({ ...claim, field: claim.field.replace(/\[\d+\]/u, "") }));
  return [identityClaim(resource), ...claims];
}

function partClaims({ kind, config, material }: ConfigPart): readonly Claim[] {
  switch (kind) {
    case "WebhookPartner":
      return config.signing.keys.map((key, index) => keyClaim(index, digestOf(material[key.material] ?? "")));
    case "MetricCatalog":
      return config.metrics.map(metricClaim);
    case "QueryClassQuota":
      return clientClaims(config);
  }
}

function digestOf(base64: string): string {
  return createHash("sha256").update(Buffer.from(base64, "base64")).digest("hex");
}

const identityField = "metadata.name";

function identityClaim({ kind, metadata: { namespace, name } }: Resource): Claim {
  return { name: `object/${kind}/${namespace}/${name}`, field: identityField, reason: "Conflicted", what: "the name" };
}

function keyClaim(index: number, digest: string): Claim {
  const field = `spec.signing.keys[${index}].secretRef`;
  return { name: `key/${digest}`, field, reason: "SharedSigningKey", what: "the signing key" };
}

function metricClaim({ id }: { readonly id: string }, index: number): Claim {
  return { name: `metric/${id}`, field: `spec.metrics[${index}].id`, reason: "Conflicted", what: `the metric ${id}` };
}

interface ClassClients {
  readonly class: string;
  readonly clients: readonly { readonly clientId?: string; readonly scope?: string }[];
}

function clientClaims({ class: queryClass, clients }: ClassClients): readonly Claim[] {
  if (clients.length === 0) {
    const what = `the default of class ${queryClass}`;
    return [{ name: `class/${queryClass}`, field: "spec.class", reason: "Conflicted", what }];
  }
  return clients.map(({ clientId, scope }, index) => {
    const [noun, value] =
      clientId === undefined ? (["scope", scope ?? ""] as const) : (["clientId", clientId] as const);
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
