import type { JSX } from "preact";
import type { PartnerSummary } from "../../api/partners.ts";
import { stateReasons } from "./state-reasons.ts";

/** The sentences of {@link stateReasons}; a dash for none. */
export function StateReason({ partner }: { readonly partner: PartnerSummary }): JSX.Element {
  const lines = stateReasons(partner);
  if (lines.length === 0) return <>–</>;
  return (
    <>
      {lines.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </>
  );
}
