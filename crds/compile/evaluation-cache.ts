import { type ConflictProblem, isNamesake } from "./uniqueness.ts";
import { withoutTypes } from "./event-catalog.ts";
import { secretNamesOf } from "../checks/references.ts";
import type { Secrets } from "../checks/secret-entry.ts";
import type { InstallationPolicy } from "../policy.ts";
import type { Resource } from "../resource.ts";
import { evaluate, type EvaluatedResource, type ResourceResult, resultOf } from "./resource-result.ts";
import { comparedWith } from "./compared-with.ts";
import type { ConfigPart } from "../part.ts";
import { type Before, pinned, lastGoodVersion, yielded } from "./last-good.ts";

/** An evaluated resource with the results that later compilations reuse. */
export interface Evaluation extends EvaluatedResource {
  /** Unix milliseconds; objects without an age come last. */
  readonly bornAtMs: number;
  readonly isAgeless: boolean;
  /** True while neither the time nor the part applied before changes the evaluation. */
  isStillSo(before: Before): boolean;
  /** Result of the object with these conflicts; the same object for the same conflicts. */
  outcome(conflicts: readonly ConflictProblem[], before: Before): Outcome;
}

/** Result of one object among all others. */
interface Outcome {
  readonly result: ResourceResult;
  /** The part to apply; undefined when there is none. */
  readonly part: ConfigPart | undefined;
}

/** Everything that an evaluation depends on besides the object. */
interface Circumstances {
  readonly secrets: Secrets;
  readonly policy: InstallationPolicy;
  /** Parts to apply instead of the present specs of their objects. */
  readonly held: ReadonlyMap<Resource, ConfigPart>;
  readonly before: Before;
}

interface Memory {
  readonly policy: InstallationPolicy;
  readonly held: ConfigPart | undefined;
  readonly lastGoodMs: number;
  readonly secrets: ReadonlyMap<string, ReturnType<Secrets["get"]>>;
  readonly evaluated: Evaluation;
}

/**
 * Evaluates objects. A result is cached while the very same object comes again with the very same policy and entries of
 * Secrets. Objects, policies and entries must therefore never be changed, only replaced.
 */
export class EvaluationCache {
  readonly #memories = new WeakMap<Resource, Memory>();

  evaluate(resource: Resource, circumstances: Circumstances): Evaluation {
    const known = this.#memories.get(resource);
    if (known !== undefined && stillHolds(known, resource, circumstances)) return known.evaluated;
    const { secrets, policy, held, before } = circumstances;
    const evaluated = evaluationOf(resource, circumstances);
    const names = evaluated.fault === "Invalid" ? [] : secretNamesOf(evaluated.resource);
    const used = new Map(names.map((name) => [name, secrets.get(name)]));
    this.#memories.set(resource, {
      policy,
      held: held.get(resource),
      lastGoodMs: before.lastGoodMs,
      secrets: used,
      evaluated,
    });
    return evaluated;
  }
}

function stillHolds(known: Memory, resource: Resource, { secrets, policy, held, before }: Circumstances): boolean {
  const { evaluated } = known;
  const isAlike =
    known.policy === policy && known.held === held.get(resource) && known.lastGoodMs === before.lastGoodMs;
  return isAlike && evaluated.isStillSo(before) && isSame(known.secrets, secrets);
}

function isSame(used: Memory["secrets"], secrets: Secrets): boolean {
  for (const [name, entries] of used) if (secrets.get(name) !== entries) return false;
  return true;
}

function evaluationOf(resource: Resource, { secrets, policy, held, before }: Circumstances): Evaluation {
  const pin = held.get(resource);
  const own = evaluate(resource, secrets, policy);
  const isCompared = own.part?.kind === "EventCatalog" && (pin === undefined || pin !== before.partOf(resource));
  const isStoodInFor = isCompared || (pin === undefined && own.fault !== undefined);
  const last = isStoodInFor ? before.partOf(resource) : undefined;
  const alone = isCompared ? comparedWith(own, last) : own;
  const evaluated =
    pin === undefined || alone.fault === "Incompatible"
      ? lastGoodVersion(alone, { ...before, secrets, policy, last })
      : pinned(alone, pin, policy);
  let known: { readonly mark: string; readonly outcome: Outcome } | undefined;
  return {
    ...evaluated,
    bornAtMs: bornAtMs(resource),
    isAgeless: bornAtMs(resource) === ageless,
    isStillSo: ({ nowMs, partOf }) =>
      nowMs < evaluated.againMs && (!isStoodInFor || partOf(resource)?.config === last?.config),
    outcome: (conflicts, { partOf, mayForget = false }) => {
      const applied = conflicts.length === 0 ? undefined : partOf(resource);
      const wasThere = conflicts.length > 0 && (mayForget || applied !== undefined);
      const catalog = applied?.kind === "EventCatalog" ? applied : undefined;
      const mark = JSON.stringify([conflicts, wasThere, catalog]);
      if (mark !== known?.mark) known = { mark, outcome: outcomeOf(evaluated, conflicts, { wasThere, catalog }) };
      return known.outcome;
    },
  };
}

interface Applied {
  /** False only for an object that never had a part. */
  readonly wasThere: boolean;
  /** The applied part of a catalog of event types. */
  readonly catalog: ConfigPart | undefined;
}

function outcomeOf(evaluated: EvaluatedResource, conflicts: readonly ConflictProblem[], applied: Applied): Outcome {
  const part = conflicts.length === 0 ? evaluated.part : partInConflict(evaluated, conflicts, applied);
  return { part, result: resultOf(evaluated, conflicts, part) };
}

function partInConflict(
  evaluated: EvaluatedResource,
  conflicts: readonly ConflictProblem[],
  { wasThere, catalog }: Applied,
): ConfigPart | undefined {
  if (conflicts.some(isNamesake)) return undefined;
  if (evaluated.part?.kind !== "EventCatalog") return wasThere ? yielded(evaluated) : undefined;
  const lost = new Set(conflicts.map(({ eventType }) => eventType));
  const part = lost.has(undefined) ? catalog : evaluated.part;
  if (part?.kind !== "EventCatalog" || part.config.types.every(({ type }) => !lost.has(type))) return part;
  return withoutTypes(part, (type) => lost.has(type), catalog);
}

/** In place of the birth of an object without one, which comes last. */
const ageless = Number.MAX_SAFE_INTEGER;

function bornAtMs({ metadata }: Resource): number {
  const bornAt = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(bornAt) ? ageless : bornAt;
}
