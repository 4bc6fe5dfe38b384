import type { JSX } from "preact";
import type { PartnerSummary } from "../api/types.ts";
import { formatWord } from "../parts/format.ts";

/** Why a partner is held, what it lacks, and why its present definition is not applied. */
export function StateReason({ partner }: { readonly partner: PartnerSummary }): JSX.Element {
  const { reason, missing = null, rejected = null } = partner;
  const lines = [
    ...(reason === null ? [] : [missing === null ? formatWord(reason) : `${formatWord(reason)}: ${missing}`]),
    ...(rejected === null ? [] : [rejectedText(rejected)]),
  ];
  if (lines.length === 0) return <>–</>;
  return (
    <>
      {lines.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </>
  );
}

function rejectedText({ reason, message }: NonNullable<PartnerSummary["rejected"]>): string {
  return message === null ? `Last edit rejected: ${reason}` : `Last edit rejected (${reason}): ${message}`;
}
