import type { PartnerSummary } from "../../api/partners.ts";
import type { JSX } from "preact";
import type { ListPage } from "../api/types.ts";
import { useRead } from "../api/use-read.ts";
import { Badge } from "../components/badge.tsx";
import { DataTable, type Column } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { Page } from "../components/page.tsx";
import { Pager } from "../components/pager.tsx";
import { Reading } from "../components/reading.tsx";
import { changedQuery } from "../router/place.ts";
import { useQueryState } from "../router/router.tsx";
import { StateReason } from "../partners/state-reason.tsx";
import { TypeList } from "../partners/subscriptions-section.tsx";
import { PartnerLink } from "../webhooks/links.tsx";

const pageItems = 50;
const everySeconds = 30;

/** The partners that the token may see. */
export function PartnersPage(): JSX.Element {
  const state = useQueryState();
  const query = changedQuery(new URLSearchParams({ limit: String(pageItems) }), { cursor: state.get("cursor") });
  const read = useRead<ListPage<PartnerSummary>>(`/webhooks/partners${query}`, { everySeconds });
  return (
    <Page title="Partners" lead="Recipients of events, as their WebhookPartner resources are in force.">
      <Reading read={read} what="the partners" lines={10}>
        {({ data, meta }) => (
          <>
            <DataTable
              caption="Partners"
              columns={columns}
              rows={data}
              rowKey={({ partner }) => partner}
              empty={
                <Empty
                  title="No partners"
                  why="No WebhookPartner that your token may see is in force."
                  next="Apply one with kubectl, or use a token that names its tenants."
                />
              }
            />
            <Pager cursor={meta.cursor} />
          </>
        )}
      </Reading>
    </Page>
  );
}

const columns: readonly Column<PartnerSummary>[] = [
  { header: "Partner", cell: ({ partner }) => <PartnerLink partner={partner} /> },
  { header: "State", cell: ({ state }) => <Badge state={state} /> },
  { header: "Why", cell: (partner) => <StateReason partner={partner} /> },
  {
    header: "Event types",
    cell: ({ subscriptions }) => <TypeList types={[...new Set(subscriptions.flatMap(({ types }) => types))]} />,
  },
  { header: "Signing key", cell: ({ keys: [first] }) => (first === undefined ? "–" : <code>{first.id}</code>) },
  { header: "Key ends", cell: ({ keys: [first] }) => <Timestamp at={first?.not_after ?? null} shows="age" /> },
];
