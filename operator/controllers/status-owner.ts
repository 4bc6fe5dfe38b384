import { capBytes } from "../../kube/client/kube-error.ts";
import type { Condition, ResourceStatus } from "../resource-types.ts";

/** The condition through which two installations of one object communicate. `Ready` does not depend on it. */
export const conflictType = "Conflict";

/** The installation that writes the status, and the conflict to write first; "none" removes it. */
export type OwnerDecision =
  | { readonly kind: "ours"; readonly conflict?: Condition | "none"; readonly againMs?: number }
  | { readonly kind: "theirs"; readonly conflict?: Condition; readonly againMs: number };

/** Time for the other installation to respond. After it, the asking one writes the status. */
const responseMsMax = 60_000;
/** Time between two requests to the other installation, so that its removal is detected. */
const requestPeriodMs = 10 * 60_000;
/** After this time without a request the other installation is gone. */
const goneMs = 2 * requestPeriodMs;
const messageBytesMax = 1024;

/**
 * Decides which installation writes the status. The status names the first one; a second one asks, the first responds:
 *
 * ```
 *   second: Unknown/Asked ─► first, in a minute: True/TwoInstallations ─► second, ten minutes later: Unknown/Asked
 *                         └► no response: the second writes the status, and the conflict is gone
 * ```
 *
 * @param self `<namespace>/<prefix>` of this installation
 */
export function decideOwner(self: string, status: ResourceStatus | undefined, wallMs: number): OwnerDecision {
  const owner = status?.installation;
  const conflict = status?.conditions?.find(({ type }) => type === conflictType);
  const ageMs = wallMs - Date.parse(conflict?.lastTransitionTime ?? "");
  if (owner === undefined || owner === self) return ours(self, conflict, ageMs, wallMs);
  const request = conditionOf(
    "Unknown",
    "Asked",
    `The installation ${self} also applies the object and checks whether ${owner} is still running.`,
    wallMs,
  );
  return conflict === undefined
    ? { kind: "theirs", conflict: request, againMs: responseMsMax }
    : theirs(conflict, request, ageMs);
}

function theirs({ status }: Condition, request: Condition, ageMs: number): OwnerDecision {
  if (status === "Unknown") {
    return ageMs >= responseMsMax
      ? { kind: "ours", conflict: "none" }
      : { kind: "theirs", againMs: responseMsMax - ageMs };
  }
  return ageMs >= requestPeriodMs
    ? { kind: "theirs", conflict: request, againMs: responseMsMax }
    : { kind: "theirs", againMs: requestPeriodMs - ageMs };
}

function ours(self: string, conflict: Condition | undefined, ageMs: number, wallMs: number): OwnerDecision {
  if (conflict === undefined) return { kind: "ours" };
  if (conflict.status === "Unknown") {
    const message =
      `Two installations apply the object. ${self} writes its status. Separate them by labels (--selector) or ` +
      `namespaces. ${conflict.message}`;
    return { kind: "ours", conflict: conditionOf("True", "TwoInstallations", message, wallMs), againMs: goneMs };
  }
  return ageMs >= goneMs ? { kind: "ours", conflict: "none" } : { kind: "ours", againMs: goneMs - ageMs };
}

function conditionOf(status: Condition["status"], reason: string, message: string, wallMs: number): Condition {
  const lastTransitionTime = new Date(wallMs).toISOString().replace(/\.\d+Z$/u, "Z");
  return { type: conflictType, status, reason, message: capBytes(message, messageBytesMax), lastTransitionTime };
}
