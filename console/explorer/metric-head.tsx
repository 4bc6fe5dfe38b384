import type { CatalogEntry } from "../../api/catalog.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { changedQuery, pathTo } from "../router/place.ts";
import { Link, useQueryState } from "../router/router.tsx";
import { metricPath } from "./catalog-table.tsx";

/** What a metric is, in a line. */
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
        </span>
      </p>
      <Deprecation entry={entry} />
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
          Use <Link to={metricPath(replacement)}>{replacement}</Link> instead.
        </>
      )}
    </p>
  );
}
