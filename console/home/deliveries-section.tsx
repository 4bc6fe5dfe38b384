import type { DeliveryStats } from "../../api/delivery-stats.ts";
import type { PartnerSummary } from "../../api/partners.ts";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Chart } from "../charts/chart.tsx";
import type { ChartSeries } from "../charts/chart-data.ts";
import { Empty } from "../components/empty.tsx";
import { formatCount, formatMs, formatNumber, formatShare } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { healthKind } from "../partners/health-kind.ts";
import { Reading } from "../components/reading.tsx";
import { Timestamp, useNow } from "../components/timestamp.tsx";
import { Link } from "../router/router.tsx";
import { deliveryDay } from "./delivery-day.ts";
import type { Home } from "./use-home.ts";

const nowStepMs = 60_000;
const chartPx = 140;
const figuresOfDay = 4;

interface DeliveriesProps {
  readonly home: Pick<Home, "today" | "before" | "details" | "partners">;
}

/** Deliveries of the last 24 hours, with the day before beneath. */
export function DeliveriesSection({ home: { today, before, details, partners } }: DeliveriesProps): JSX.Element | null {
  const nowMs = useNow(nowStepMs);
  // A pod of an earlier version has no statistics.
  if (today.data === undefined && today.problem?.status === 404) return null;
  return (
    <Section title="Deliveries, last 24 hours">
      {today.data === undefined && today.problem === undefined ? <DaySkeleton /> : null}
      {today.data === undefined && today.problem === undefined ? null : (
        <Reading read={today} what="the statistics of deliveries">
          {(stats) => <Day today={stats} before={before.data} nowMs={nowMs} details={details} partners={partners} />}
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

interface DayProps extends Pick<Home, "details" | "partners"> {
  readonly today: DeliveryStats;
  readonly before: DeliveryStats | undefined;
  readonly nowMs: number;
}

function Day({ today: stats, before: earlier, nowMs, details, partners }: DayProps): JSX.Element {
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
      <Backlog details={details} partners={partners} />
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

function Backlog({ details, partners }: Pick<Home, "details" | "partners">): JSX.Element {
  const text = backlogText(partners.data?.all ?? []);
  const oldest = details.flatMap(({ live }) => live.oldest_due_at ?? []).toSorted()[0];
  return (
    <p>
      {text}
      {oldest === undefined ? null : (
        <>
          {" "}
          The oldest is due <Timestamp at={oldest} shows="age" />.
        </>
      )}
    </p>
  );
}

/** Healths in which nothing is sent, so that deliveries wait for longer than a retry. */
const silent = ["disabled", "held", "paused", "rejected", "circuit_open"];

/** What waits for all partners, and how much of it for those that get nothing at present. */
export function backlogText(partners: readonly Pick<PartnerSummary, "backlog" | "health" | "state">[]): string {
  const known = partners.filter(({ backlog = null }) => backlog !== null);
  if (known.length === 0) return "Backlog unknown.";
  const sum = (some: typeof known): number => some.reduce((all, { backlog }) => all + (backlog ?? 0), 0);
  const stopped = known.filter((partner) => silent.includes(healthKind(partner)) && (partner.backlog ?? 0) > 0);
  const all = `Backlog: ${formatCount(sum(known), "waiting delivery", "waiting deliveries")}`;
  const unknown = partners.length - known.length;
  const rest = unknown === 0 ? "." : `; that of ${formatCount(unknown, "partner")} is unknown.`;
  if (stopped.length === 0) return `${all} to ${formatCount(known.length, "partner")}${rest}`;
  const where = `${formatCount(stopped.length, "partner")} that are disabled, held, paused or behind an open breaker`;
  return `${all}, of which ${formatNumber(sum(stopped))} to ${where}${rest}`;
}
