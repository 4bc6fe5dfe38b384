import type { PartnerSummary } from "../../api/partners.ts";
import { formatMissing } from "../components/format.ts";

/** Servers of earlier versions do not report what is missing or why the definition is rejected. */
type Reasons = Pick<PartnerSummary, "state" | "reason"> & Partial<Pick<PartnerSummary, "missing" | "rejected">>;

/** Sentences: why a partner is in its state, what it lacks, and why its latest definition is not applied. */
export function stateReasons({ state, reason, missing = null, rejected = null }: Reasons): readonly string[] {
  const held = reason === null ? [] : [sentence(formatMissing(missing ?? reason))];
  const disabled = state === "disabled" ? ["The endpoint responded with status 410 (Gone)."] : [];
  // A partner that was never applied is held for the fault of its only definition.
  const isSame = rejected !== null && missing?.startsWith(`${rejected.reason}:`) === true;
  return [...held, ...disabled, ...(rejected === null || isSame ? [] : [rejectedText(rejected, state)])];
}

/** A partner in the state `rejected` was never applied, so there is no earlier version. */
function rejectedText(
  { reason, message }: NonNullable<PartnerSummary["rejected"]>,
  state: PartnerSummary["state"],
): string {
  const what = state === "rejected" ? "Definition rejected" : "Last edit rejected";
  return message === null ? `${what}: ${reason}` : `${what} (${reason}): ${message}`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
