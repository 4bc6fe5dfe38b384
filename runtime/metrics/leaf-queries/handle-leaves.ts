// Several governed queries as one request: one tenant, one class, one admission, one deadline. Each leaf is read,
// merged and cached like a native query.
import { Refusal } from "../../errors/refusal.ts";
import type { AdmittedLeaves, LeafReads, LeavesAdmission } from "../admission/admit-leaves.ts";
import type { Caller } from "../authorization/caller.ts";
import type { Again, RequestContext } from "../metrics-api.ts";
import { makeLeaves, type LeafQuery } from "../planning/leaf-query.ts";
import { makePlan } from "../planning/plan.ts";
import type { QuerySources } from "../query-sources.ts";
import { stampsAt } from "../request/leaf-window.ts";
import type { LeavesRequest, LeavesResult } from "../leaves/leaf.ts";
import { leavesResult } from "./leaves-result.ts";
import { nativeForm } from "./native-form.ts";
import { readLeaves, type ReadLeaves } from "./read-leaves.ts";
import type { CachedLeaves } from "./repeat-leaves.ts";

/** One request for leaves, of one caller. */
interface LeavesRun {
  readonly request: LeavesRequest;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly context: RequestContext;
}

interface LeavesSources extends QuerySources {
  readonly admitLeaves: LeavesAdmission["leaves"];
  /** Makes a cached response repeatable without parsing. */
  readonly rememberLeaves: (cached: CachedLeaves) => Again;
}

/**
 * Handles leaves, step by step: authorize, plan, admit, then read each from the caches or the stores.
 *
 * @throws Refusal when a leaf, or all of them together, would be refused as a native query; the signal's reason
 */
export async function handleLeaves(run: LeavesRun, sources: LeavesSources): Promise<LeavesResult> {
  const startMs = performance.now();
  const { request, caller, context } = run;
  const leaves = resolve(run, sources);
  const plans = leaves.map(({ query }) => makePlan(query, context.nowMs));
  const admitted = await sources.admitLeaves(plans, caller);
  const reads: (LeafReads | undefined)[] = plans.map(() => undefined);
  const noteReads = (index: number, own: LeafReads): void => void (reads[index] = own);
  const stamps = stampsAt(request.times, context.nowMs);
  try {
    const read = await readLeaves({ ...run, plans, stamps: stamps.count, sources, noteReads }).finally(() =>
      admitted.charge(reads),
    );
    const durationMs = performance.now() - startMs;
    const result = leavesResult({ ...read, stamps, leaves, durationMs });
    const again = repeatable({ plans, caller, times: request.times, stamps }, read, sources);
    return { ...result, headers: { ...result.headers, ...admitted.headers() }, again };
  } catch (error) {
    throw refusedWith(error, admitted);
  } finally {
    admitted.end();
  }
}

/** Resolves the leaves against the rights of the caller, and records them as native queries. */
function resolve(
  { request, caller, context }: LeavesRun,
  { queryContext, record }: LeavesSources,
): readonly LeafQuery[] {
  let made: readonly LeafQuery[] = [];
  try {
    made = makeLeaves(request, caller, queryContext, context.nowMs);
    return made;
  } finally {
    for (const [index, leaf] of request.leaves.entries()) {
      const query = made[index]?.query;
      const form = nativeForm(leaf, request, query);
      record.add({ ...form, caller, nowMs: context.nowMs, query }, queryContext);
    }
  }
}

function repeatable(
  parts: Omit<CachedLeaves, "found">,
  { answers }: ReadLeaves,
  { rememberLeaves }: LeavesSources,
): Again | undefined {
  const found = answers.flatMap((answer) => answer.found ?? []);
  return found.length === answers.length ? rememberLeaves({ ...parts, found }) : undefined;
}

function refusedWith(error: unknown, admitted: AdmittedLeaves): unknown {
  return error instanceof Refusal ? error.with(admitted.headers()) : error;
}
