import { type ClaimProblem, isNamesake } from "./uniqueness.ts";
import { secretNamesOf } from "../checks/references.ts";
import type { Secrets } from "../checks/secret-entry.ts";
import type { InstallationPolicy } from "../policy.ts";
import type { Resource } from "../resource.ts";
import { type Candidate, examine } from "./evaluate-resource.ts";
import type { ConfigPart } from "../part.ts";
import { type Before, pinned, standIn, yielded } from "./stand-in.ts";
import { verdictOf, type Verdict } from "./resource-result.ts";

/** A candidate with what is needed of it again and again. */
export interface Examined extends Candidate {
  /** Unix milliseconds; what has no age comes last. */
  readonly bornAtMs: number;
  /** Whether time and what was in force before make nothing else of it. */
  isStillSo(before: Before): boolean;
  /** What becomes of it when others hold these claims; for the same problems the same objects. */
  outcome(conflicts: readonly ClaimProblem[], before: Before): Outcome;
}

/** What becomes of one object among the others. */
export interface Outcome {
  readonly verdict: Verdict;
  /** What comes into force of it; undefined when nothing does. */
  readonly part: ConfigPart | undefined;
}

/** All that an examination depends on besides the object. */
export interface Circumstances {
  readonly secrets: Secrets;
  readonly policy: InstallationPolicy;
  /** What is to be in force of an object whatever it says now. */
  readonly held: ReadonlyMap<Resource, ConfigPart>;
  readonly before: Before;
}

interface Memory {
  readonly policy: InstallationPolicy;
  readonly held: ConfigPart | undefined;
  readonly lastGoodMs: number;
  readonly secrets: ReadonlyMap<string, ReturnType<Secrets["get"]>>;
  readonly examined: Examined;
}

/**
 * Examines objects and remembers the outcome for as long as the very same object comes again with the very same policy
 * and entries of Secrets. Objects, policies and entries must therefore never be changed, only replaced.
 */
export class Examiner {
  readonly #memories = new WeakMap<Resource, Memory>();

  examine(resource: Resource, circumstances: Circumstances): Examined {
    const known = this.#memories.get(resource);
    if (known !== undefined && stillHolds(known, resource, circumstances)) return known.examined;
    const { secrets, policy, held, before } = circumstances;
    const examined = examinedOf(resource, circumstances);
    const names = examined.fault === "Invalid" ? [] : secretNamesOf(examined.resource);
    const used = new Map(names.map((name) => [name, secrets.get(name)]));
    this.#memories.set(resource, {
      policy,
      held: held.get(resource),
      lastGoodMs: before.lastGoodMs,
      secrets: used,
      examined,
    });
    return examined;
  }
}

function stillHolds(known: Memory, resource: Resource, { secrets, policy, held, before }: Circumstances): boolean {
  const { examined } = known;
  const isAlike =
    known.policy === policy && known.held === held.get(resource) && known.lastGoodMs === before.lastGoodMs;
  return isAlike && examined.isStillSo(before) && isSame(known.secrets, secrets);
}

function isSame(used: Memory["secrets"], secrets: Secrets): boolean {
  for (const [name, entries] of used) {
    if (secrets.get(name) !== entries) return false;
  }
  return true;
}

function examinedOf(resource: Resource, { secrets, policy, held, before }: Circumstances): Examined {
  const alone = examine(resource, secrets, policy);
  const pin = held.get(resource);
  const isStoodInFor = pin === undefined && alone.fault !== undefined;
  const last = isStoodInFor ? before.partOf(resource) : undefined;
  const candidate =
    pin === undefined ? standIn(alone, { ...before, secrets, policy, last }) : pinned(alone, pin, policy);
  let known: { readonly mark: string; readonly outcome: Outcome } | undefined;
  return {
    ...candidate,
    bornAtMs: bornAtMs(resource),
    isStillSo: ({ nowMs, partOf }) => nowMs < candidate.againMs && (!isStoodInFor || partOf(resource) === last),
    outcome: (conflicts, { partOf }) => {
      const wasThere = conflicts.length > 0 && partOf(resource) !== undefined;
      const mark = JSON.stringify([conflicts, wasThere]);
      if (mark !== known?.mark) known = { mark, outcome: outcomeOf(candidate, conflicts, wasThere) };
      return known.outcome;
    },
  };
}

function outcomeOf(candidate: Candidate, conflicts: readonly ClaimProblem[], wasThere: boolean): Outcome {
  const part =
    conflicts.length === 0 ? candidate.part : wasThere && !conflicts.some(isNamesake) ? yielded(candidate) : undefined;
  return { part, verdict: verdictOf(candidate, conflicts, part) };
}

function bornAtMs({ metadata }: Resource): number {
  const bornAt = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(bornAt) ? Number.MAX_SAFE_INTEGER : bornAt;
}
