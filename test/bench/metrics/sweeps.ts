import { rounds, times, withUsage, type Bench } from "../harness/bench.ts";
import { median, quantile, type Measured } from "../harness/figures.ts";
import type { SweepPoint } from "../harness/fit.ts";
import { fitFigures } from "../webhooks/sweeps.ts";
import { endMs, hourMs, serviceName } from "./long-store.ts";
import { windowOf } from "./requests.ts";
import { ask, type MetricsStage } from "./stage.ts";

/** Windows of one aggregation that no other part asks for, from the end of the store's data backwards. */
const aggregation = "min";
const questionsOfTenant = 2;

/** CPU of a miss by the points that the store computes: series times steps of a minute. */
export async function sweepPoints(stage: MetricsStage, bench: Bench): Promise<readonly Measured[]> {
  const { gaugeTenants, days } = stage.size;
  const hours = bench.isSmall ? [1, 3] : [1, 3, 12];
  let untilMs = endMs - 24 * hourMs;
  const take = (count: number): number => {
    untilMs -= count * hourMs;
    if (untilMs < endMs - days * 24 * hourMs) throw new Error("the store holds too few windows for so many rounds");
    return untilMs;
  };
  const found: Measured[] = [];
  const points: SweepPoint[] = [];
  for (const [series, windowHours] of [[1, 3] as const, ...hours.map((one) => [50, one] as const)]) {
    const turns = await rounds(Math.min(bench.rounds, 3), async () => {
      const ends = Array.from({ length: questionsOfTenant }, () => take(windowHours) + windowHours * hourMs);
      const paths = ends.flatMap((end) =>
        Array.from({ length: gaugeTenants }, (_, tenant) => pathOf(tenant, series, end, windowHours)),
      );
      const [result, { cpuSeconds }] = await withUsage(stage.subject, () => ask(stage, [paths], 0));
      return { cpuMs: (cpuSeconds * 1_000) / paths.length, p50: quantile(times(result), 0.5) };
    });
    const name = `a miss of ${series} series and ${windowHours} h`;
    const cpu = turns.map(({ cpuMs }) => cpuMs);
    points.push([(series * windowHours * 60) / 1_000, median(cpu)]);
    found.push({ name: `${name}: CPU`, unit: "ms", values: cpu });
    found.push({ name: `${name}: p50`, unit: "ms", values: turns.map(({ p50 }) => p50) });
  }
  return [...found, ...fitFigures("CPU of a miss", "ms", "1,000 points", points)];
}

function pathOf(tenant: number, series: number, windowEndMs: number, windowHours: number): string {
  const which = series === 1 ? `&filter[service]=${serviceName(0)}` : "&group_by=service";
  const window = windowOf(windowEndMs - windowHours * hourMs, windowEndMs, "1m");
  return `/v1/metrics/query?metric=lag&agg=${aggregation}&filter[tenant]=brand-${tenant}${which}&${window}`;
}
