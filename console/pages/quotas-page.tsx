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

/** `/quotas`: what the token may ask, and what of it is left. */
export function QuotasPage(): JSX.Element {
  const read = useRead<QuotaAnswer>("/v1/metrics/quota", { everySeconds });
  return (
    <Page title="Quotas" lead="What is left for queries of metrics by your token. Reading this page charges nothing.">
      <Reading read={read} what="the quotas" lines={10}>
        {({ data }) => {
          if (data.length > 0) return data.map((quota) => <ClassSection key={quota.class} quota={quota} />);
          return <Empty title="No quotas" why="Your token may read no metric, so that no class is charged." />;
        }}
      </Reading>
    </Page>
  );
}

const columns: readonly Column<QuotaRow>[] = [
  { header: "Limit", cell: ({ name }) => name },
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
  { header: "Now", cell: ({ left }) => formatNumber(left), isNumber: true },
  { header: "At most", cell: ({ most }) => formatNumber(most), isNumber: true },
  { header: "Comes back", cell: ({ refill }) => refill },
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
          ["Series of an answer", `at most ${formatNumber(quota.max_series)}`],
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
  return source === "home_pod" ? "of the whole installation" : "of this pod's share: the pod that keeps them is silent";
}
