import type { EventHistory } from "../../api/histories.ts";
import type { EventExplanation, PartnerExplanation } from "../../api/partner-health.ts";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useRead } from "../api/use-read.ts";
import { type Column, DataTable } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { formatWord } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { changedQuery } from "../router/place.ts";
import { PartnerLink } from "../webhooks/links.tsx";

interface ExplanationProps {
  /** Path of the event in the API. */
  readonly path: string;
  /** Whether the section is open at first. */
  readonly isOpenAtFirst: boolean;
}

const partnersMax = 100;

/** Why partners without a delivery did not get the event. It is read once somebody opens it. */
export function Explanation({ path, isOpenAtFirst }: ExplanationProps): JSX.Element {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  return (
    <Section
      title="Other partners"
      lead="Why partners without a delivery did not get this event."
      actions={
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Hide" : "Explain"}
        </button>
      }
    >
      {isOpen ? <ExplainedPartners path={path} /> : null}
    </Section>
  );
}

function ExplainedPartners({ path }: Pick<ExplanationProps, "path">): JSX.Element {
  const [cursor, setCursor] = useState("");
  const query = new URLSearchParams({ explain: "true", limit: String(partnersMax) });
  const read = useRead<EventHistory>(`${path}${changedQuery(query, { cursor })}`);
  return (
    <Reading read={read} what="the explanation" lines={6}>
      {({ explanation }) =>
        explanation === undefined ? (
          <p class="lead">The server does not explain events. Update it to see the reasons.</p>
        ) : (
          <>
            <ExplanationTable explanation={explanation} />
            {explanation.cursor === null && cursor === "" ? null : (
              <div class="pager">
                <button type="button" onClick={() => setCursor(explanation.cursor ?? "")}>
                  {explanation.cursor === null ? "First partners" : "More partners"}
                </button>
              </div>
            )}
          </>
        )
      }
    </Reading>
  );
}

const columns: readonly Column<PartnerExplanation>[] = [
  { header: "Partner", cell: ({ partner }) => <PartnerLink partner={partner} /> },
  { header: "Reason", cell: absenceText, isInCard: true },
  { header: "Nearest subscription", cell: ({ subscription }) => subscription ?? "–" },
];

function ExplanationTable({ explanation }: { readonly explanation: EventExplanation }): JSX.Element {
  return (
    <>
      {explanation.evaluated === "now" ? (
        <p class="quiet">
          The configuration that routed the event is no longer applied, so the present one was evaluated.
        </p>
      ) : null}
      <DataTable
        caption="Partners without a delivery"
        isCards
        columns={columns}
        rows={explanation.partners.filter(({ routed }) => !routed)}
        rowKey={({ partner }) => partner}
        empty={<Empty title="No other partners" why="Each of these partners has a delivery of this event." />}
      />
    </>
  );
}

const absences: Readonly<Record<string, string>> = {
  type: "No subscription matches the type.",
  tenant: "Subscriptions to this type do not include the tenant.",
  producer: "Subscriptions to this type do not include the producer.",
  withdrawn: "A subscription matches, but its permission was withdrawn.",
  withdrawn_other: "The permissions of all subscriptions were withdrawn.",
  matches_now: "A subscription matches now, but did not when the event was routed.",
  no_record: "A subscription matches, but no delivery is recorded.",
  about_partner: "The event is about this partner.",
  ping: "The event is the ping of another partner.",
};

/** Why a partner has no delivery, as a sentence. */
export function absenceText({ reason, state, matcher }: PartnerExplanation): string {
  if (reason === "not_applied")
    return `The definition of the partner is rejected${state === null ? "" : `: ${state}`}.`;
  if (matcher === null) return absences[reason] ?? formatWord(reason);
  const { operator, pointer, found, value } = matcher;
  const seen = value === null ? found : `${found} ${value}`;
  return `The matcher ${operator} on ${pointer} is not met. Found: ${seen}.`;
}
