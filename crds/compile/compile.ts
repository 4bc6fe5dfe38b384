// Resources become the configuration of the runtime. Pure: no Kubernetes client, no NATS, no clock of its own.

import { UnresolvedTypes } from "./unresolved-types.ts";
import { partPermissionProblems } from "../checks/permissions.ts";
import type { Secrets } from "../checks/secret-entry.ts";
import type { RuntimeConfig } from "../config.ts";
import { type ConfigPart, eventCatalogsOf } from "../part.ts";
import type { InstallationPolicy } from "../policy.ts";
import type { Resource } from "../resource.ts";
import { byText, canonicalJson } from "./canonical-json.ts";
import { classDefaults } from "./class-defaults.ts";
import { type Evaluation, EvaluationCache } from "./evaluation-cache.ts";
import type { ResourceResult } from "./resource-result.ts";
import { withKeptFields } from "./kept-fields.ts";
import { versionsLimit } from "./versions-limit.ts";
import { type Before, expired, lastGoodMsDefault, permittedPart } from "./last-good.ts";
import { type KeyHolder, resolveConflicts, uniqueKeysOfPart } from "./uniqueness.ts";

interface CompileInput {
  /** In any order. Each is validated again; one that is invalid is marked and left out. */
  readonly resources: readonly Resource[];
  /** Secrets by `namespace/name`; their entries in base64, as in a Secret's `data`. */
  readonly secrets: Secrets;
  readonly policy: InstallationPolicy;
  /**
   * Parts to apply instead of the present specs of their objects, with the unique keys of these parts. @default none
   */
  readonly held?: ReadonlyMap<Resource, ConfigPart>;
  /** The parts applied before, which may replace their objects, and the time. @default none */
  readonly before?: Before;
  /**
   * Applied parts of objects that cannot be read now, which are not among the resources. They keep their unique keys.
   *
   * @default none
   */
  readonly carried?: readonly ConfigPart[];
}

const nothingBefore: Before = { partOf: () => undefined, nowMs: 0, lastGoodMs: lastGoodMsDefault };

export interface CompileResult {
  readonly config: RuntimeConfig;
  /** Of every object, by kind, namespace and name. */
  readonly results: readonly ResourceResult[];
  /** Unix milliseconds at which the same input compiles to something else; infinity for never. */
  readonly againMs: number;
}

/** An applied part of an object that cannot be read now, and the unique keys that it keeps. */
interface CarriedPart extends KeyHolder {
  readonly part: ConfigPart;
}

interface CarryLimits {
  readonly policy: InstallationPolicy;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Time for which a last good version may be used instead. */
  readonly lastGoodMs: number;
}

/**
 * Turns resources into the configuration of every runtime pod. The same set in any order gives the same configuration.
 * An object that is invalid, not permitted, unresolved or in conflict is marked and changes nothing for the others. Its
 * last good version stands in, or its events wait, or it is left out. Only applied parts hold unique keys; an older
 * object gets a key before a younger one.
 */
export function compile(input: CompileInput): CompileResult {
  return createCompiler()(input);
}

/**
 * Like {@link compile}, for repeated calls: the evaluation of an object is cached while the very same object comes
 * again. Unchanged parts and results are the very objects they were.
 */
export function createCompiler(): (input: CompileInput) => CompileResult {
  const evaluations = new EvaluationCache();
  let byAgeBefore: readonly Evaluation[] = [];
  let byNameBefore: readonly Evaluation[] = [];
  const types = new UnresolvedTypes<ResourceResult>();
  return ({ resources, secrets, policy, held = new Map(), before = nothingBefore, carried = [] }) => {
    const evaluated = resources.map((resource) => evaluations.evaluate(resource, { secrets, policy, held, before }));
    byAgeBefore = sortedLike(byAgeBefore, evaluated, byAge);
    byNameBefore = sortedLike(byNameBefore, evaluated, byIdentity);
    const kept = carried.flatMap((part) => carry(part, { policy, ...before }) ?? []);
    const conflicts = resolveConflicts<KeyHolder>(
      [...kept, ...byAgeBefore.filter(({ part }) => part !== undefined)],
      keysInForce(before),
    );
    const tooMany = versionsLimit(byAgeBefore, before, conflicts);
    const outcomes = byNameBefore.map((one) =>
      one.outcome([...(conflicts.get(one) ?? []), ...(tooMany.get(one) ?? [])], before),
    );
    const parts = outcomes.flatMap(({ part }) => part ?? []);
    const assembled = assemble(
      kept.length === 0 ? parts : [...parts, ...kept.map(({ part }) => part)].sort(byPartName),
    );
    const config = withKeptFields(assembled, before.eventCatalogs?.() ?? []);
    types.use(config.eventCatalogs ?? []);
    return {
      config,
      results: outcomes.map(({ result, part }) => types.judge(result, part)),
      againMs: byNameBefore.reduce((soonest, { againMs }) => Math.min(soonest, againMs), Number.POSITIVE_INFINITY),
    };
  };
}

