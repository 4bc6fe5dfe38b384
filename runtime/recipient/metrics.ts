import type { DeliveryReport } from "./receive.ts";

/** Figures of one recipient since its start. Source: seed "Webhook Event Delivery" §6. */
export interface RecipientFigures {
  readonly deliveries: number;
  /** Share of deliveries whose signature, time or envelope is not valid, from 0 to 1. */
  readonly verifyFailRate: number;
  /** Share of verified deliveries whose event had its effect before, from 0 to 1. */
  readonly duplicateRate: number;
  /** Share of responses with a status from 500 on, from 0 to 1. */
  readonly serverErrorRate: number;
  /** 95th percentile of the time in the handler, interpolated in a bucket; absent before the first event. */
  readonly handlerP95Ms?: number;
}

/** Counts deliveries; pass {@link report} as the option `report`. */
export interface RecipientMetrics {
  readonly report: (report: DeliveryReport) => void;
  figures(): RecipientFigures;
  /** The counters in Prometheus's text format 0.0.4. */
  text(): string;
}

type Labels = readonly (readonly [value: string, count: number])[];

/** Upper bounds of the buckets, in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;
const secondMs = 1_000;
const p95 = 0.95;
const serverError = "5xx";

/** Creates the metrics of one recipient. Memory does not grow, since every label has few values. */
export function createRecipientMetrics(): RecipientMetrics {
  const outcomes = new Map<string, number>();
  const faults = new Map<string, number>();
  const statuses = new Map<string, number>();
  const handler = createHistogram();
  return {
    report: ({ outcome, fault, status, handlerMs }) => {
      count(outcomes, outcome);
      count(statuses, `${Math.floor(status / 100)}xx`);
      if (fault !== undefined) count(faults, fault);
      if (handlerMs !== undefined) handler.observe(handlerMs / secondMs);
    },
    figures: () => {
      const deliveries = sum([...outcomes.values()]);
      const unverified = outcomes.get("unverified") ?? 0;
      const seconds = handler.quantile(p95);
      return {
        deliveries,
        verifyFailRate: share(unverified, deliveries),
        duplicateRate: share(outcomes.get("duplicate") ?? 0, deliveries - unverified),
        serverErrorRate: share(statuses.get(serverError) ?? 0, deliveries),
        ...(seconds === undefined ? {} : { handlerP95Ms: seconds * secondMs }),
      };
    },
    text: () =>
      [
        counter("heliograph_recipient_deliveries_total", "Deliveries by outcome.", "outcome", [...outcomes]),
        counter("heliograph_recipient_verify_failures_total", "Invalid deliveries by fault.", "fault", [...faults]),
        counter("heliograph_recipient_responses_total", "Responses by class of status.", "status", [...statuses]),
        handler.text("heliograph_recipient_handler_seconds", "Time in the handler."),
      ].join(""),
  };
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function counter(name: string, help: string, label: string, values: Labels): string {
  return head(name, help, "counter") + values.map(([value, n]) => `${name}{${label}="${value}"} ${n}\n`).join("");
}

function head(name: string, help: string, type: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

interface Histogram {
  observe(seconds: number): void;
  /** Linear inside of a bucket; the last bound for what lies above it. */
  quantile(q: number): number | undefined;
  text(name: string, help: string): string;
}

function createHistogram(): Histogram {
  const buckets = bounds.map(() => 0);
  let [total, seconds] = [0, 0];
  return {
    observe: (value) => {
      total += 1;
      seconds += value;
      const index = bounds.findIndex((bound) => value <= bound);
      if (index !== -1) buckets[index] = (buckets[index] ?? 0) + 1;
    },
    quantile: (q) => (total === 0 ? undefined : interpolated(buckets, q * total)),
    text: (name, help) => {
      const cumulated = bounds.map((bound, index) => [String(bound), sum(buckets.slice(0, index + 1))] as const);
      const lines = [...cumulated, ["+Inf", total] as const].map(([le, n]) => `${name}_bucket{le="${le}"} ${n}\n`);
      return `${head(name, help, "histogram")}${lines.join("")}${name}_sum ${seconds}\n${name}_count ${total}\n`;
    },
  };
}

function interpolated(buckets: readonly number[], rank: number): number {
  let below = 0;
  let lower = 0;
  for (const [index, upper] of bounds.entries()) {
    const inside = buckets[index] ?? 0;
    if (below + inside >= rank) return lower + (upper - lower) * ((rank - below) / inside);
    below += inside;
    lower = upper;
  }
  return lower;
}
