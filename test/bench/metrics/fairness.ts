import { kindsText, rounds, severalPods, startProgram, type Bench, type Half } from "../harness/bench.ts";
import { median, quantile, type Measured } from "../harness/figures.ts";
import { dayMs, endMs, hourMs, largeStore, serviceName, smallStore, startLongStore } from "./long-store.ts";
import { makeSite, portsOf, type Subject } from "../harness/program.ts";
import { startRequestLoad, startStore, type RequestLoad } from "../load/children.ts";
import type { RequestResult } from "../load/request-process.ts";
import { openQuotas, requestText, windowOf, writeMetrics } from "./requests.ts";

/** Clients of the light kind and of the heavy kind, in processes of their own. */
interface FairnessStage {
  readonly light: RequestLoad;
  readonly heavy: RequestLoad;
  close(): Promise<void>;
}

export const fairness: Half<FairnessStage> = {
  name: "clients",
  pods: severalPods,
  open: async () => {
    const [light, heavy] = [await startRequestLoad(2), await startRequestLoad(1)];
    return { light, heavy, close: async () => void (await Promise.all([light.stop(), heavy.stop()])) };
  },
  parts: { fairness: besideHeavy, crowd },
};

const uncached = { memorySeconds: 0, distributedSeconds: 0, hotTailSeconds: 0, staleWhileRevalidateSeconds: 0 };

/** A whole number of turns makes a round: alone and beside share its seconds, so that both see the same machine. */
const [turnSeconds, turnsOfRound] = [3, 4];

interface Sides {
  readonly alone: number;
  readonly beside: number;
  readonly heavy: string;
}

/**
 * Dashboards of class A, alone and beside an analyst of class C, in short turns over the same warm program; nothing is
 * cached. Each turn has an analyst of its own with a whole quota, and each round one p95 of all its turns.
 */
async function besideHeavy(stage: FairnessStage, bench: Bench): Promise<readonly Measured[]> {
  const site = await makeSite(bench.program);
  const store = await startStore();
  await writeMetrics(site, store.url, { quotas: openQuotas({}, uncached), lag: "A", payments: "C" });
  const subject = await startProgram(site, bench.pods);
  const [turns, seconds] = bench.isSmall ? [1, 0.5] : [turnsOfRound, turnSeconds];
  const dashboards = await Promise.all(
    Array.from({ length: 5 }, async (_, place) => dashboardOf(await site.token(`dashboard-${place}`))),
  );
  const askLight = (): Promise<RequestResult> => ask(stage.light, subject, dashboards, { seconds, perSecond: 8 });
  const one = async (name: string): Promise<Sides> => {
    const [alone, beside]: [number[], number[]] = [[], []];
    let heavy = "";
    for (let turn = 0; turn < turns; turn += 1) {
      alone.push(...served(await askLight()));
      const analyst = analystOf(await site.token(`analyst-${name}-${turn}`));
      const [light, result] = await Promise.all([
        askLight(),
        ask(stage.heavy, subject, [analyst], { seconds, perSecond: 10 }),
      ]);
      beside.push(...served(light));
      heavy = kindsText(result);
    }
    return { alone: quantile(alone, 0.95), beside: quantile(beside, 0.95), heavy };
  };
  await one("not-counted");
  const sides = await rounds(bench.rounds, (round) => one(String(round)));
  await subject.stop();
  await Promise.all([site.remove(), store.stop()]);
  const alone = sides.map((side) => side.alone);
  const name = `p95 of class A, ${bench.pods} pods`;
  const reference = { name: "alone", values: alone };
  const note = `the heavy client in the last turn: ${sides.at(-1)?.heavy ?? ""}`;
  const bar = { atMost: Math.max(5, 0.2 * median(alone)) };
  return [
    {
      name: `${name}, beside a heavy client of class C`,
      unit: "ms",
      values: sides.map((s) => s.beside),
      reference,
      note,
    },
    { name: `${name}, moves by`, unit: "ms", values: sides.map((side) => side.beside - side.alone), bar },
  ];
}

/** The p95 is of responses; a refusal is fast. @throws Error when the light clients were refused */
function served({ kinds }: RequestResult): readonly number[] {
  const refused = Object.keys(kinds).filter((kind) => !kind.startsWith("200"));
  if (refused.length > 0) throw new Error(`light clients were refused: ${kindsText({ kinds })}`);
  return Object.values(kinds).flat();
}

