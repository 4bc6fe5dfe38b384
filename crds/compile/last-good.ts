import { partPermissionProblems } from "../checks/permissions.ts";
import { resolveReferences, type References } from "../checks/references.ts";
import { missingPart, type Secrets } from "../checks/secret-entry.ts";
import type { EventCatalogConfig, HeldReason, PartnerConfig } from "../config.ts";
import { materialIdsOf } from "../material.ts";
import { grantOf, type InstallationPolicy } from "../policy.ts";
import type { MetricCatalog, Resource, WebhookPartner } from "../resource.ts";
import { canonicalJson } from "./canonical-json.ts";
import { type EvaluatedResource, withPart } from "./resource-result.ts";
import { compileCatalog } from "./catalog.ts";
import { differInReferencesAlone, narrowPartner, release, restrict } from "./narrow-partner.ts";
import { compilePartner } from "./partner.ts";
import type { ConfigPart } from "../part.ts";
import { permittedTypes } from "./event-catalog.ts";

/** Default time for which a last good version may be used instead. */
export const lastGoodMsDefault = 7 * 86_400_000;

/** The parts applied before, and the time. */
export interface Before {
  /** The applied part of the object of that uid; undefined when there was none. */
  readonly partOf: (resource: Resource) => ConfigPart | undefined;
  /** The applied catalogs of event types, also those whose objects were deleted. @default none */
  readonly eventCatalogs?: () => readonly EventCatalogConfig[];
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Time for which a last good version may be used instead. It bounds how long bytes of deleted Secrets stay. */
  readonly lastGoodMs: number;
  /** True if a partner in conflict may have been applied although its part is unknown: it is held. @default false */
  readonly mayForget?: boolean;
}

interface LastGoodInput {
  readonly secrets: Secrets;
  readonly policy: InstallationPolicy;
  readonly last: ConfigPart | undefined;
  readonly nowMs: number;
  readonly lastGoodMs: number;
}

type PartnerPart = Extract<ConfigPart, { readonly kind: "WebhookPartner" }>;

/**
 * The part to apply for an object whose spec cannot be applied. A partner that was once in the configuration stays in
 * it. So does a partner whose only fault is a reference:
 *
 * ```
 *   reference cannot be read ─┬─ a last good version, not too old ─► that, narrowed by the present spec
 *                             └─ none ─► the spec, held: its events are routed and wait
 *   not permitted (any more) ─┬─ was in the configuration ─► held; subscriptions that are not permitted are `withdrawn`
 *                             └─ never ─► left out
 * ```
 *
 * A catalog keeps its last good version when only references differ. An object that a later rule made invalid keeps its
 * applied part, which its spec cannot narrow. When the time of that part ends, a partner is held.
 */
export function lastGoodVersion(evaluated: EvaluatedResource, input: LastGoodInput): EvaluatedResource {
  const { resource, fault } = evaluated;
  if (fault === undefined) return evaluated;
  if (fault === "Invalid" || fault === "Incompatible") return invalidStandIn(evaluated, input);
  switch (resource.kind) {
    case "WebhookPartner":
      return fault === "Unresolved"
        ? unresolvedPartner(evaluated, resource, input)
        : forbiddenPartner(evaluated, resource, input);
    case "MetricCatalog":
      return fault === "Unresolved" ? catalogStandIn(evaluated, resource, input) : evaluated;
    case "QueryClassQuota":
    case "EventCatalog":
      return catalogOfFewerTypes(evaluated, input);
  }
}

/** A catalog of event types that the policy does not permit as written: its applied part, as far as it is permitted. */
function catalogOfFewerTypes(evaluated: EvaluatedResource, { last, policy }: LastGoodInput): EvaluatedResource {
  return last?.kind === "EventCatalog" ? withPart(evaluated, permittedTypes(last, policy)) : evaluated;
}

/** The part of an applied partner that loses a unique key to an older object: its events wait. */
export function yielded({ part }: EvaluatedResource): ConfigPart | undefined {
  if (part?.kind !== "WebhookPartner") return undefined;
  return { ...part, config: held(part.config, "conflicted") };
}

