import type { CatalogEntry } from "../../api/catalog.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { pathTo } from "../router/place.ts";
import { Link } from "../router/router.tsx";
import { metricPath } from "./catalog-table.tsx";

/** What a metric is, before it is asked for. */
export function MetricHead({ entry }: { readonly entry: CatalogEntry }): JSX.Element {
  const { metric_id: id, description, unit, category, min_step: minStep, slo } = entry;
  return (
    <div class="metric-head">
      <h2>
        <code>{id}</code>
      </h2>
      <p>{description}</p>
      <p class="quiet">
        Unit {unit} · {category} · steps from {minStep}
        {slo.length === 0 ? "" : " · objectives "}
        {slo.map(({ name }) => (
          <Link key={name} to={pathTo("slos", name)}>
            {name}
          </Link>
        ))}
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
          Gone at <Timestamp at={sunset} />.{" "}
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
