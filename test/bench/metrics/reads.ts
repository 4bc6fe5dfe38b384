import { kindsText, rate, rounds, times, withUsage, type Bench } from "../harness/bench.ts";
import { quantile, type Measured } from "../harness/figures.ts";
import { endMs, hourMs } from "./long-store.ts";
import { startBareProxy } from "../load/children.ts";
import { panelPath, panelQuestion, shortPath, weekPath, weekQuestion, type PanelGroup } from "./requests.ts";
import { ask, askStore, takeCold, type MetricsStage } from "./stage.ts";

const minuteMs = 60_000;

/** Items dealt out to so many clients. */
function dealt<T>(items: readonly T[], clients: number): readonly (readonly T[])[] {
  return Array.from({ length: clients }, (_, place) => items.filter((_item, index) => index % clients === place));
}

/** The figures of windows that move, or of questions asked once: time, CPU, and the same asked of the store. */
interface Turn {
  readonly p50: number;
  readonly p95: number;
  readonly rate: number;
  readonly cpuMs: number;
  readonly kinds: string;
  readonly direct: { readonly p50: number; readonly p95: number; readonly rate: number };
  /** Range queries that the store got from the program. */
  readonly storeQueries: number;
}

async function beside(
  stage: MetricsStage,
  paths: readonly (readonly string[])[],
  forms: readonly (readonly URLSearchParams[])[],
): Promise<Turn> {
  const direct = await askStore(stage, forms);
  const before = await rangeQueries(stage);
  const [result, { cpuSeconds }] = await withUsage(stage.subject, () => ask(stage, paths, 0));
  const storeQueries = (await rangeQueries(stage)) - before;
  const count = times(result).length;
  return {
    p50: quantile(times(result), 0.5),
    p95: quantile(times(result), 0.95),
    storeQueries,
    rate: rate(result),
    cpuMs: (cpuSeconds * 1_000) / count,
    kinds: kindsText(result),
    direct: { p50: quantile(times(direct), 0.5), p95: quantile(times(direct), 0.95), rate: rate(direct) },
  };
}

