import type { CatalogCheck, CatalogChecksAnswer } from "../../api/catalog.ts";
import type { JSX } from "preact";
import type { Problem } from "../api/problem.ts";
import { useRead } from "../api/use-read.ts";
import { Badge, type Tone } from "../components/badge.tsx";
import { DataTable, type Column } from "../components/data-table.tsx";
import { formatCount } from "../components/format.ts";
import { Timestamp } from "../components/timestamp.tsx";
import { Link, useQueryState } from "../router/router.tsx";

type Status = CatalogCheck["status"];
type StoreCheck = NonNullable<CatalogCheck["stores"]>[number];

/** How metrics compare with their stores. A server of an earlier version has no such route. */
export interface CatalogChecks {
  readonly isReading: boolean;
  readonly byMetric: ReadonlyMap<string, CatalogCheck> | undefined;
  readonly problem: Problem | undefined;
}

const everySeconds = 60;

/** Reads how the metrics of the token compare with their stores, now and each minute. */
export function useCatalogChecks(): CatalogChecks {
  const { data, problem, isReading } = useRead<CatalogChecksAnswer>("/v1/metrics/catalog/checks", { everySeconds });
  return {
    isReading,
    byMetric: data && new Map(data.data.map((one) => [one.metric_id, one])),
    problem: problem?.status === 404 ? undefined : problem,
  };
}

const words: Readonly<Record<Status, { readonly label: string; readonly tone: Tone }>> = {
  True: { label: "matches", tone: "good" },
  False: { label: "differs", tone: "bad" },
  Unknown: { label: "unknown", tone: "warn" },
  NotChecked: { label: "not checked", tone: "quiet" },
};

/** The statuses as choices of a filter. */
export const statusChoices = Object.entries(words).map(([value, { label }]) => ({ value, label }));

/** A status in a word. */
export function CheckBadge({ status }: { readonly status: Status }): JSX.Element {
  return <Badge state={status} {...words[status]} />;
}

/** How the metrics of one catalog compare with their stores. */
export interface CatalogSummaryRow {
  /** `NAMESPACE/NAME`; empty from a server of an earlier version. */
  readonly catalog: string;
  readonly status: Status;
  readonly text: string;
  /** Time of the oldest response, ISO 8601; undefined if no store was read. */
  readonly checkedAt: string | undefined;
}

/** The message of a metric from the start until its first check. */
const firstCheckDue = "not compared yet";

/** Until its first check a metric is not checked, rather than unknown. */
export function statusOf({ status, message }: Pick<CatalogCheck, "status" | "message">): Status {
  return status === "Unknown" && message === firstCheckDue ? "NotChecked" : status;
}

/** One row for each catalog, by name. */
export function catalogSummary(checks: Iterable<CatalogCheck>): readonly CatalogSummaryRow[] {
  return [...Map.groupBy(checks, ({ catalog = "" }) => catalog)]
    .map(([catalog, own]) => {
      const count = (status: Status): number => own.filter((one) => statusOf(one) === status).length;
      const [failed, unknown, unchecked] = [count("False"), count("Unknown"), count("NotChecked")];
      const isFirstDue = own.some(({ message }) => message === firstCheckDue);
      const parts = [
        failed === 0 ? "" : `${failed} of ${formatCount(own.length, "metric")} ${failed === 1 ? "differs" : "differ"}`,
        unknown === 0 ? "" : `${unknown} of ${formatCount(own.length, "metric")} unknown`,
        unchecked === 0 ? "" : `${unchecked} not checked${isFirstDue ? " yet" : ""}`,
      ].filter((part) => part !== "");
      const others = (["False", "Unknown"] as const).find((one) => count(one) > 0);
      const status: Status = others ?? (unchecked === own.length ? "NotChecked" : "True");
      const text = parts.length === 0 ? `${formatCount(own.length, "metric")} as in the stores` : parts.join(", ");
      return { catalog, status, text, checkedAt: oldest(own.flatMap(({ stores = [] }) => stores)) };
    })
    .toSorted((one, other) => (one.catalog < other.catalog ? -1 : 1));
}

function oldest(stores: readonly StoreCheck[]): string | undefined {
  return stores.flatMap(({ checked_at: at }) => at ?? []).toSorted()[0];
}

/** A line for each catalog, which leads to its metrics that differ. */
export function CatalogSummary({ byMetric, problem, isReading }: CatalogChecks): JSX.Element | null {
  const { to } = useQueryState();
  if (byMetric === undefined && problem !== undefined)
    return <p class="hint">How the catalogs compare with their stores could not be read: {problem.title}.</p>;
  // The room of a line is there from the start, so that nothing moves.
  if (byMetric === undefined) return isReading ? <p class="quiet">Stores: …</p> : null;
  return (
    <ul class="catalog-summary" aria-label="Catalogs and their stores">
      {catalogSummary(byMetric.values()).map(({ catalog, status, text, checkedAt }) => (
        <li key={catalog}>
          <CheckBadge status={status} /> {catalog === "" ? null : <code>{catalog}</code>} {text}
          {checkedAt === undefined ? null : (
            <span class="quiet">
              {" "}
              · checked <Timestamp at={checkedAt} shows="age" />
            </span>
          )}
          {status === "False" ? (
            <>
              {" "}
              · <Link to={to({ stores: "False" })}>Show what differs</Link>
            </>
          ) : null}
        </li>
      ))}
    </ul>
  );
}

const checkWords: Readonly<Record<string, string>> = {
  forbidden: "forbidden label",
  series: "no series",
  kind: "another kind",
  labels: "missing label",
  interval: "another interval",
  bounds: "missing bucket",
  values: "personal data",
};

const columns: readonly Column<StoreCheck>[] = [
  { header: "Store", cell: ({ store }) => store },
  { header: "State", cell: ({ status }) => <CheckBadge status={status} />, isInCard: true },
  { header: "Reason", cell: ({ check }) => (check === undefined ? "–" : (checkWords[check] ?? check)) },
  { header: "Difference", cell: ({ message }) => message || "–", isInCard: true },
  { header: "Checked", cell: ({ checked_at: at }) => <Timestamp at={at ?? null} shows="age" />, isInCard: true },
];

/** How a metric compares with each of its stores: a table if something differs, else a line. */
export function MetricChecks({ metric }: { readonly metric: string }): JSX.Element | null {
  const { byMetric, isReading } = useCatalogChecks();
  const check = byMetric?.get(metric);
  if (check === undefined) return isReading ? <p class="quiet">Stores: …</p> : null;
  const { message, stores = [] } = check;
  const status = statusOf(check);
  const checkedAt = oldest(stores);
  if (status === "False" && stores.length > 0)
    return (
      <>
        <p>
          <strong>The metric differs from its stores</strong>
        </p>
        <DataTable
          caption="Stores of the metric"
          columns={columns}
          rows={stores}
          rowKey={({ store }) => store}
          isCards={true}
        />
      </>
    );
  return (
    <p class="quiet">
      Stores: <CheckBadge status={status} /> {message}
      {checkedAt === undefined ? null : (
        <>
          {" "}
          checked <Timestamp at={checkedAt} shows="age" />
        </>
      )}
    </p>
  );
}