/** The pinned part of an object, as far as the present policy permits it. */
export function pinned(evaluated: EvaluatedResource, part: ConfigPart, policy: InstallationPolicy): EvaluatedResource {
  const { resource } = evaluated;
  const isPartner = resource.kind === "WebhookPartner" && part.kind === "WebhookPartner";
  const whole: ConfigPart = isPartner ? { ...part, config: release(part.config, stateOf(resource)) } : part;
  const problems = partPermissionProblems(whole, policy);
  if (problems.length === 0) return withPart(evaluated, whole);
  const isInvalid = evaluated.fault === "Invalid";
  const fault = isInvalid ? {} : { fault: "NotPermitted" as const };
  const all = isInvalid ? [...evaluated.problems, ...problems] : problems;
  const out: EvaluatedResource = { ...evaluated, ...fault, problems: all, part: undefined, uniqueKeys: [] };
  return withPart(out, permittedPart(whole, policy));
}

/** State of a partner's spec; of an invalid one, as far as it can be read. */
function stateOf({ spec }: WebhookPartner): PartnerConfig["state"] {
  return (spec as Partial<typeof spec> | undefined)?.state === "Paused" ? "Paused" : "Active";
}

/** A partner with references that cannot be read. */
function unresolvedPartner(
  evaluated: EvaluatedResource,
  resource: WebhookPartner,
  input: LastGoodInput,
): EvaluatedResource {
  const { references } = evaluated;
  const good =
    input.last?.kind === "WebhookPartner" ? lastGoodPartner(resource, input.last, references, input) : undefined;
  if (good === undefined) return withPart(evaluated, heldFromSpec(resource, references));
  return { ...pinned(evaluated, good.part, input.policy), againMs: good.againMs, lastGoodUntilMs: good.untilMs };
}

/** A partner with names that the policy does not permit. */
function forbiddenPartner(
  evaluated: EvaluatedResource,
  resource: WebhookPartner,
  input: LastGoodInput,
): EvaluatedResource {
  if (input.last?.kind !== "WebhookPartner") return evaluated;
  const good = lastGoodPartner(resource, input.last, resolveReferences(resource, input.secrets), input);
  const part = withdrawnFrom(good?.part ?? keyless(resource, input.last, input), input.policy);
  return { ...withPart(evaluated, part), againMs: good?.againMs ?? evaluated.againMs };
}

interface LastGood {
  readonly part: PartnerPart;
  /** End of the time in which it may be used instead. */
  readonly untilMs: number;
  /** @see EvaluatedResource.againMs */
  readonly againMs: number;
}

/**
 * The last version with all its references; undefined when there is none, it is too old, or none of its keys is left.
 */
function lastGoodPartner(
  { spec }: WebhookPartner,
  { config, material }: PartnerPart,
  { problems }: References,
  { nowMs, lastGoodMs }: LastGoodInput,
): LastGood | undefined {
  if (config.held === "unresolved") return undefined;
  const sinceMs = problems.length === 0 ? undefined : (config.lastGoodSinceMs ?? nowMs);
  const untilMs = sinceMs === undefined ? Number.POSITIVE_INFINITY : sinceMs + lastGoodMs;
  const narrowed = narrowPartner(config, spec, nowMs);
  const { keys } = narrowed.signing;
  if (keys.length === 0 || untilMs <= nowMs) return undefined;
  const part = partOf({ ...narrowed, ...(sinceMs === undefined ? {} : { lastGoodSinceMs: sinceMs }) }, material);
  return { part, untilMs, againMs: Math.min(untilMs, ...keys.map(({ notAfterMs }) => notAfterMs ?? untilMs)) };
}

/** A partner without a good version so far, with those of its keys that can be read. */
function heldFromSpec(resource: WebhookPartner, { keys, problems }: References): PartnerPart {
  const [problem] = problems;
  const missing = problem === undefined ? {} : { heldBy: missingPart(problem) };
  const config = { ...held(compilePartner(resource, keys, []), "unresolved"), ...missing };
  return partOf(
    withoutEndpointMaterial(config),
    Object.fromEntries(keys.map(({ material, base64 }) => [material, base64])),
  );
}

/** A version without its keys, which may no longer be kept: events are routed to it, and nothing is sent. */
function keyless({ spec }: WebhookPartner, { config }: PartnerPart, { nowMs }: LastGoodInput): PartnerPart {
  return withoutKeys(narrowPartner(config, spec, nowMs));
}

