// The first page: whether anything is wrong, for whom and since when. Each need is solved on another page.
import type { Slo } from "../../api/objectives.ts";
import type { HealthAnswer } from "../../api/catalog.ts";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { mayUse, useSession } from "../api/session-context.ts";
import { Page, Section } from "../components/page.tsx";
import { Reading, Skeleton } from "../components/reading.tsx";
import { DeliveriesSection } from "./deliveries-section.tsx";
import { NeedsSection, PartnersSection } from "./needs-section.tsx";
import { type Home, metricScopes, useHome } from "./use-home.ts";
import { formatCount, formatMs, formatNumber, formatSeconds, formatShare } from "../components/format.ts";
import { Link } from "../router/router.tsx";
import type { ReadState } from "../api/use-read.ts";
import { Badge } from "../components/badge.tsx";
import { DataTable } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";

/** Panels that are late do not hold up the others for longer. */
const settleMsMax = 4_000;

/** What needs attention, the deliveries of a day, and the health of the metrics API. */
export function HomePage(): JSX.Element {
  const home = useHome();
  const isSettled = useSettled(home.isKnown);
  const refresh = (
    <button type="button" class="small" onClick={home.refresh}>
      Refresh
    </button>
  );
  return (
    <Page title="Home" actions={refresh}>
      {isSettled ? <Panels home={home} /> : <Skeleton what="the state of the installation" lines={12} />}
    </Page>
  );
}

function Panels({ home }: { readonly home: Home }): JSX.Element {
  const { me } = useSession();
  return (
    <>
      <NeedsSection home={home} />
      {mayUse(me, ["webhooks:read"]) ? <DeliveriesSection home={home} /> : null}
      <PartnersSection home={home} />
      {mayUse(me, metricScopes) ? (
        <>
          <ObjectivesSection home={home} />
          <MetricsSection health={home.health} />
        </>
      ) : null}
    </>
  );
}

/** True once everything is known or late: panels are shown together, because each would push those below it. */
function useSettled(isKnown: boolean): boolean {
  const [isSettled, setSettled] = useState(isKnown);
  useEffect(() => {
    if (isSettled) return undefined;
    if (isKnown) {
      setSettled(true);
      return undefined;
    }
    const late = setTimeout(() => setSettled(true), settleMsMax);
    return () => clearTimeout(late);
  }, [isKnown, isSettled]);
  return isSettled || isKnown;
}

/** Objectives of the token's tenants. */
function ObjectivesSection({ home: { objectives } }: { readonly home: Home }): JSX.Element {
  const { read, tenants, choices } = objectives;
  const hidden = (choices?.length ?? 0) - (tenants?.length ?? 0);
  return (
    <Section title="Objectives" actions={<Link to="/slos">All objectives</Link>}>
      {tenants === undefined ? (
        <p class="lead">Objectives are counted by tenant. Open SLOs and enter one.</p>
      ) : (
        <Reading read={read} what="the objectives" lines={1}>
          {(found) => (
            <p>
              {summaryOf(found)}
              {hidden <= 0 ? "" : ` Those of ${formatCount(hidden, "more tenant")} are not counted here.`}
            </p>
          )}
        </Reading>
      )}
    </Section>
  );
}

function summaryOf(objectives: readonly Slo[]): string {
  if (objectives.length === 0) return "No objectives on the metrics that your token may read.";
  const burning = objectives.filter(({ status }) => status === "critical" || status === "increasing").length;
  const all = formatCount(objectives.length, "objective");
  return burning === 0
    ? `${all}. No error budget burns too fast.`
    : `${formatNumber(burning)} of ${all} ${burning === 1 ? "burns its" : "burn their"} error budget too fast.`;
}

/** `GET /v1/metrics/health`: requests, caches and stores of the pod that responds. */
function MetricsSection({ health }: { readonly health: ReadState<HealthAnswer> }): JSX.Element {
  return (
    <Section title="Metrics API">
      <Reading read={health} what="the health of the metrics API" lines={9}>
        {(data) => <Health health={data} />}
      </Reading>
    </Section>
  );
}

interface HealthProps {
  readonly health: HealthAnswer;
}

function Health({ health }: HealthProps): JSX.Element {
  const { me } = useSession();
  const figures = [
    ["State", <Badge key="state" state={health.status} />],
    [`Requests in ${formatSeconds(health.window_seconds)}`, formatNumber(health.requests)],
    ["Latency p95", formatMs(health.latency_p95_ms)],
    ["Errors", formatShare(health.error_rate)],
    ["Cache hits", formatShare(health.cache_hit_ratio)],
    ["Partial responses", formatShare(health.partial_response_rate)],
  ] as const;
  return (
    <>
      <ul class="plain cards home-cards">
        {figures.map(([name, figure]) => (
          <li class="card" key={name}>
            <h3>{name}</h3>
            <div class="figure">{figure}</div>
          </li>
        ))}
      </ul>
      {me?.is_console_admin === true ? <Stores health={health} /> : null}
    </>
  );
}

/** The stores behind the metrics, for administrators. */
function Stores({ health }: HealthProps): JSX.Element {
  return (
    <DataTable
      caption="Stores"
      showsCaption
      rows={health.stores}
      rowKey={({ region, name }) => `${region} ${name}`}
      columns={[
        { header: "Store", cell: ({ name }) => name },
        { header: "Region", cell: ({ region }) => region },
        { header: "State", cell: ({ state }) => <Badge state={state} /> },
      ]}
      empty={<Empty title="No stores" why="No metric catalog is applied." next="Apply a MetricCatalog." />}
    />
  );
}
