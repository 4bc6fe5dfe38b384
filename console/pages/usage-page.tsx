import type { UsageAnswer, UsageItem } from "../../api/usage.ts";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useRead } from "../api/use-read.ts";
import { useSession } from "../api/session-context.ts";
import { CsvButton } from "../components/csv-button.tsx";
import { DataTable, Facts, type Column } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { FilterForm } from "../components/filter-form.tsx";
import { formatBytes, formatNumber, formatShare } from "../components/format.ts";
import { Page } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { type TimeRange, timeRangeOf, TimeRangePicker } from "../components/time-range.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { withoutClient } from "../explorer/metric-usage.ts";
import { Link, useQueryState } from "../router/router.tsx";

type Group = UsageAnswer["meta"]["group_by"][number];

const groupLabels: Readonly<Record<Group, string>> = {
  client: "Client",
  tenant: "Tenant",
  metric: "Metric",
  class: "Class",
};
const groupNames = Object.keys(groupLabels) as readonly Group[];
const standardGroup = "client";
const hourMs = 3_600_000;

/** `/usage`: what clients used of the metrics API. */
export function UsagePage(): JSX.Element {
  const { query } = useQueryState();
  const groups = groupsOf(query);
  const path = usePath(query, groups);
  const read = useRead<UsageAnswer>(path);
  // Rows that are not grouped by client do not tell whose they are.
  const hidden = groups.includes("client") ? (query.get("without") ?? "") : "";
  return (
    <Page
      title="Usage"
      lead="Counted by the hour; a range up to now includes the current hour."
      actions={<CsvButton path={path} name="usage.csv" />}
    >
      <TimeRangePicker />
      <GroupPicker groups={groups} />
      {groups.includes("client") ? <OwnClient /> : null}
      <FilterForm
        fields={groupNames.map((name) => ({
          name,
          label: groupLabels[name],
          ...(name === "class" ? { placeholder: "A, B or C" } : { placeholder: "any" }),
        }))}
      />
      <Reading read={read} what="the usage" lines={10}>
        {(response) => <UsageView response={withoutClient(response, hidden)} groups={groups} />}
      </Reading>
    </Page>
  );
}

/** The groups of an address, in the order of the columns. */
function groupsOf(query: URLSearchParams): readonly Group[] {
  const named = (query.get("group_by") ?? standardGroup).split(",");
  const known = groupNames.filter((name) => named.includes(name));
  return known.length === 0 ? [standardGroup] : known;
}

/** The path of the API. It changes with the address only, so that a page that stays open does not read again. */
function usePath(query: URLSearchParams, groups: readonly Group[]): string {
  return useMemo(() => {
    const { from, to } = usageRange(query, Date.now());
    const filters = groupNames.flatMap((name) => {
      const value = query.get(name) ?? "";
      return value === "" ? [] : [[name, value] as [string, string]];
    });
    const params = new URLSearchParams([["from", from], ["to", to], ["group_by", groups.join(",")], ...filters]);
    return `/v1/metrics/usage?${params.toString()}`;
  }, [query, groups.join(",")]);
}

/**
 * The range of an address. One up to now has as many whole hours as it names, the current one included: the server
 * rounds both ends outwards, so 24 hours up to 10:30 would be 25.
 */
export function usageRange(query: URLSearchParams, nowMs: number): Pick<TimeRange, "from" | "to"> {
  const { preset, from, to } = timeRangeOf(query, nowMs);
  if (preset === undefined) return { from, to };
  const hours = Math.max(1, Math.round((nowMs - Date.parse(from)) / hourMs));
  return { from: new Date((Math.ceil(nowMs / hourMs) - hours) * hourMs).toISOString(), to };
}

/** Adds and removes groups; the last one stays. */
function GroupPicker({ groups }: { readonly groups: readonly Group[] }): JSX.Element {
  const state = useQueryState();
  const toggled = (name: Group): string => {
    const rest = groups.includes(name) ? groups.filter((one) => one !== name) : [...groups, name];
    return (rest.length === 0 ? groups : rest).join(",");
  };
  return (
    <div class="time-range" role="group" aria-label="Group by">
      <span class="quiet">Group by</span>
      {groupNames.map((name) => (
        <Link key={name} to={state.to({ group_by: toggled(name) })} class="choice" isCurrent={groups.includes(name)}>
          {groupLabels[name]}
        </Link>
      ))}
    </div>
  );
}

/** Leaves out the client of this session, whose queries may be those of the console. */
function OwnClient(): JSX.Element | null {
  const { me } = useSession();
  const state = useQueryState();
  if (me === undefined) return null;
  const isHidden = state.get("without") === me.client;
  return (
    <div class="time-range" role="group" aria-label="Your client">
      <span class="quiet">Your client, with the queries of the console</span>
      <Link to={state.to({ without: isHidden ? "" : me.client })} class="choice" isCurrent={isHidden}>
        Without {me.client}
      </Link>
    </div>
  );
}

