import type { HealthAnswer } from "../../api/catalog.ts";
import type { JSX } from "preact";
import { useSession } from "../api/session-context.ts";
import type { ReadState } from "../api/use-read.ts";
import { Badge } from "../components/badge.tsx";
import { DataTable } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { formatMs, formatNumber, formatSeconds, formatShare } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";

/** `GET /v1/metrics/health`: requests, caches and stores of the pod that responds. */
export function MetricsSection({ health }: { readonly health: ReadState<HealthAnswer> }): JSX.Element {
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
      empty={
        <Empty
          title="No stores"
          why="No metric catalog is applied."
          next="Apply a MetricCatalog, or check its conditions with kubectl."
        />
      }
    />
  );
}
