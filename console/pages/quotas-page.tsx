import type { Quota, QuotaAnswer } from "../../api/quotas.ts";
import type { JSX } from "preact";
import { useRead } from "../api/use-read.ts";
import { Bar } from "../components/bar.tsx";
import { DataTable, Facts, type Column } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { formatNumber, formatSeconds } from "../components/format.ts";
import { Page, Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { quotaRows, quotaTone, type QuotaRow } from "../quotas/quota-buckets.ts";

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
  { header: "Quota", cell: ({ name }) => name },
  {
    header: "Left",
    cell: (row) => (
      <Bar
        share={row.most === 0 ? null : row.left / row.most}
        label={`${row.name} left: ${formatNumber(row.left)} of ${formatNumber(row.most)}`}
        tone={quotaTone(row)}
      />
    ),
  },
  { header: "Available", cell: ({ left }) => formatNumber(left), isNumber: true },
  { header: "Limit", cell: ({ most }) => formatNumber(most), isNumber: true },
  { header: "Refill", cell: ({ refill }) => refill },
];

function ClassSection({ quota }: { readonly quota: Quota }): JSX.Element {
  return (
    <Section title={`Class ${quota.class}`} lead={`Shared by all requests of the client ${quota.client}.`}>
      <DataTable
        caption={`Limits of class ${quota.class}`}
        columns={columns}
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
