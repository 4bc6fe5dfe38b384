import { settleClaims } from "../checks/claims.ts";
import type { Secrets } from "../checks/references.ts";
import type { RuntimeConfig } from "../config.ts";
import type { InstallationPolicy } from "../policy.ts";
import type { Resource } from "../resource.ts";
import { examine, type Candidate } from "./candidate.ts";
import { byText, canonicalJson, digestOf } from "./canonical-json.ts";
import { compileCatalog } from "./catalog.ts";
import { classDefaults } from "./class-defaults.ts";
import { compilePartner } from "./partner.ts";
import { compileQuota } from "./quota.ts";
import { verdictOf, type Verdict } from "./verdict.ts";

export interface CompileInput {
  /** In any order. Each is validated again; one that is invalid is marked and left out. */
  readonly resources: readonly Resource[];
  /** Secrets by `namespace/name`; their entries in base64, as in a Secret's `data`. */
  readonly secrets: Secrets;
  readonly policy: InstallationPolicy;
}

/**
 * Turns resources into what every runtime pod obeys. The same set in any order gives the same configuration. An object
 * that is invalid, not permitted, unresolved or in conflict is left out and marked, and changes nothing for the others:
 * only an object in force claims anything, the older before the younger. Source: design §3.
 */
export function compile({ resources, secrets, policy }: CompileInput): {
  readonly config: RuntimeConfig;
  readonly verdicts: readonly Verdict[];
} {
  const candidates = resources.toSorted(byAge).map((resource) => examine(resource, secrets, policy));
  const conflicts = settleClaims(candidates.filter(({ fault }) => fault === undefined));
  const inForce = candidates.filter((candidate) => candidate.fault === undefined && !conflicts.has(candidate));
  return {
    config: assemble(inForce),
    verdicts: candidates.map((candidate) => verdictOf(candidate, conflicts.get(candidate) ?? [])).sort(byIdentity),
  };
}

/** sha256 of the canonical JSON of a configuration, lowercase hex: equal for equal configurations only. */
export function configDigest(config: RuntimeConfig): string {
  return digestOf(config);
}

/** Oldest first. Without a cluster nothing has an age, and namespace and name decide. */
function byAge(one: Resource, other: Resource): number {
  return (
    bornAtMs(one) - bornAtMs(other) ||
    byText(one.metadata.namespace, other.metadata.namespace) ||
    byText(one.metadata.name, other.metadata.name) ||
    byText(canonicalJson(one), canonicalJson(other))
  );
}

function bornAtMs({ metadata }: Resource): number {
  const bornAt = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(bornAt) ? Number.MAX_SAFE_INTEGER : bornAt;
}

function assemble(inForce: readonly Candidate[]): RuntimeConfig {
  const sorted = inForce.toSorted((one, other) => byName(one.resource.metadata, other.resource.metadata));
  const keys = sorted.flatMap(({ references }) => references.keys);
  return {
    schema: 1,
    partners: sorted.flatMap(({ resource, references }) => {
      return resource.kind === "WebhookPartner" ? [compilePartner(resource, references.keys)] : [];
    }),
    catalogs: sorted.flatMap(({ resource }) => (resource.kind === "MetricCatalog" ? [compileCatalog(resource)] : [])),
    quotas: sorted.flatMap(({ resource }) => (resource.kind === "QueryClassQuota" ? [compileQuota(resource)] : [])),
    classDefaults,
    material: Object.fromEntries(keys.map(({ material, base64 }) => [material, base64])),
  };
}

function byIdentity(one: Verdict, other: Verdict): number {
  return byText(one.kind, other.kind) || byName(one, other);
}

interface Named {
  readonly namespace: string;
  readonly name: string;
}

function byName(one: Named, other: Named): number {
  return byText(one.namespace, other.namespace) || byText(one.name, other.name);
}
