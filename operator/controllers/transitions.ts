import type { ResourceResult } from "../../crds/compile/resource-result.ts";
import { ownConditions } from "../conditions.ts";
import type { Condition, ResourceStatus } from "../resource-types.ts";

/** An event to write about an object. */
interface Transition {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
}

/**
 * The events of a status change: another state of `Ready` (which mirrors the other conditions) unless it is `Unknown`,
 * and the warnings about a generation at its first decision.
 */
export function transitionsBetween(
  before: ResourceStatus | undefined,
  after: ResourceStatus,
  result: Pick<ResourceResult, "warnings"> | undefined,
): readonly Transition[] {
  const [was, is] = [conditionOf(before, "Ready"), conditionOf(after, "Ready")];
  const isNews = is !== undefined && is.status !== "Unknown" && (was?.status !== is.status || was.reason !== is.reason);
  const ready = isNews
    ? [{ type: is.status === "True" ? "Normal" : "Warning", reason: is.reason, note: is.message } as const]
    : [];
  const isFirst = decidedGeneration(before) !== decidedGeneration(after);
  const warnings = isFirst ? (result?.warnings ?? []) : [];
  return [...ready, ...warnings.map((note) => ({ type: "Warning", reason: "Questionable", note }) as const)];
}

/** The accepted or rejected generation; undefined when there is none. */
function decidedGeneration(status: ResourceStatus | undefined): number | undefined {
  const accepted = conditionOf(status, "Accepted");
  return accepted?.status === "Unknown" ? undefined : accepted?.observedGeneration;
}

function conditionOf(status: ResourceStatus | undefined, type: string): Condition | undefined {
  return ownConditions(status).find((condition) => condition.type === type);
}
