import type { DeliveryStats } from "../../api/delivery-stats.ts";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Chart } from "../charts/chart.tsx";
import type { ChartSeries } from "../charts/chart-data.ts";
import { Empty } from "../components/empty.tsx";
import { formatCount, formatMs, formatNumber, formatShare } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { Timestamp, useNow } from "../components/timestamp.tsx";
import { Link } from "../router/router.tsx";
import { deliveryDay } from "./delivery-day.ts";
import type { Home } from "./use-home.ts";

const nowStepMs = 60_000;
const chartPx = 140;
const figuresOfDay = 4;

interface DeliveriesProps {
  readonly home: Pick<Home, "today" | "before" | "details">;
}

/** Deliveries of the last 24 hours, with the day before beneath. */
export function DeliveriesSection({ home: { today, before, details } }: DeliveriesProps): JSX.Element | null {
  const nowMs = useNow(nowStepMs);
  // A pod of an earlier version has no statistics.
  if (today.data === undefined && today.problem?.status === 404) return null;
  return (
    <Section title="Deliveries, last 24 hours">
      {today.data === undefined && today.problem === undefined ? <DaySkeleton /> : null}
      {today.data === undefined && today.problem === undefined ? null : (
        <Reading read={today} what="the statistics of deliveries">
          {(stats) => <Day today={stats} before={before.data} nowMs={nowMs} details={details} />}
        </Reading>
      )}
    </Section>
  );
}

/** Empty cards of the size of the charts. */
function DaySkeleton(): JSX.Element {
  return (
    <>
      <p class="hidden">Reading the statistics of deliveries</p>
      <div class="day-charts">
        {Array.from({ length: figuresOfDay }, (_, index) => (
          <div key={index} class="card" />
        ))}
      </div>
    </>
  );
}

interface DayProps extends Pick<Home, "details"> {
  readonly today: DeliveryStats;
  readonly before: DeliveryStats | undefined;
  readonly nowMs: number;
}

function Day({ today: stats, before: earlier, nowMs, details }: DayProps): JSX.Element {
  const day = useMemo(() => deliveryDay(stats, earlier, nowMs), [stats, earlier, nowMs]);
  const { today, before } = day;
  if (today.attempts + (before?.attempts ?? 0) === 0) {
    return (
      <Empty
        title="No deliveries in the last 48 hours"
        why="No event was sent to a partner that your token may see. Pings are not counted."
        next={<Link to="/events">Search events</Link>}
      />
    );
  }
  return (
    <>
      <MissingHours completeFrom={day.completeFrom} isComplete={stats.meta.complete} />
      <ul class="plain day-charts">
        <Figure
          title="Success rate"
          value={today.successRate}
          previous={before?.successRate}
          series={day.successRate}
          format={formatShare}
          isFitted
        />
        <Figure
          title="Failed attempts"
          value={today.failed}
          previous={before?.failed}
          series={day.failed}
          format={formatNumber}
        />
        <Figure
          title="Duration (p95)"
          value={today.p95Ms}
          previous={before?.p95Ms}
          series={day.p95}
          format={formatMs}
        />
        <Figure
          title="Attempts"
          value={today.attempts}
          previous={before?.attempts}
          series={day.throughput}
          format={formatNumber}
          formatPoint={perMinute}
        />
      </ul>
      <Backlog details={details} />
    </>
  );
}

interface MissingHoursProps {
  readonly completeFrom: string | undefined;
  readonly isComplete: boolean;
}

/** Since when there are figures. A missing previous day alone shows as a dash and a gap. */
function MissingHours({ completeFrom, isComplete }: MissingHoursProps): JSX.Element | null {
  if (isComplete) return null;
  return (
    <p class="notice warn">
      {completeFrom === undefined ? (
        "Figures of earlier deliveries may be missing."
      ) : (
        <>
          Figures start at <Timestamp at={completeFrom} />. Earlier deliveries are not counted.
        </>
      )}
    </p>
  );
}

function perMinute(value: number): string {
  return `${formatNumber(value)}/min`;
}

interface FigureProps {
  readonly title: string;
  /** Of the last 24 hours. */
  readonly value: number | null;
  /** Of the 24 hours before. */
  readonly previous: number | null | undefined;
  readonly series: readonly ChartSeries[];
  readonly format: (value: number | null | undefined) => string;
  /** @default format */
  readonly formatPoint?: (value: number) => string;
  readonly isFitted?: boolean;
}

function Figure(props: FigureProps): JSX.Element {
  const { title, value, previous, series, format, formatPoint = format, isFitted = false } = props;
  return (
    <li class="card">
      <h3>{title}</h3>
      <p>
        <span class="figure">{format(value)}</span> <span class="quiet">previous day {format(previous)}</span>
      </p>
      <Chart title={title} series={series} format={formatPoint} heightPx={chartPx} isFitted={isFitted} />
    </li>
  );
}

function Backlog({ details }: Pick<Home, "details">): JSX.Element {
  const known = details.map(({ live }) => live).filter(({ backlog }) => backlog !== null);
  if (known.length === 0) return <p class="quiet">Backlog unknown</p>;
  const waiting = known.reduce((sum, { backlog }) => sum + (backlog ?? 0), 0);
  const oldest = known.flatMap(({ oldest_due_at: at }) => at ?? []).toSorted()[0];
  return (
    <p>
      Backlog: <strong>{formatCount(waiting, "waiting delivery", "waiting deliveries")}</strong> to{" "}
      {formatCount(known.length, "active partner")}
      {oldest === undefined ? null : (
        <>
          , the oldest due <Timestamp at={oldest} shows="age" />
        </>
      )}
    </p>
  );
}