function ask(
  load: RequestLoad,
  subject: Subject,
  clients: readonly (readonly string[])[],
  times: { readonly seconds: number; readonly perSecond: number },
): Promise<RequestResult> {
  return load.run({ ports: portsOf(subject), clients, ...times });
}

/** One series of 180 points each. */
function dashboardOf(token: string): readonly string[] {
  const window = windowOf(endMs - 3 * hourMs, endMs, "1m");
  return Array.from({ length: 20 }, (_, place) =>
    requestText(`/v1/metrics/query?metric=lag&agg=max&filter[tenant]=brand-${place}&${window}`, token),
  );
}

/** 50 series of 2,016 points each; what the store takes 100 ms for. */
function analystOf(token: string): readonly string[] {
  const window = windowOf(endMs - 7 * dayMs, endMs, "5m");
  return Array.from({ length: 5 }, (_, place) =>
    requestText(
      `/v1/metrics/query?metric=payments&agg=sum&group_by=service&filter[tenant]=brand-${place}&${window}`,
      token,
    ),
  );
}

const [crowdClients, crowdPerSecond, repeatsOfCold] = [200, 10, 20];

/** 200 clients at 10 requests a second each, of which 95 % are repeats, over a real Prometheus. */
async function crowd(stage: FairnessStage, bench: Bench): Promise<readonly Measured[]> {
  const size = bench.isSmall ? smallStore : largeStore;
  const seconds = bench.isSmall ? 1 : 10;
  const site = await makeSite(bench.program);
  const store = await startLongStore(size, bench.progress);
  await writeMetrics(site, store.url, { quotas: openQuotas({}) });
  const subject = await startProgram(site, bench.pods);
  const tokens = await Promise.all(Array.from({ length: crowdClients }, (_, place) => site.token(`client-${place}`)));
  let asked = 0;
  const cold = (): string => {
    asked += 1;
    const [tenant, service] = [asked % size.gaugeTenants, Math.floor(asked / size.gaugeTenants) % 50];
    const windows = size.days * 8 - 1;
    const window = 1 + (Math.floor(asked / (size.gaugeTenants * 50)) % windows);
    return panel(tenant, service, endMs - window * 3 * hourMs);
  };
  const clientsOf = (): readonly (readonly string[])[] =>
    tokens.map((token, client) =>
      Array.from({ length: crowdPerSecond * seconds }, (_, place) =>
        requestText(
          (place + client) % repeatsOfCold === 0 ? cold() : panel(0, (place * 7 + client) % 20, endMs),
          token,
        ),
      ),
    );
  const run = (): Promise<RequestResult> =>
    ask(stage.light, subject, clientsOf(), { seconds, perSecond: crowdPerSecond });
  await run();
  const results = await rounds(bench.rounds, run);
  await subject.stop();
  await Promise.all([site.remove(), store.stop()]);
  const figure = (what: string, isCold: boolean, rank: number): Measured => ({
    name: `${crowdClients} clients at ${crowdPerSecond} requests a second, ${bench.pods} pods: ${what}`,
    unit: "ms",
    values: results.map((result) => quantile(ofKind(result, isCold), rank)),
  });
  return [
    { ...figure("cached p95", false, 0.95), bar: { atMost: 300, cores: 4 } },
    figure("cached p99", false, 0.99),
    { ...figure("cold p95", true, 0.95), bar: { atMost: 1_500, cores: 4 } },
    { ...figure("cold p99", true, 0.99), note: kindsText(results.at(-1) ?? { kinds: {} }) },
  ];
}

function ofKind({ kinds }: RequestResult, isCold: boolean): readonly number[] {
  return Object.entries(kinds).flatMap(([kind, ms]) =>
    kind.startsWith("200") && /stores|mixed/u.test(kind) === isCold ? ms : [],
  );
}

function panel(tenant: number, service: number, windowEndMs: number): string {
  const filters = `filter[tenant]=brand-${tenant}&filter[service]=${serviceName(service)}`;
  return `/v1/metrics/query?metric=lag&agg=max&${filters}&${windowOf(windowEndMs - 3 * hourMs, windowEndMs, "1m")}`;
}