interface ViewProps {
  readonly response: UsageAnswer;
  readonly groups: readonly Group[];
}

function UsageView({ response: { data, meta }, groups }: ViewProps): JSX.Element {
  const { total } = meta;
  const columns = useColumns(groups, total.cost);
  if (data.length === 0) return <NoUsage />;
  return (
    <>
      <Notices meta={meta} />
      <Facts
        facts={[
          ["Time range", <Range from={meta.from} to={meta.to} />],
          ["Requests", formatNumber(total.requests)],
          ["Points", formatNumber(total.points)],
          ["From caches", formatShare(total.cache_share)],
          ["Transfer", formatBytes(total.bytes)],
          ["Cost units", formatNumber(total.cost)],
        ]}
      />
      <DataTable caption="Usage" isCards look="labelled" columns={columns} rows={data} rowKey={keyOf} />
    </>
  );
}

const namesShownMax = 20;
/** Filters by a name, the one that readers type in part most often first. */
const namedFilters: readonly Group[] = ["metric", "client", "tenant"];

/** No usage, and the names that contain what the filter has: the API compares whole names. */
function NoUsage(): JSX.Element {
  const state = useQueryState();
  const filter = namedFilters.find((name) => state.get(name) !== "");
  const others = useMemo(
    () => new URLSearchParams([...state.query].filter(([name]) => name !== filter)),
    [state.query],
  );
  const all = usePath(others, [filter ?? standardGroup]);
  const { data } = useRead<UsageAnswer>(filter === undefined ? undefined : all);
  const part = filter === undefined ? "" : state.get(filter);
  const names = filter === undefined ? [] : (data?.data ?? []).map((item) => item[filter] ?? "");
  const found = names.filter((name) => name !== "other" && name.includes(part)).slice(0, namesShownMax);
  const why = "No query was admitted in this time range with these filters.";
  if (filter === undefined || found.length === 0)
    return <Empty title="No usage" why={why} next={<Link to="/explorer">Query metrics in Explorer</Link>} />;
  return (
    <Empty
      title="No usage"
      why={`${why} The filter takes a whole name; these contain ${part}:`}
      next={
        <span class="choices">
          {found.map((name) => (
            <Link key={name} to={state.to({ [filter]: name })}>
              {name}
            </Link>
          ))}
        </span>
      }
    />
  );
}

function Range({ from, to }: { readonly from: string; readonly to: string }): JSX.Element {
  return (
    <>
      <Timestamp at={from} /> to <Timestamp at={to} /> ({formatNumber((Date.parse(to) - Date.parse(from)) / hourMs)} h)
    </>
  );
}

function Notices({ meta }: Pick<UsageAnswer, "meta">): JSX.Element {
  const { clients, complete, complete_since: since, lost_requests: lost } = meta;
  return (
    <>
      {clients === "all" ? null : (
        <p class="notice">Usage of your client. The scope metrics:usage shows all clients.</p>
      )}
      {complete ? null : (
        <p class="notice warn">
          Usage may be missing. All pods count since <Timestamp at={since} />
          {lost === null || lost === 0 ? "." : `, and ${formatNumber(lost)} requests were lost in an outage of NATS.`}
        </p>
      )}
    </>
  );
}

function useColumns(groups: readonly Group[], cost: number): readonly Column<UsageItem>[] {
  const state = useQueryState();
  const nameOf = (group: Group, item: UsageItem): JSX.Element | string => {
    const name = item[group] ?? "";
    if (name === "other") return name;
    const to = group === "metric" ? `/explorer?metric=${encodeURIComponent(name)}` : state.to({ [group]: name });
    return <Link to={to}>{name}</Link>;
  };
  return [
    ...groups.map((group) => ({
      header: groupLabels[group],
      cell: (item: UsageItem) => nameOf(group, item),
      isInCard: true,
    })),
    { header: "Requests", cell: (item) => formatNumber(item.requests), isNumber: true, isInCard: true },
    { header: "Points", cell: (item) => formatNumber(item.points), isNumber: true },
    { header: "From caches", cell: (item) => formatShare(item.cache_share), isNumber: true },
    { header: "Transfer", cell: (item) => formatBytes(item.bytes), isNumber: true },
    { header: "Expected cost", cell: (item) => formatNumber(item.cost_estimate), isNumber: true },
    { header: "Cost units", cell: (item) => formatNumber(item.cost), isNumber: true, isInCard: true },
    {
      header: "Share of cost",
      cell: (item) => formatShare(cost === 0 ? null : item.cost / cost),
      isNumber: true,
      isInCard: true,
    },
  ];
}

function keyOf({ from, client, tenant, metric, class: queryClass }: UsageItem): string {
  return JSON.stringify([from, client, tenant, metric, queryClass]);
}
