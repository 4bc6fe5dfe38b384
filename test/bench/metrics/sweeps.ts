import { compile } from "../../../crds/compile/compile.ts";
import { allowAll } from "../../../crds/policy.ts";
import { resourceOf } from "../../crds/compile/resources.ts";
import { plainObject, type Changes } from "../../crds/valid-objects.ts";
import { rounds, startProgram, times, withUsage, type Bench } from "../harness/bench.ts";
import { median, quantile, type Measured } from "../harness/figures.ts";
import type { SweepPoint } from "../harness/fit.ts";
import { makeSite } from "../harness/program.ts";
import { fitFigures, MemorySweep } from "../webhooks/sweeps.ts";
import { endMs, hourMs, serviceName } from "./long-store.ts";
import { openQuotas, unlimited, windowOf } from "./requests.ts";
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

/** Metrics of one catalog: the limit of a resource. */
const metricsOfCatalog = 256;

/** Catalogs of as many metrics, all of one gauge. */
function catalogsOf(metrics: number, store: string): readonly { readonly name: string; readonly changes: Changes }[] {
  return Array.from({ length: Math.ceil(metrics / metricsOfCatalog) }, (_, catalog) => {
    const first = catalog * metricsOfCatalog;
    const ids = Array.from(
      { length: Math.min(metricsOfCatalog, metrics - first) },
      (_id, place) => `lag_${first + place}`,
    );
    const changes = {
      stores: [{ name: "eu", region: "eu", labelMap: {}, prometheus: { url: store, timeoutSeconds: 20 } }],
      metrics: ids.map((id) => ({
        id,
        category: "infrastructure",
        unit: "1",
        description: `The bench's ${id}.`,
        source: { gauge: { name: "lag" }, intervalSeconds: 60 },
        aggregations: ["avg", "sum", "min", "max"],
        defaultAggregation: "sum",
        minStepSeconds: 60,
        queryClass: "C",
        labels: ["tenant", "service"],
      })),
    };
    return { name: `bench-${catalog}`, changes };
  });
}

/** What metrics in catalogs cost: the compilation, the start, memory, and a query that no cache has. */
export async function sweepMetrics(stage: MetricsStage, bench: Bench): Promise<readonly Measured[]> {
  const found: Measured[] = [];
  const [compiled, queried]: [SweepPoint[], SweepPoint[]] = [[], []];
  const memory = new MemorySweep("metric");
  for (const metrics of bench.isSmall ? [10, 20] : [10, 256, 2_560, 10_240]) {
    const catalogs = catalogsOf(metrics, stage.store.url);
    const compileMs = await rounds(Math.min(bench.rounds, 3), () => Promise.resolve(compileMsOf(catalogs)));
    const site = await makeSite(bench.program);
    for (const { name, changes } of catalogs)
      await site.write(`${name}.yaml`, [plainObject("MetricCatalog", changes, name)]);
    await site.write("quotas.yaml", openQuotas(unlimited));
    const startedMs = performance.now();
    const subject = await startProgram(site, 1);
    const readySeconds = (performance.now() - startedMs) / 1_000;
    const asker = { subject, load: stage.load, tokens: [await site.token("bench")] };
    const paths = Array.from({ length: bench.isSmall ? 5 : 50 }, (_, place) => queryOf(place % metrics, place));
    await ask(asker, [paths.map((path) => path.replace("agg=sum", "agg=max"))], 0);
    const queryMs = times(await ask(asker, [paths], 0));
    const listMs = times(await ask(asker, [Array.from({ length: 5 }, () => "/v1/metrics/catalog")], 0));
    const note = memory.add(metrics, subject.resident());
    await subject.stop();
    await site.remove();
    compiled.push([metrics, median(compileMs)]);
    queried.push([metrics, median(queryMs)]);
    const name = `${metrics} metrics`;
    found.push(
      { name: `${name}: compilation of all`, unit: "ms", values: compileMs },
      { name: `${name}: ready after`, unit: "s", values: [readySeconds], note },
      { name: `${name}: a query that no cache has, p50`, unit: "ms", values: [median(queryMs)] },
      { name: `${name}: the whole catalog, p50`, unit: "ms", values: [median(listMs)] },
    );
  }
  return [
    ...found,
    ...fitFigures("compilation by metrics", "ms", "metric", compiled),
    ...fitFigures("p50 of a query by metrics", "ms", "metric", queried),
    ...memory.figures(),
  ];
}

function compileMsOf(catalogs: ReturnType<typeof catalogsOf>): number {
  const resources = catalogs.map(({ name, changes }) => resourceOf("MetricCatalog", changes, { name }));
  const startedMs = performance.now();
  const { results } = compile({ resources, secrets: new Map(), policy: allowAll });
  const faults = results.flatMap(({ problems }) => problems);
  if (faults.length > 0) throw new Error(JSON.stringify(faults[0]));
  return performance.now() - startedMs;
}

/** A window of three hours that no other query of the program has. */
function queryOf(metric: number, place: number): string {
  const untilMs = endMs - 24 * hourMs - place * hourMs;
  const window = windowOf(untilMs - 3 * hourMs, untilMs, "1m");
  return `/v1/metrics/query?metric=lag_${metric}&agg=sum&group_by=service&filter[tenant]=brand-0&${window}`;
}
