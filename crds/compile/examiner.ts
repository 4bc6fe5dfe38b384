import type { ClaimProblem } from "../checks/claims.ts";
import { secretNamesOf } from "../checks/references.ts";
import type { Secrets } from "../checks/secret-entry.ts";
import type { InstallationPolicy } from "../policy.ts";
import type { Resource } from "../resource.ts";
import { type Candidate, examine, withPart } from "./candidate.ts";
import type { ConfigPart } from "./part.ts";
import { verdictOf, type Verdict } from "./verdict.ts";

/** A candidate with what is needed of it again and again. */
export interface Examined extends Candidate {
  /** Unix milliseconds; what has no age comes last. */
  readonly bornAtMs: number;
  /** The verdict when others hold these claims; for the same problems the same object. */
  verdict(conflicts: readonly ClaimProblem[]): Verdict;
}

/** All that an examination depends on besides the object. */
export interface Circumstances {
  readonly secrets: Secrets;
  readonly policy: InstallationPolicy;
  /** What is to be in force of an object whatever it says now. */
  readonly held: ReadonlyMap<Resource, ConfigPart>;
}

interface Memory {
  readonly policy: InstallationPolicy;
  readonly held: ConfigPart | undefined;
  readonly secrets: ReadonlyMap<string, ReturnType<Secrets["get"]>>;
  readonly examined: Examined;
}

/**
 * Examines objects and remembers the outcome for as long as the very same object comes again with the very same policy and
 * entries of Secrets. Objects, policies and entries must therefore never be changed, only replaced.
 */
export class Examiner {
  readonly #memories = new WeakMap<Resource, Memory>();

  examine(resource: Resource, { secrets, policy, held }: Circumstances): Examined {
    const part = held.get(resource);
    const known = this.#memories.get(resource);
    if (known !== undefined && known.policy === policy && known.held === part && isSame(known.secrets, secrets)) return known.examined;
    const examined = examinedOf(resource, secrets, policy, part);
    const names = examined.fault === "Invalid" ? [] : secretNamesOf(examined.resource);
    const used = new Map(names.map((name) => [name, secrets.get(name)]));
    this.#memories.set(resource, { policy, held: part, secrets: used, examined });
    return examined;
  }
}

function isSame(used: Memory["secrets"], secrets: Secrets): boolean {
  for (const [name, entries] of used) {
    if (secrets.get(name) !== entries) return false;
  }
  return true;
}

function examinedOf(resource: Resource, secrets: Secrets, policy: InstallationPolicy, held: ConfigPart | undefined): Examined {
  const alone = examine(resource, secrets, policy);
  const candidate = held === undefined ? alone : withPart(alone, held);
  let last = { problems: "[]", verdict: verdictOf(candidate, []) };
  return {
    ...candidate,
    bornAtMs: bornAtMs(resource),
    verdict: (conflicts) => {
      const problems = JSON.stringify(conflicts);
      if (problems !== last.problems) last = { problems, verdict: verdictOf(candidate, conflicts) };
      return last.verdict;
    },
  };
}

function bornAtMs({ metadata }: Resource): number {
  const bornAt = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(bornAt) ? Number.MAX_SAFE_INTEGER : bornAt;
}
