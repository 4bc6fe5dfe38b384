import { setTimeout as sleep } from "node:timers/promises";
import type { OperatorCluster } from "../../operator/operator-cluster.ts";
import { waitFor } from "../../support/wait.ts";
import type { Bench, Half, Stage } from "../harness/bench.ts";
import { quantile, type Measured } from "../harness/figures.ts";
import { kubernetesSource } from "./kubernetes-source.ts";
import { ns, startOperatorStage, type Costs, type OperatorStage } from "./stage.ts";

/**
 * How long it takes until many partners are Ready, and until an edit of one is while others are edited; what that costs
 * the API server and the operator. *Ready* is what a client sees: every pod applies the object. Reference: how long the
 * API server takes to make the objects, and to answer one edit.
 */

const editsPerSecond = 20;
const callsAtOnce = 8;
const patience = { timeoutMs: 1_200_000, pollMs: 50 };

export const operator: Half<Stage> = {
  name: "operator",
  pods: 1,
  open: async () => ({ close: async () => undefined }),
  parts: {
    partners1000: (_stage, bench) => measure(bench, bench.isSmall ? 10 : 1_000, { readySeconds: 60, editP99Ms: 3_000 }),
    partners10000: (_stage, bench) => measure(bench, bench.isSmall ? 20 : 10_000, { readySeconds: 600, memoryMB: 300 }),
    "kubernetes-source": kubernetesSource,
  },
};

/** What one number of partners is held to. */
interface OperatorBars {
  readonly readySeconds: number;
  readonly editP99Ms?: number;
  readonly memoryMB?: number;
}

async function measure(bench: Bench, count: number, bars: OperatorBars): Promise<readonly Measured[]> {
  const stage = await startOperatorStage(bench.program);
  try {
    return [
      ...(await measureStart(stage, count, bars)),
      ...(await measureEdits(stage, count, bench.isSmall ? 1 : 30, bars)),
      ...(await measureIdle(stage, bench.isSmall ? 1 : 30)),
    ];
  } finally {
    await stage.stop();
  }
}

const nameOf = (index: number): string => `partner-${index}`;

async function make(cluster: OperatorCluster, index: number): Promise<void> {
  await cluster.secret(ns, nameOf(index), { hmac: `${index}`.padEnd(32, "k") });
  await cluster.put(ns, "WebhookPartner", nameOf(index), { "signing.keys[0].secretRef.name": nameOf(index) });
}

async function each(count: number, call: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await call(index);
  };
  await Promise.all(Array.from({ length: callsAtOnce }, work));
}

const one = (name: string, unit: string, value: number, bar?: Measured["bar"]): Measured => ({
  name,
  unit,
  values: [value],
  ...(bar === undefined ? {} : { bar }),
});
const mega = (bytes: number): number => bytes / 1e6;

async function measureStart(stage: OperatorStage, count: number, bars: OperatorBars): Promise<readonly Measured[]> {
  const [before, startedMs] = [await stage.costs(), performance.now()];
  await each(count, (index) => make(stage.cluster, index));
  const made = (performance.now() - startedMs) / 1_000;
  await waitFor(() => stage.partners.readyCount === count, { ...patience, what: "every partner to be Ready" });
  const ready = (performance.now() - startedMs) / 1_000;
  const after = await stage.costs();
  const per = (name: keyof Costs): number => (after[name] - before[name]) / count;
  const reference = { name: "making them", values: [made] };
  return [
    { ...one(`${count} partners Ready after`, "s", ready, { atMost: bars.readySeconds }), reference },
    one(`${count} partners: CPU of the operator`, "s", after.cpuSeconds - before.cpuSeconds),
    one("statuses written per new partner", "", per("statuses"), { atMost: 2.2 }),
    one("requests per new partner", "", per("requests")),
  ];
}

async function measureEdits(
  stage: OperatorStage,
  count: number,
  seconds: number,
  bars: OperatorBars,
): Promise<readonly Measured[]> {
  const [answered, ready]: [number[], number[]] = [[], []];
  const [before, startedMs, total] = [await stage.costs(), performance.now(), seconds * editsPerSecond];
  const running: Promise<void>[] = [];
  for (let edit = 0; edit < total; edit += 1) {
    await sleep(Math.max(0, startedMs + (edit * 1_000) / editsPerSecond - performance.now()));
    running.push(editOne(stage, nameOf((edit * 7_919) % count), edit, { answered, ready }));
  }
  await Promise.all(running);
  const took = (performance.now() - startedMs) / 1_000;
  const after = await stage.costs();
  const per = (name: keyof Costs): number => (after[name] - before[name]) / total;
  const name = `an edit Ready while ${editsPerSecond} a second run, ${count} partners`;
  const [p99, memory] = [bars.editP99Ms, bars.memoryMB];
  const reference = (rank: number) => ({ name: "the edit answered", values: [quantile(answered, rank)] });
  return [
    { ...one(`${name}: p50`, "ms", quantile(ready, 0.5)), reference: reference(0.5) },
    {
      ...one(`${name}: p99`, "ms", quantile(ready, 0.99), p99 === undefined ? undefined : { atMost: p99 }),
      reference: reference(0.99),
    },
    one("statuses written per edit", "", per("statuses"), { atMost: 2.2 }),
    one("shards written per edit", "", per("shards")),
    one("sent to the API server during edits", "MB/s", mega(after.bytesSent - before.bytesSent) / took, { atMost: 2 }),
    one(
      `operator with ${count} partners: resident`,
      "MB",
      mega(after.residentBytes),
      memory === undefined ? undefined : { atMost: memory },
    ),
  ];
}

interface Samples {
  readonly answered: number[];
  readonly ready: number[];
}

async function editOne(
  { cluster, partners }: OperatorStage,
  name: string,
  edit: number,
  { answered, ready }: Samples,
): Promise<void> {
  const startedMs = performance.now();
  const changes = { "signing.keys[0].secretRef.name": name, "delivery.maxInFlight": 1 + (edit % 1_000) };
  const { metadata } = await cluster.put(ns, "WebhookPartner", name, changes);
  answered.push(performance.now() - startedMs);
  await partners.ready(name, metadata.generation);
  ready.push(performance.now() - startedMs);
}

async function measureIdle(stage: OperatorStage, seconds: number): Promise<readonly Measured[]> {
  // Events of the last edits are still to be written.
  await sleep(5_000);
  const before = await stage.costs();
  await sleep(seconds * 1_000);
  const after = await stage.costs();
  const requests = (after.requests - before.requests) / seconds;
  return [one("requests of an idle operator", "a second", requests, { atMost: 1 })];
}
