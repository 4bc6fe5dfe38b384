import type { DeliveryStats } from "../../api/delivery-stats.ts";
import type { PartnerDetail } from "../../api/partners.ts";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Read } from "../api/use-read.ts";
import { Chart } from "../charts/chart.tsx";
import type { ChartSeries } from "../charts/chart-data.ts";
import { Empty } from "../components/empty.tsx";
import { formatCount, formatMs, formatNumber, formatShare } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { Timestamp, useNow } from "../components/timestamp.tsx";
import { Link } from "../router/router.tsx";
import { deliveryDay } from "./delivery-day.ts";

const nowStepMs = 60_000;
const chartPx = 140;
const figuresOfDay = 4;

interface DeliveriesProps {
  readonly read: Read<DeliveryStats>;
  /** Details of active partners, as far as they are known. */
  readonly details: readonly PartnerDetail[];
}

/** Deliveries of the last 24 hours, with the day before beneath. */
export function DeliveriesSection({ read, details }: DeliveriesProps): JSX.Element | null {
  const nowMs = useNow(nowStepMs);
  // A pod of an earlier version has no statistics.
  if (read.data === undefined && read.problem?.status === 404) return null;
  return (
    <Section title="Deliveries, last 24 hours">
      {read.data === undefined && read.problem === undefined ? <DaySkeleton /> : null}
      {read.data === undefined && read.problem === undefined ? null : (
        <Reading read={read} what="the statistics of deliveries">
          {(stats) => <Day stats={stats} nowMs={nowMs} details={details} />}
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

interface DayProps extends Pick<DeliveriesProps, "details"> {
  readonly stats: DeliveryStats;
  readonly nowMs: number;
}

function Day({ stats: { data, meta }, nowMs, details }: DayProps): JSX.Element {
  const day = useMemo(() => deliveryDay(data, nowMs), [data, nowMs]);
  const { today, before } = day;
  if (today.attempts + before.attempts === 0) {
    return (
      <Empty
        title="No deliveries in the last 48 hours"
        why="No event was sent to a partner that your token may see. Pings are not counted."
        next={<Link to="/events">Look for events</Link>}
      />
    );
  }
  return (
    <>
      {meta.complete ? null : (
        <p class="notice warn">Earlier deliveries may be missing: the statistics do not reach back 48 hours.</p>
      )}
      <ul class="plain day-charts">
        <Figure
          title="Success rate"
          value={formatShare(today.successRate)}
          previous={formatShare(before.successRate)}
          series={day.successRate}
          format={formatShare}
          isFitted
        />
        <Figure
          title="Failed attempts"
          value={formatNumber(today.failed)}
          previous={formatNumber(before.failed)}
          series={day.failed}
          format={formatNumber}
        />
        <Figure title="Duration (p95)" value={formatMs(day.latestP95Ms)} series={day.p95} format={formatMs} />
        <Figure
          title="Throughput (attempts)"
          value={formatNumber(today.attempts)}
          previous={formatNumber(before.attempts)}
          series={day.throughput}
          format={perMinute}
        />
      </ul>
      <Backlog details={details} />
    </>
  );
}

function perMinute(value: number): string {
  return `${formatNumber(value)}/min`;
}

interface FigureProps {
  readonly title: string;
  /** Of the last 24 hours, or the latest. */
  readonly value: string;
  /** Of the 24 hours before. @default the value is the latest one */
  readonly previous?: string;
  readonly series: readonly ChartSeries[];
  readonly format: (value: number) => string;
  readonly isFitted?: boolean;
}

function Figure({ title, value, previous, series, format, isFitted = false }: FigureProps): JSX.Element {
  return (
    <li class="card">
      <h3>{title}</h3>
      <p>
        <span class="figure">{value}</span>{" "}
        <span class="quiet">{previous === undefined ? "latest" : `previous day ${previous}`}</span>
      </p>
      <Chart title={title} series={series} format={format} heightPx={chartPx} isFitted={isFitted} />
    </li>
  );
}

function Backlog({ details }: Pick<DeliveriesProps, "details">): JSX.Element {
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
