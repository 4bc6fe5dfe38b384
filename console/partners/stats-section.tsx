import type { PartnerStats } from "../../api/partners.ts";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useRead } from "../api/use-read.ts";
import { Chart } from "../charts/chart.tsx";
import { Empty } from "../components/empty.tsx";
import { formatMs, formatNumber } from "../components/format.ts";
import { useNow } from "../components/timestamp.tsx";
import { Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { changedQuery, pathTo } from "../router/place.ts";
import { Link, useQueryState } from "../router/router.tsx";
import { partnerPath } from "../webhooks/links.tsx";
import { attemptsIn, statsRangeOf, statsRanges, statsSeries, statsWindow } from "./stats.ts";

const nowStepMs = 30_000;

/** What became of deliveries over time: ends, responses and durations. */
export function StatsSection({ partner }: { readonly partner: string }): JSX.Element {
  const state = useQueryState();
  const range = statsRangeOf(state.get("range"));
  const { from, to } = statsWindow(range, useNow(nowStepMs));
  const query = changedQuery(new URLSearchParams(), { from, to, step: range.step });
  const [namespace = "", name = ""] = partner.split("/", 2);
  const read = useRead<PartnerStats>(`/webhooks${pathTo("partners", namespace, name)}/stats${query}`);
  return (
    <Section
      title="Deliveries"
      actions={
        <nav class="choices" aria-label="Range of the charts">
          {statsRanges.map((one) => (
            <Link key={one.name} to={partnerPath(partner) + `?range=${one.name}`} isCurrent={one === range}>
              {one.label}
            </Link>
          ))}
        </nav>
      }
    >
      <Reading read={read} what="the figures of deliveries" lines={12}>
        {(stats) => <Charts stats={stats} />}
      </Reading>
    </Section>
  );
}

function Charts({ stats: { data, meta } }: { readonly stats: PartnerStats }): JSX.Element {
  const series = useMemo(() => statsSeries(data), [data]);
  if (attemptsIn(data) === 0) {
    return (
      <Empty
        title="No attempts in this range"
        why="No event was sent to this partner in it. Pings are not counted."
        next="Choose a longer range."
      />
    );
  }
  return (
    <>
      {meta.complete ? null : (
        <p class="notice warn">The figures do not reach back to the start of this range. Older steps are missing.</p>
      )}
      <div class="charts">
        <Chart title="Attempts by outcome" series={series.ends} format={formatNumber} />
        <Chart title="Responses by class" series={series.answers} format={formatNumber} />
        <Chart title="Duration of attempts" series={series.durations} format={formatMs} />
      </div>
    </>
  );
}
