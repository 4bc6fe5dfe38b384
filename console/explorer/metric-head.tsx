import type { CatalogEntry } from "../../api/catalog.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { formatCount } from "../components/format.ts";
import { Timestamp } from "../components/timestamp.tsx";
import { changedQuery, pathTo } from "../router/place.ts";
import { Link, useQueryState } from "../router/router.tsx";
import { MetricChecks } from "./catalog-checks.tsx";
import { metricPath } from "./catalog-table.tsx";
import { readerDays, useMetricReaders } from "./metric-usage.ts";

/** What a metric is, who owns it, and who still reads it if it is deprecated. */
export function MetricHead({ entry }: { readonly entry: CatalogEntry }): JSX.Element {
  const { get } = useQueryState();
  const tenant = get("filter[tenant]");
  const { description, unit, category, min_step: minStep, slo } = entry;
  return (
    <div class="metric-head">
      <p>
        {description}
        <span class="quiet">
          {" "}
          · unit {unit} · {category} · smallest step {minStep}
          {slo.length === 0 ? "" : slo.length === 1 ? " · objective " : " · objectives "}
          {slo.map(({ name }) => (
            <Link key={name} to={pathTo("slos", name) + changedQuery(new URLSearchParams(), { tenant })}>
              {name}
            </Link>
          ))}
          <Ownership entry={entry} />
        </span>
      </p>
      <Deprecation entry={entry} />
      <MetricChecks metric={entry.metric_id} />
    </div>
  );
}

function Deprecation({ entry }: { readonly entry: CatalogEntry }): JSX.Element | null {
  const { state, replaced_by: replacement, sunset_at: sunset } = entry;
  if (state === "Active") return null;
  return (
    <p>
      <Badge state={state} tone="warn" label="deprecated" />{" "}
      {sunset === undefined ? null : (
        <>
          Removed on <Timestamp at={sunset} />.{" "}
        </>
      )}
      {replacement === undefined ? null : (
        <>
          Use <Link to={metricPath(replacement)}>{replacement}</Link> instead.{" "}
        </>
      )}
      <Readers metric={entry.metric_id} />
    </p>
  );
}

/** The rest of the line about a metric: who owns it. */
function Ownership({ entry }: { readonly entry: CatalogEntry }): JSX.Element {
  const { owner, contact, domain, runbook_url: runbook } = entry;
  const named = { domain, owner, contact };
  return (
    <>
      {Object.entries(named).map(([name, value]) => (value === undefined ? "" : ` · ${name} ${value}`))}
      {runbook === undefined ? null : (
        <>
          {" · "}
          <a href={runbook} target="_blank" rel="noreferrer">
            Runbook
          </a>
        </>
      )}
    </>
  );
}

/** Clients in a line; the page of usage lists all of them. */
const readersMax = 5;

/** The clients that still query a deprecated metric. */
function Readers({ metric }: { readonly metric: string }): JSX.Element | null {
  const readers = useMetricReaders(metric);
  if (readers === undefined) return null;
  const { clients, isOwn, isComplete } = readers;
  const named = clients
    .slice(0, readersMax)
    .map(({ client, requests }) => `${client} (${formatCount(requests, "request")})`);
  const more = clients.length > readersMax ? ` and ${clients.length - readersMax} more` : "";
  const none = isOwn ? "Your client did not query it" : "No client queried it";
  const who = clients.length === 0 ? none : `Queried by ${named.join(", ")}${more}`;
  return (
    <span>
      {who} in the last {readerDays} days{isComplete ? "" : ", of which some usage may be missing"}.
    </span>
  );
}