/** As the store counts them. */
async function rangeQueries({ store }: MetricsStage): Promise<number> {
  const text = await (await fetch(`${store.url}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith("prometheus_http_requests_total"));
  const own = lines.filter((line) => line.includes('handler="/api/v1/query_range"'));
  return own.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

const ofStore = (turns: readonly Turn[], what: "p50" | "rate") => ({
  name: "the store asked direct",
  values: turns.map(({ direct }) => direct[what]),
});

const [warmAggregations, warmConnections, warmMinutes] = [["min", "avg"] as const, 40, 10];

/**
 * Asks each pod cold questions of aggregations that no part measures. Node compiles the code of a read only after
 * some hundred of them, so a process that has just started takes twice the CPU of one that has served for a minute. The
 * windows are short, so that what is kept of them hardly counts in the memory of the program.
 */
async function warmUp(stage: MetricsStage, { isSmall, pods }: Bench): Promise<void> {
  const questions = isSmall ? stage.cold.slice(0, 1) : stage.cold;
  for (let round = 0; round < pods; round += 1) {
    const paths = warmAggregations.flatMap((own) =>
      questions.map(([tenant, end]) => shortPath(tenant, end - round * warmMinutes * minuteMs, own)),
    );
    times(await ask(stage, dealt(paths, warmConnections), 0));
  }
}

/** Three hours that move by a minute; the points that stay are known. */
export async function step(stage: MetricsStage, bench: Bench): Promise<readonly Measured[]> {
  await warmUp(stage, bench);
  const [steps, { gaugeTenants }] = [bench.isSmall ? 5 : 150, stage.size];
  const turns = await rounds(bench.rounds, async (round) => {
    const firstMs = endMs - 12 * hourMs + Math.floor(round / gaugeTenants) * (steps + 1) * minuteMs;
    const ends = Array.from({ length: steps }, (_, place) => firstMs + (place + 1) * minuteMs);
    const tenant = round % gaugeTenants;
    await ask(stage, [[panelPath(tenant, firstMs, "sum")]], 0);
    return beside(
      stage,
      [ends.map((end) => panelPath(tenant, end, "sum"))],
      [ends.map((end) => panelQuestion(tenant, end, "sum"))],
    );
  });
  const name = "a window of 3 h moves by a step";
  return [
    { name: `${name}: p50`, unit: "ms", values: p50s(turns), reference: ofStore(turns, "p50"), bar: { atMost: 3.5 } },
    { name: `${name}: CPU`, unit: "ms", values: cpus(turns), bar: { atMost: 2.5 }, note: lastKinds(turns) },
    {
      name: `${name}: requests to the store for each`,
      unit: "",
      values: turns.map(({ storeQueries }) => storeQueries / steps),
      bar: { atMost: 1 },
    },
  ];
}

const p50s = (turns: readonly Turn[]): readonly number[] => turns.map(({ p50 }) => p50);
const cpus = (turns: readonly Turn[]): readonly number[] => turns.map(({ cpuMs }) => cpuMs);
const lastKinds = (turns: readonly Turn[]): string => `last round: ${turns.at(-1)?.kinds ?? ""}`;

/** Questions that nobody asked before. */
export async function miss(stage: MetricsStage, bench: Bench): Promise<readonly Measured[]> {
  const found: Measured[] = [];
  const proxy = await startBareProxy(stage.store.url);
  const turn = async (count: number, connections: number, group: PanelGroup): Promise<Turn & { proxy: number }> => {
    const clients = dealt(takeCold(stage, count), connections);
    const paths = clients.map((own) => own.map(([tenant, end]) => panelPath(tenant, end, "max", group)));
    const forms = clients.map((own) => own.map(([tenant, end]) => panelQuestion(tenant, end, "max", group)));
    return { ...(await beside(stage, paths, forms)), proxy: rate(await askStore(stage, forms, [proxy.port])) };
  };
  await warmUp(stage, bench);
  for (const [connections, group, most] of [
    [1, "component", 130],
    [1, "service", 100],
    [10, "component", 550],
  ] as const) {
    const count = bench.isSmall ? 1 : Math.min(connections === 1 ? 40 : 110, Math.floor(most / bench.rounds));
    const turns = await rounds(bench.rounds, () => turn(count, connections, group));
    const name = `a true miss of ${group === "service" ? 50 : 10} series, ${connections} connections`;
    const values = turns.map((one) => one.rate);
    const isLarge = group === "service";
    const bar = { of: "ratio", atLeast: 0.95 } as const;
    const bare = { name: "a bare Node proxy", values: turns.map((one) => one.proxy) };
    found.push({ name, unit: "req/s", values, reference: ofStore(turns, "rate") });
    if (!isLarge) found.push({ name, unit: "req/s", values, reference: bare, bar });
    if (isLarge) found.push(added(name, turns, "p50", 8), added(name, turns, "p95", 20));
    const own = { name: `${name}: own CPU`, unit: "ms", values: cpus(turns), note: lastKinds(turns) };
    found.push(isLarge ? own : { ...own, bar: { atMost: 2.5 } });
  }
  await proxy.stop();
  return found;
}

/** Fifty clients send the same new queries at the same time. */
export async function herd(stage: MetricsStage, bench: Bench): Promise<readonly Measured[]> {
  await warmUp(stage, bench);
  const [clients, count] = [50, bench.isSmall ? 1 : 40];
  const proxy = await startBareProxy(stage.store.url);
  const turns = await rounds(bench.rounds, async () => {
    const questions = takeCold(stage, count);
    const forms = questions.map(([tenant, end]) => panelQuestion(tenant, end));
    const paths = questions.map(([tenant, end]) => panelPath(tenant, end));
    const equal = <T>(own: readonly T[]): readonly (readonly T[])[] => Array.from({ length: clients }, () => own);
    const bare = rate(await askStore(stage, equal(forms), [proxy.port]));
    const before = await rangeQueries(stage);
    const [result, { cpuSeconds }] = await withUsage(stage.subject, () => ask(stage, equal(paths), 0));
    const storeQueries = (await rangeQueries(stage)) - before;
    return { bare, rate: rate(result), cpuMs: (cpuSeconds * 1_000) / (clients * count), each: storeQueries / count };
  });
  await proxy.stop();
  const name = `${clients} equal new queries at once`;
  const reference = { name: "a bare Node proxy that shares them", values: turns.map(({ bare }) => bare) };
  return [
    { name, unit: "req/s", values: turns.map((turn) => turn.rate), reference, bar: { atLeast: 3_500 } },
    { name: `${name}: CPU`, unit: "ms", values: turns.map(({ cpuMs }) => cpuMs) },
    {
      name: `${name}: requests to the store for each`,
      unit: "",
      values: turns.map(({ each }) => each),
      bar: { atMost: 1 },
    },
  ];
}

const added = (name: string, turns: readonly Turn[], what: "p50" | "p95", atMost: number): Measured => ({
  name: `${name}: added to the store's ${what}`,
  unit: "ms",
  values: turns.map((one) => one[what] - one.direct[what]),
  bar: { atMost },
});

/** A percentile of a week: asked once, and as its window moves. */
export async function week(stage: MetricsStage, bench: Bench): Promise<readonly Measured[]> {
  const { histogramTenants, histogramDays, weekDays: days } = stage.size;
  const slackMs = (histogramDays - days) * 24 * hourMs;
  const [start, slack] = [endMs - slackMs, slackMs / (5 * minuteMs) - 1];
  const turn = (tenant: number, ends: readonly number[]): Promise<Turn> =>
    beside(
      stage,
      [ends.map((end) => weekPath(tenant, end, days))],
      [ends.map((end) => weekQuestion(tenant, end, days))],
    );
  const cold = await rounds(Math.min(bench.rounds, histogramTenants - 1), (round) => turn(round + 1, [endMs]));
  await turn(0, [start]);
  const steps = bench.isSmall ? 3 : Math.min(50, Math.floor(slack / bench.rounds));
  const moved = await rounds(bench.rounds, (round) => {
    const places = Array.from({ length: steps }, (_, place) => round * steps + place + 1);
    return turn(
      0,
      places.map((place) => start + place * 5 * minuteMs),
    );
  });
  const names = ["a week's p95 asked once", "a week's p95 moves by a step"] as const;
  return [
    {
      name: `${names[0]}: p50`,
      unit: "ms",
      values: p50s(cold),
      reference: ofStore(cold, "p50"),
      bar: { of: "ratio", atMost: 1.3 },
    },
    { name: `${names[0]}: CPU`, unit: "ms", values: cpus(cold), note: lastKinds(cold) },
    {
      name: `${names[1]}: p50`,
      unit: "ms",
      values: p50s(moved),
      reference: ofStore(moved, "p50"),
      bar: { atMost: 12 },
    },
    { name: `${names[1]}: CPU`, unit: "ms", values: cpus(moved), bar: { atMost: 12 }, note: lastKinds(moved) },
  ];
}
