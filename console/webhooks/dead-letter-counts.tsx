import type { DeadLetterCount, DeadLetterCounts } from "../../api/replays.ts";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useRead } from "../api/use-read.ts";
import { DataTable, type Column } from "../components/data-table.tsx";
import { formatNumber, formatWord } from "../components/format.ts";
import { Timestamp } from "../components/timestamp.tsx";
import { Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { changedQuery } from "../router/place.ts";
import { Link, useQueryState } from "../router/router.tsx";

interface CountsProps {
  /** Parameters of the list besides the reason. */
  readonly filters: Readonly<Record<string, string>>;
  /** When the list was read: the counts are read with it. */
  readonly turnMs: number | undefined;
}

/** Dead letters by reason, the most first; each reason filters the list. */
export function DeadLetterCountsSection({ filters, turnMs }: CountsProps): JSX.Element {
  const { reason: _reason, ...others } = filters;
  const query = changedQuery(new URLSearchParams({ group_by: "reason" }), others);
  const state = useQueryState();
  const read = useRead<DeadLetterCounts>(`/webhooks/dead-letters/counts${query}`);
  const first = useRef(turnMs);
  const { refresh } = read;
  useEffect(() => {
    if (first.current !== undefined && first.current !== turnMs) refresh();
    first.current = turnMs;
  }, [turnMs, refresh]);
  return (
    <Section title="By reason">
      <Reading read={read} what="the counts of dead letters" lines={4}>
        {({ data, meta }) => (
          <>
            <DataTable
              caption="Dead letters by reason"
              isCards
              look="labelled"
              columns={columnsFor((reason) => state.to({ reason, cursor: null }))}
              rows={data.toSorted((a, b) => b.count - a.count)}
              rowKey={(row) => row.reason}
              empty={<p class="quiet">None.</p>}
            />
            {meta.complete ? null : <p class="lead">Older dead letters were not counted, so there may be more.</p>}
          </>
        )}
      </Reading>
    </Section>
  );
}

function columnsFor(pathTo: (reason: string) => string): readonly Column<DeadLetterCount>[] {
  return [
    { header: "Reason", cell: ({ reason }) => <Link to={pathTo(reason)}>{formatWord(reason)}</Link> },
    { header: "Dead letters", cell: ({ count }) => formatNumber(count), isNumber: true, isInCard: true },
    { header: "Partners", cell: ({ partners }) => formatNumber(partners), isNumber: true, isInCard: true },
    { header: "Oldest", cell: ({ oldest_at: at }) => <Timestamp at={at} shows="age" />, isInCard: true },
    { header: "Newest", cell: ({ newest_at: at }) => <Timestamp at={at} shows="age" /> },
  ];
}
