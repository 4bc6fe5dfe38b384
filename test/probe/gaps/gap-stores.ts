import type { WrittenSeries } from "../../support/remote-write.ts";
import type { Sample } from "../../runtime/metrics/oracle/generated-series.ts";

/** Stores that lack parts of values: what each of them holds, and what was left out of it. */

export const regions = ["apac", "eu", "us"] as const;
export type Region = (typeof regions)[number];
export const services = ["web", "pay"] as const;
const pods = ["p1", "p2"] as const;
export const tenants = Array.from({ length: 20 }, (_, index) => `tenant-${index}`);
export const bounds = [100, 300, 1_000, Infinity] as const;
/** The bound that the objective counts up to. */
export const threshold = 300;

export const startMs = Date.parse("2026-01-01T00:00:00Z");
export const intervalSeconds = 30;
const scrapes = 120;
export const endMs = startMs + scrapes * intervalSeconds * 1_000;

/** A series of one store, in the form that the model of the values reads. */
export interface HeldSeries {
  readonly region: Region;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly samples: readonly Sample[];
}

/** A part that a store lacks: in all series or some, for all of the time or a stretch. */
interface Gap {
  readonly name: string;
  readonly le?: string;
  readonly service?: string;
  readonly pod?: string;
  readonly fromMs: number;
  readonly toMs: number;
}

type Next = () => number;

/** Every series of all stores, with the gaps left out. */
export function heldSeries(next: Next): readonly HeldSeries[] {
  return regions.flatMap((region) =>
    tenants.flatMap((tenant) => {
      const gaps = randomGaps(next);
      return services.flatMap((service) =>
        pods.flatMap((pod) => {
          // Some targets are in some stores only.
          if (next() < 0.1) return [];
          const labels = { tenant, env: "prod", service, pod };
          return seriesOf(next, labels)
            .map((one) => ({ ...one, region, samples: withoutGaps(one, gaps) }))
            .filter(({ samples }) => samples.length > 0);
        }),
      );
    }),
  );
}

/** The series of one store as they are written to it. */
export function writtenTo(region: Region, held: readonly HeldSeries[]): readonly WrittenSeries[] {
  return held.filter((one) => one.region === region);
}

/** At most one gap for the parts of a ratio and one for those of a histogram. */
function randomGaps(next: Next): readonly Gap[] {
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(next() * values.length)] as Value;
  const families: readonly (readonly Pick<Gap, "name" | "le">[])[] = [
    [{ name: "ok_total" }, { name: "all_total" }, { name: "errors_total" }],
    [
      { name: "latency_sum" },
      { name: "latency_count" },
      ...bounds.map((bound) => ({ name: "latency_bucket", le: leOf(bound) })),
      { name: "latency_bucket", le: leOf(threshold) },
    ],
  ];
  return families.flatMap((parts): readonly Gap[] => {
    if (next() < 0.4) return [];
    const scope = pick<Pick<Gap, "service" | "pod">>([{}, {}, { service: pick(services) }, { pod: pick(pods) }]);
    const at = startMs + Math.floor(next() * scrapes) * intervalSeconds * 1_000;
    const [fromMs, toMs] = pick<readonly [number, number]>([
      [0, Infinity],
      [0, Infinity],
      [0, at],
      [at, Infinity],
      [at, at + Math.floor(next() * 20) * intervalSeconds * 1_000],
    ]);
    return [{ ...pick(parts), ...scope, fromMs, toMs }];
  });
}

function withoutGaps({ name, labels, samples }: Omit<HeldSeries, "region">, gaps: readonly Gap[]): readonly Sample[] {
  const own = gaps.filter(
    (gap) =>
      gap.name === name &&
      (gap.le ?? labels["le"]) === labels["le"] &&
      (gap.service ?? labels["service"]) === labels["service"] &&
      (gap.pod ?? labels["pod"]) === labels["pod"],
  );
  return samples.filter(({ ms }) => own.every(({ fromMs, toMs }) => ms < fromMs || ms >= toMs));
}

/** What one target has counted so far. */
interface Counted {
  readonly totals: Record<"ok_total" | "all_total" | "errors_total" | "latency_sum", number>;
  readonly counts: number[];
}

/** What one target counts. Errors have no series before the first one, and some targets never have any. */
function seriesOf(next: Next, labels: HeldSeries["labels"]): readonly Omit<HeldSeries, "region">[] {
  const counted: Counted = {
    totals: { ok_total: 0, all_total: 0, errors_total: 0, latency_sum: 0 },
    counts: bounds.map(() => 0),
  };
  const errorShare = next() < 0.3 ? 0 : next() * 0.5;
  const eventsMax = next() < 0.2 ? 0 : 6;
  const offsetMs = Math.floor(next() * intervalSeconds * 1_000);
  const rows = new Map<string, Sample[]>();
  for (let scrape = 0; scrape < scrapes; scrape += 1) {
    const ms = startMs + scrape * intervalSeconds * 1_000 + offsetMs;
    for (let left = Math.floor(next() * eventsMax); left > 0; left -= 1) countEvent(counted, next, errorShare);
    for (const [key, value] of scraped(counted)) rows.set(key, [...(rows.get(key) ?? []), { ms, value }]);
  }
  return [...rows].map(([key, samples]) => {
    const [name = "", le] = key.split(" ");
    return { name, labels: le === undefined ? labels : { ...labels, le }, samples };
  });
}

function countEvent({ totals, counts }: Counted, next: Next, errorShare: number): void {
  const value = Math.round(Math.exp(next() * 7.5));
  totals.all_total += 1;
  totals.latency_sum += value;
  totals[next() < errorShare ? "errors_total" : "ok_total"] += 1;
  for (const [index, bound] of bounds.entries()) if (value <= bound) counts[index] = (counts[index] ?? 0) + 1;
}

/** The samples of one scrape, by name and bound. */
function scraped({ totals, counts }: Counted): readonly (readonly [key: string, value: number])[] {
  return [
    ...Object.entries(totals).filter(([name, value]) => name !== "errors_total" || value > 0),
    ["latency_count", counts.at(-1) ?? 0],
    ...bounds.map((bound, index) => [`latency_bucket ${leOf(bound)}`, counts[index] ?? 0] as const),
  ];
}

/** `le` of a bound. */
export function leOf(bound: number): string {
  return bound === Infinity ? "+Inf" : String(bound);
}
