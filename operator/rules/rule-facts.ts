import { type ConditionStatus, reasons, type RulesWrittenReason } from "../../crds/reasons.ts";
import { describeError, isKubeError, type KubeError } from "../../kube/client/kube-error.ts";
import type { RuleStep } from "./decide-rule.ts";
import { otherManagers, type RuleObject } from "./rule-object.ts";

/** What the condition `RulesWritten` reports. */
export interface RuleFacts {
  readonly reason: RulesWrittenReason;
  readonly message: string;
  /** Generation of the catalog. */
  readonly generation: number;
}

/** The condition `RulesWritten`. `Ready` does not depend on it: queries need no rules. */
export function ruleDrafts(facts: RuleFacts | undefined) {
  if (facts === undefined) return [];
  const { reason, message, generation: observedGeneration } = facts;
  const status: ConditionStatus = reasons.RulesWritten[reason].status;
  return [{ type: "RulesWritten", status, reason, message, observedGeneration }];
}

/** The facts of a reason: its meaning, and what is special. */
export function factsOf(reason: RulesWrittenReason, detail: string, generation: number): RuleFacts {
  return { reason, message: `${reasons.RulesWritten[reason].meaning} ${detail}`.trim(), generation };
}

/** What a step means for the condition; undefined when there are no rules. */
export function factsOfStep(
  step: RuleStep,
  { current, isContested, generation }: { current: RuleObject | undefined; isContested: boolean; generation: number },
): RuleFacts | undefined {
  if (step.kind === "report") return factsOf(step.reason, step.detail, generation);
  if (step.kind !== "keep" && step.kind !== "write") return undefined;
  const { alerts, silencedUntilMs: until } = step.rules;
  if (isContested) {
    const others = otherManagers(current).join(", ");
    return factsOf("Contested", `Programs that changed it: ${others === "" ? "unknown" : others}.`, generation);
  }
  const silenced = until === undefined ? "" : ` Corrections are silenced until ${new Date(until).toISOString()}.`;
  return factsOf("Written", `It has ${alerts} alerts.${silenced}`, generation);
}

/** What a failed read or write means. */
export function factsOfError(error: KubeError, generation: number): RuleFacts {
  return isKubeError(error, "notFound")
    ? factsOf("KindMissing", "", generation)
    : factsOf("WriteRejected", describeError(error), generation);
}
