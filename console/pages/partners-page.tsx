import type { PartnerSummary } from "../../api/partners.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { Empty } from "../components/empty.tsx";
import { FilterForm } from "../components/filter-form.tsx";
import { formatMs, formatNumber, formatShare } from "../components/format.ts";
import { Page } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { SortedTable, type SortedColumn } from "../components/sorted-table.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { healthCounts, healthKind, healthRank, healthReason } from "../partners/health-kind.ts";
import { partnerFailureWords } from "../partners/latest-failure.ts";
import { usePartnerList, type PartnerRows } from "../partners/use-partner-list.ts";
import { Link, useQueryState } from "../router/router.tsx";
import { PartnerLink } from "../webhooks/links.tsx";

/** The partners that the token may see, the unhealthy ones first. */
export function PartnersPage(): JSX.Element {
  const state = useQueryState();
  const read = usePartnerList(state.get("search"));
  return (
    <Page title="Partners">
      <FilterForm fields={[{ name: "search", label: "Namespace or name", placeholder: "acme" }]} action="Filter" />
      <Reading read={read} what="the partners" lines={10}>
        {(rows) => <PartnerTable rows={rows} isReading={read.isReading} />}
      </Reading>
    </Page>
  );
}

interface PartnerTableProps {
  readonly rows: PartnerRows;
  readonly isReading: boolean;
}

function PartnerTable({ rows: { all, isComplete }, isReading }: PartnerTableProps): JSX.Element {
  const state = useQueryState();
  const health = state.get("health");
  const shown = all.filter((partner) => health === "" || healthKind(partner) === health);
  return (
    <>
      <HealthChoice partners={all} />
      {isComplete ? null : (
        <p class="notice warn">
          The first {formatNumber(all.length)} partners are shown.{" "}
          {isReading ? "More are being read." : "Search to find others."}
        </p>
      )}
      <SortedTable
        caption="Partners"
        columns={columns}
        rows={shown}
        rowKey={({ partner }) => partner}
        standard="health"
        isCards
        look="partner-rows"
        empty={all.length > 0 || state.get("search") !== "" ? <NoMatch /> : <NoPartners />}
      />
    </>
  );
}

/** How many partners have which health; each is a filter. */
function HealthChoice({ partners }: { readonly partners: readonly PartnerSummary[] }): JSX.Element | null {
  const state = useQueryState();
  const chosen = state.get("health");
  const counts = healthCounts(partners);
  if (partners.length === 0) return null;
  return (
    <nav class="choices health-choice" aria-label="Health of partners">
      <Link to={state.to({ health: null })} isCurrent={chosen === ""}>
        All {formatNumber(partners.length)}
      </Link>
      {counts.map(([kind, count]) => (
        <Link key={kind} to={state.to({ health: kind })} isCurrent={chosen === kind}>
          <Badge state={kind} /> {formatNumber(count)}
        </Link>
      ))}
    </nav>
  );
}

function NoMatch(): JSX.Element {
  const state = useQueryState();
  return (
    <Empty
      title="No partners match"
      why="No partner that your token may see has this name and health."
      next={<Link to={state.to({ search: null, health: null })}>Show all partners</Link>}
    />
  );
}

function NoPartners(): JSX.Element {
  return (
    <Empty
      title="No partners"
      why="No WebhookPartner that your token may see is applied."
      next="Apply a WebhookPartner, or use a token that names its tenants."
    />
  );
}

const timeOf = (at: string | null | undefined): number | null => (at ? Date.parse(at) : null);

const columns: readonly SortedColumn<PartnerSummary>[] = [
  {
    name: "partner",
    header: "Partner",
    value: ({ partner }) => partner,
    cell: ({ partner }) => <PartnerLink partner={partner} />,
    isInCard: true,
  },
  {
    name: "health",
    header: "Health",
    value: (partner) => healthRank(healthKind(partner)),
    cell: (partner) => <Badge state={healthKind(partner)} />,
    isInCard: true,
  },
  { name: null, header: "Reason", cell: (partner) => <Reason text={reasonText(partner)} />, isInCard: true },
  {
    name: "since",
    header: "Since",
    value: ({ health }) => timeOf(health?.since),
    cell: ({ health }) => <Timestamp at={health?.since ?? null} shows="age" />,
  },
  {
    name: "success",
    header: "Success, 24\u00a0h",
    isNumber: true,
    value: ({ recent }) => recent?.success_rate,
    cell: ({ recent }) => formatShare(recent?.success_rate),
    isInCard: true,
  },
  {
    name: "p95",
    header: "p95, 24\u00a0h",
    isNumber: true,
    value: ({ recent }) => recent?.p95_ms,
    cell: ({ recent }) => formatMs(recent?.p95_ms),
  },
  {
    name: "backlog",
    header: "Backlog",
    isNumber: true,
    value: ({ backlog }) => backlog,
    cell: ({ backlog }) => formatNumber(backlog),
  },
  {
    name: "last-success",
    header: "Last success",
    value: ({ recent }) => timeOf(recent?.last_success_at),
    cell: ({ recent }) => <Timestamp at={recent?.last_success_at ?? null} shows="age" />,
  },
  {
    name: "key-expiry",
    header: "Next key expiry",
    value: ({ next_key_to_expire: key }) => timeOf(key?.not_after),
    cell: ({ next_key_to_expire: key }) => <Timestamp at={key?.not_after ?? null} shows="age" />,
  },
];

function reasonText(partner: PartnerSummary): string {
  return [healthReason(partner), partnerFailureWords(partner) ?? ""].filter((text) => text !== "").join("; ");
}

/** One line of the table; the whole text on hover. */
function Reason({ text }: { readonly text: string }): JSX.Element {
  return (
    <span class="partner-reason" title={text}>
      {text === "" ? "–" : text}
    </span>
  );
}