/**
 * Sorts items that are mostly in order: the items known from `before` come first, in their former order. Sorting a
 * nearly sorted list is fast.
 */
function sortedLike(
  before: readonly Evaluation[],
  items: readonly Evaluation[],
  order: (one: Evaluation, other: Evaluation) => number,
) {
  const present = new Set(items);
  const known = before.filter((item) => present.has(item));
  for (const item of known) present.delete(item);
  return [...known, ...present].sort(order);
}

/** Keys of the present spec of an object that its applied part holds. Only objects without an age need them. */
function keysInForce({ partOf }: Before): (holder: KeyHolder) => readonly string[] {
  return (holder) => {
    const part = holder.isAgeless === true && "bornAtMs" in holder ? partOf(holder.resource as Resource) : undefined;
    if (part === undefined) return [];
    const applied = new Set(uniqueKeysOfPart(holder.resource, part).map(({ name }) => name));
    return holder.uniqueKeys.map(({ name }) => name).filter((name) => applied.has(name));
  };
}

/**
 * Oldest first. Without a cluster, objects have no age: what is applied already decides, and among new objects
 * namespace and name.
 */
function byAge(one: Evaluation, other: Evaluation): number {
  return (
    one.bornAtMs - other.bornAtMs || byName(one.resource, other.resource) || byContent(one.resource, other.resource)
  );
}

function byIdentity(one: Evaluation, other: Evaluation): number {
  const [{ resource }, { resource: next }] = [one, other];
  return byText(resource.kind, next.kind) || byName(resource, next) || byAge(one, other);
}

interface Named {
  readonly metadata: Pick<Resource["metadata"], "namespace" | "name">;
}

function byName({ metadata: one }: Named, { metadata: other }: Named): number {
  return byText(one.namespace, other.namespace) || byText(one.name, other.name);
}

function byContent(one: Resource, other: Resource): number {
  return byText(canonicalJson(one), canonicalJson(other));
}

function byPartName({ kind, config }: ConfigPart, { kind: nextKind, config: next }: ConfigPart): number {
  return byText(kind, nextKind) || byName({ metadata: config }, { metadata: next });
}

/** @param parts by kind, namespace and name */
function assemble(parts: readonly ConfigPart[]): RuntimeConfig {
  const eventCatalogs = eventCatalogsOf(parts);
  return {
    schema: 1,
    partners: parts.flatMap(({ kind, config }) => (kind === "WebhookPartner" ? [config] : [])),
    catalogs: parts.flatMap(({ kind, config }) => (kind === "MetricCatalog" ? [config] : [])),
    quotas: parts.flatMap(({ kind, config }) => (kind === "QueryClassQuota" ? [config] : [])),
    ...(eventCatalogs.length === 0 ? {} : { eventCatalogs }),
    classDefaults,
    material: Object.fromEntries(parts.flatMap(({ material }) => Object.entries(material))),
  };
}

/**
 * The applied part of an object whose namespace cannot be listed, as far as the present policy permits it. A partner
 * stays in the configuration, held if need be; a catalog or a quota that is not permitted is left out. A last good
 * version ends at its time here too.
 */
function carry(part: ConfigPart, { policy, nowMs, lastGoodMs }: CarryLimits): CarriedPart | undefined {
  const current = expired(part, nowMs, lastGoodMs);
  const kept = current === undefined ? undefined : permitted(current, policy);
  if (kept === undefined) return undefined;
  const { namespace, name } = kept.config;
  const resource = { kind: kept.kind, metadata: { namespace, name } };
  return { part: kept, resource, uniqueKeys: uniqueKeysOfPart(resource, kept) };
}

function permitted(part: ConfigPart, policy: InstallationPolicy): ConfigPart | undefined {
  if (partPermissionProblems(part, policy).length === 0) return part;
  return permittedPart(part, policy);
}
