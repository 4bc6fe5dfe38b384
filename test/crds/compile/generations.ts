import { compile, type CompileResult } from "../../../crds/compile/compile.ts";
import { type ConfigPart, partsOf } from "../../../crds/part.ts";
import { uidOf } from "../../../crds/compile/origin.ts";
import type { Secrets } from "../../../crds/checks/secret-entry.ts";
import { allowAll, type InstallationPolicy } from "../../../crds/policy.ts";
import type { Resource } from "../../../crds/resource.ts";

export const dayMs = 86_400_000;
export const lastGoodMs = 7 * dayMs;

/** One moment of an installation. */
export interface Moment {
  readonly resources: readonly Resource[];
  readonly secrets?: Secrets;
  readonly policy?: InstallationPolicy;
  readonly nowMs?: number;
}

/** Compiles one moment after the other, each with what the one before left in force; answers the last outcome. */
export function compileInTurn(moments: readonly Moment[]): CompileResult {
  let parts: ReadonlyMap<string, ConfigPart> = new Map();
  let result: CompileResult | undefined;
  for (const { resources, secrets = new Map(), policy = allowAll, nowMs = 0 } of moments) {
    const before = { partOf: (resource: Resource) => parts.get(uidOf(resource)), nowMs, lastGoodMs };
    result = compile({ resources, secrets, policy, before });
    parts = partsOf(result.config);
  }
  if (result === undefined) throw new Error("there is no moment");
  return result;
}