/** A held partner without its keys: events are routed to it, and nothing is sent. */
export function withoutKeys(config: PartnerConfig): PartnerPart {
  const { lastGoodSinceMs: _over, ...bare } = withoutEndpointMaterial(config);
  return partOf(held({ ...bare, signing: { ...bare.signing, keys: [] } }, "unresolved"), {});
}

function withoutEndpointMaterial(config: PartnerConfig): PartnerConfig {
  const { tls: _tls, oauth2: _oauth2, ...endpoint } = config.endpoint;
  return { ...config, endpoint };
}

/** What remains of a part that names more than the policy permits. */
export function permittedPart(part: ConfigPart, policy: InstallationPolicy): ConfigPart | undefined {
  if (part.kind === "WebhookPartner") return withdrawnFrom(part, policy);
  return part.kind === "EventCatalog" ? permittedTypes(part, policy) : undefined;
}

/** The permitted part of a version: its events are routed, and nothing is sent. */
export function withdrawnFrom({ config, material }: PartnerPart, policy: InstallationPolicy): PartnerPart {
  const subscriptions = restrict(config.subscriptions, grantOf(policy, config.namespace));
  const kept = new Set(subscriptions.map(canonicalJson));
  const withdrawn = config.subscriptions.filter((subscription) => !kept.has(canonicalJson(subscription)));
  const restricted = { ...config, subscriptions, ...(withdrawn.length === 0 ? {} : { withdrawn }) };
  return partOf(held(restricted, "not_permitted"), material);
}

/**
 * Marks a partner as held: nothing is sent. Pods of an older version read only the state. A partner that never was
 * complete stays `unresolved`.
 */
function held(config: PartnerConfig, reason: HeldReason): PartnerConfig {
  return { ...config, held: config.held === "unresolved" ? config.held : reason, state: "Paused" };
}

function partOf(config: PartnerConfig, material: ConfigPart["material"]): PartnerPart {
  return {
    kind: "WebhookPartner",
    config,
    material: Object.fromEntries(materialIdsOf(config).map((id) => [id, material[id] ?? ""])),
  };
}

/** A part whose last good version ends: a partner is held without its keys, a catalog has none. Other parts stay. */
export function expired(part: ConfigPart, nowMs: number, lastGoodMs: number): ConfigPart | undefined {
  if (part.kind === "QueryClassQuota" || part.kind === "EventCatalog") return part;
  const { lastGoodSinceMs } = part.config;
  if (lastGoodSinceMs === undefined || lastGoodSinceMs + lastGoodMs > nowMs) return part;
  return part.kind === "WebhookPartner" ? withoutKeys(part.config) : undefined;
}

/** An object that the API server accepted under earlier rules. */
function invalidStandIn(
  evaluated: EvaluatedResource,
  { last, nowMs, lastGoodMs, policy }: LastGoodInput,
): EvaluatedResource {
  if (last === undefined || last.kind !== evaluated.resource.kind) return evaluated;
  if (last.kind === "QueryClassQuota" || last.kind === "EventCatalog") return pinned(evaluated, last, policy);
  const lastGoodSinceMs = last.config.lastGoodSinceMs ?? nowMs;
  const untilMs = lastGoodSinceMs + lastGoodMs;
  const isOver = untilMs <= nowMs || (last.kind === "WebhookPartner" && last.config.held === "unresolved");
  if (isOver) return last.kind === "WebhookPartner" ? withPart(evaluated, withoutKeys(last.config)) : evaluated;
  const part = { ...last, config: { ...last.config, lastGoodSinceMs } } as ConfigPart;
  return { ...pinned(evaluated, part, policy), againMs: untilMs, lastGoodUntilMs: untilMs };
}

function catalogStandIn(
  evaluated: EvaluatedResource,
  resource: MetricCatalog,
  { last, nowMs, lastGoodMs, policy }: LastGoodInput,
): EvaluatedResource {
  if (last?.kind !== "MetricCatalog") return evaluated;
  const { config, material } = last;
  const lastGoodSinceMs = config.lastGoodSinceMs ?? nowMs;
  const untilMs = lastGoodSinceMs + lastGoodMs;
  if (untilMs <= nowMs || !differInReferencesAlone(config, compileCatalog(resource, []))) return evaluated;
  const stood = pinned(evaluated, { kind: "MetricCatalog", config: { ...config, lastGoodSinceMs }, material }, policy);
  return { ...stood, againMs: untilMs, lastGoodUntilMs: untilMs };
}
