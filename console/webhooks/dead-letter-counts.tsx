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
import { Link } from "../router/router.tsx";
import { PartnerLink } from "./links.tsx";

interface CountsProps {
  /** `namespace/name`; empty for all. */
  readonly partner: string;
  /** When the list was read: the counts are read with it. */
  readonly turnMs: number | undefined;
}

/** Dead letters by partner and reason, the most first; each links to its list. */
export function DeadLetterCountsSection({ partner, turnMs }: CountsProps): JSX.Element {
  const query = changedQuery(new URLSearchParams(), { partner });
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
              columns={columns}
              rows={data.toSorted((a, b) => b.count - a.count)}
              rowKey={(row) => `${row.partner} ${row.reason}`}
              empty={<p class="quiet">None.</p>}
            />
            {meta.complete ? null : <p class="lead">Not all were counted: these numbers are at least as high.</p>}
          </>
        )}
      </Reading>
    </Section>
  );
}

const columns: readonly Column<DeadLetterCount>[] = [
  {
    header: "Reason",
    cell: ({ partner, reason }) => (
      <Link to={`/dead-letters${changedQuery(new URLSearchParams(), { partner, reason })}`}>{formatWord(reason)}</Link>
    ),
  },
  { header: "Partner", cell: ({ partner }) => <PartnerLink partner={partner} /> },
  { header: "Count", cell: ({ count }) => formatNumber(count), isNumber: true },
  { header: "Oldest", cell: ({ oldest_at: at }) => <Timestamp at={at} shows="age" /> },
  { header: "Newest", cell: ({ newest_at: at }) => <Timestamp at={at} shows="age" /> },
];
