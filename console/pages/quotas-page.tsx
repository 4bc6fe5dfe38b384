// The pages besides Home, one file each. Parts that several of them use are elsewhere.
import type { Quota, QuotaAnswer } from "../../api/quotas.ts";
import type { JSX } from "preact";
import { useRead } from "../api/use-read.ts";
import { Bar } from "../components/bar.tsx";
import { type Column, DataTable, Facts } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { formatNumber, formatSeconds } from "../components/format.ts";
import { Page, Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import type { Tone } from "../components/badge.tsx";
import { Link, useQueryState } from "../router/router.tsx";

const everySeconds = 5;

/** `/quotas`: the limits of the token, and what is left of them. */
export function QuotasPage(): JSX.Element {
  const read = useRead<QuotaAnswer>("/v1/metrics/quota", { everySeconds });
  return (
    <Page title="Quotas" lead="Requests and cost units that your token has left. This page charges nothing.">
      <Reading read={read} what="the quotas" lines={10}>
        {({ data }) => {
          if (data.length > 0) return data.map((quota) => <ClassSection key={quota.class} quota={quota} />);
          return <Empty title="No quotas" why="Your token may read no metric, so no class is charged." />;
        }}
      </Reading>
    </Page>
  );
}

const columns: readonly Column<QuotaRow>[] = [
  {
    header: "Left",
    cell: (row) => (
      <Bar
        share={row.most === 0 ? null : row.left / row.most}
        label={`${row.name} left: ${formatNumber(row.left)} of ${formatNumber(row.most)}`}
        tone={quotaTone(row)}
      />
    ),
    isInCard: true,
  },
  { header: "Available", cell: ({ left }) => formatNumber(left), isNumber: true, isInCard: true },
  { header: "Limit", cell: ({ most }) => formatNumber(most), isNumber: true, isInCard: true },
  { header: "Refill", cell: ({ refill }) => refill, isInCard: true },
];

/** Each row has an address. */
function nameColumn(pathOf: (name: string) => string): Column<QuotaRow> {
  return { header: "Quota", cell: ({ name }) => <Link to={pathOf(name)}>{name}</Link> };
}

function ClassSection({ quota }: { readonly quota: Quota }): JSX.Element {
  const { get, to } = useQueryState();
  return (
    <Section title={`Class ${quota.class}`} lead={`Shared by all requests of the client ${quota.client}.`}>
      <DataTable
        caption={`Limits of class ${quota.class}`}
        isCards
        look="labelled quota-rows"
        columns={[nameColumn((name) => to({ class: quota.class, quota: name })), ...columns]}
        isCurrent={({ name }) => get("class") === quota.class && get("quota") === name}
        rows={quotaRows(quota)}
        rowKey={({ name }) => name}
      />
      <Facts
        facts={[
          ["Series per page", `at most ${formatNumber(quota.max_series)}`],
          ["Longest window", formatSeconds(quota.max_window_seconds)],
          ["Smallest step", formatSeconds(quota.min_step_seconds)],
          ["Figures", figuresOf(quota)],
        ]}
      />
    </Section>
  );
}

function figuresOf({ known_by: source }: Quota): string | undefined {
  if (source === undefined) return undefined;
  return source === "home_pod" ? "all pods" : "this pod's share: the pod that keeps them did not respond";
}

/** One limit that goes down while requests run. */
interface QuotaRow {
  readonly name: string;
  readonly left: number;
  readonly most: number;
  /** How it is refilled. */
  readonly refill: string;
}

const requestsName = "Requests";
const costName = "Cost units";

/** Servers of earlier versions name no metrics. */
type ReadQuota = Omit<Quota, "metrics"> & Partial<Pick<Quota, "metrics">>;

/** The limits of a class, then those of metrics with separate limits. */
export function quotaRows(quota: ReadQuota): readonly QuotaRow[] {
  const { concurrent, metrics = [] } = quota;
  const running: QuotaRow = {
    name: "Concurrent requests",
    left: Math.max(0, concurrent.limit - concurrent.used),
    most: concurrent.limit,
    refill: `${formatNumber(concurrent.used)} running in the responding pod`,
  };
  const own = metrics.flatMap(({ metric, ...buckets }) =>
    bucketRows(buckets).map((row) => ({ ...row, name: `${row.name} of ${metric}` })),
  );
  return [...bucketRows(quota), running, ...own];
}

function bucketRows({ requests, cost }: Pick<Quota["metrics"][number], "requests" | "cost">): readonly QuotaRow[] {
  return [
    ...(requests === null
      ? []
      : [rowOf(requestsName, requests, `${formatNumber(requests.limit_per_second)} a second`)]),
    ...(cost === null ? [] : [rowOf(costName, cost, `${formatNumber(cost.limit_per_minute)} a minute`)]),
  ];
}

function rowOf(name: string, { remaining, burst }: { remaining: number; burst: number }, refill: string): QuotaRow {
  return { name, left: remaining, most: burst, refill };
}

/** How a limit is drawn. */
export function quotaTone({ left, most }: Pick<QuotaRow, "left" | "most">): Tone {
  if (left <= 0) return "bad";
  return left < most / 4 ? "warn" : "good";
}
