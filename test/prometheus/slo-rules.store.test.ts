import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { plainObject } from "../crds/valid-objects.ts";
import { makeInstallation, type Installation } from "../cli/installation.ts";
import { runProgram } from "../support/heliograph-process.ts";
import { freePort } from "../support/free-port.ts";
import { startPrometheus, type PrometheusHandle } from "../support/prometheus.ts";
import { startServerProcess, type ServerProcess } from "../support/server-process.ts";
import { waitFor } from "../support/wait.ts";
import { resolveTool } from "../tools/resolve.ts";

const everySeconds = 15;
const [pastSeconds, futureSeconds] = [12 * 3_600, 1_800];
const eventsEach = 30;
const usual = 0.01;
const nowSeconds = Math.floor(Date.now() / 1_000);

/** An objective, and the share of its bad events by the age of an event in minutes; less than 0 is the future. */
interface Scenario {
  readonly status: string;
  readonly badShare: (ageMinutes: number) => number;
  /** False for a counter of singled out events that has no series. */
  readonly isSingledOut?: boolean;
  readonly slo?: object;
}

/** An objective of a gauge: its value, undefined for a gap, by the age in minutes. */
interface GaugeScenario {
  readonly status: string;
  readonly aggregation: "avg" | "sum" | "min" | "max";
  readonly operator: "AtMost" | "Below" | "AtLeast" | "Above";
  readonly valueAt: (ageMinutes: number) => number | undefined;
}

const threshold = 100;
const gauges: Readonly<Record<string, GaugeScenario>> = {
  lag_healthy: { status: "ok", aggregation: "max", operator: "AtMost", valueAt: () => threshold },
  lag_fast: {
    status: "critical",
    aggregation: "max",
    operator: "Below",
    valueAt: (age) => (age < 40 ? threshold : 1),
  },
  lag_slow: {
    status: "increasing",
    aggregation: "avg",
    operator: "AtMost",
    // One slice of four, so that no page tier burns.
    valueAt: (age) => (age < 180 && Math.ceil(Math.round(nowSeconds - age * 60) / 60) % 4 === 0 ? 900 : 1),
  },
  lag_ended: {
    status: "recovering",
    aggregation: "min",
    operator: "AtLeast",
    valueAt: (age) => (age > 20 && age < 60 ? 1 : threshold),
  },
  lag_gaps: {
    status: "critical",
    aggregation: "sum",
    operator: "Above",
    valueAt: (age) => (age > 10 && age < 60 ? undefined : age < 90 ? 1 : 101),
  },
  lag_silent: {
    status: "insufficient_data",
    aggregation: "avg",
    operator: "Above",
    valueAt: () => undefined,
  },
};

/** A time of so many minutes ago. */
function timeOf(ageMinutes: number): string {
  return new Date((nowSeconds - ageMinutes * 60) * 1_000).toISOString().replace(/\.\d+/u, "");
}

const scenarios: Readonly<Record<string, Scenario>> = {
  healthy: { status: "ok", badShare: () => usual },
  fast: { status: "critical", badShare: (age) => (age < 30 ? 0.8 : usual) },
  slow: { status: "increasing", badShare: (age) => (age < 180 ? 0.15 : usual) },
  ended: { status: "recovering", badShare: (age) => (age > 20 && age < 60 ? 0.8 : usual) },
  few: { status: "insufficient_data", badShare: () => 1, slo: { minimumEvents: 1_000_000_000 } },
  silent: { status: "critical", badShare: () => 1, isSingledOut: false },
  faultless: { status: "ok", badShare: () => 0, isSingledOut: false, slo: { counts: "Bad" } },
  maintained: {
    status: "ok",
    badShare: (age) => (age < 30 ? 0.8 : usual),
    slo: { corrections: [{ reason: "move", from: timeOf(40), to: timeOf(-30) }] },
  },
  restored: {
    status: "ok",
    badShare: (age) => (age > 10 && age < 40 ? 0.8 : usual),
    slo: { corrections: [{ reason: "move", from: timeOf(40), to: timeOf(10) }] },
  },
  latency: { status: "critical", badShare: (age) => (age < 30 ? 0.8 : usual), slo: { threshold: 0.5 } },
};

function* samples(): Iterable<string> {
  for (const [name, scenario] of Object.entries(scenarios)) yield* samplesOf(name, scenario);
  for (const [name, { valueAt }] of Object.entries(gauges)) {
    for (let second = -pastSeconds; second <= futureSeconds; second += everySeconds) {
      const value = valueAt(-second / 60);
      if (value !== undefined) yield `${name}{tenant="lumen"} ${value} ${nowSeconds + second}\n`;
    }
  }
  yield "# EOF\n";
}

const isHistogram = ({ slo }: Scenario): boolean => slo !== undefined && "threshold" in slo;

/** The counters of all events and of those that are singled out. */
function countersOf(name: string, scenario: Scenario): readonly [all: string, singledOut: string] {
  return isHistogram(scenario)
    ? [`${name}_count{tenant="lumen"}`, `${name}_bucket{tenant="lumen",le="0.5"}`]
    : [`${name}_total{tenant="lumen",result="all"}`, `${name}_total{tenant="lumen",result="good"}`];
}

function* samplesOf(name: string, scenario: Scenario): Iterable<string> {
  const { badShare, isSingledOut = true } = scenario;
  const [all, singledOut] = countersOf(name, scenario);
  yield* counter(all, () => eventsEach);
  if (isSingledOut) yield* counter(singledOut, (age) => eventsEach * (1 - badShare(age)));
}

function* counter(series: string, increase: (ageMinutes: number) => number): Iterable<string> {
  let value = 0;
  for (let second = -pastSeconds; second <= futureSeconds; second += everySeconds) {
    value += increase(-second / 60);
    yield `${series} ${value} ${nowSeconds + second}\n`;
  }
}

const gaugeMetrics = Object.entries(gauges).map(([name, { aggregation }]) => ({
  id: name,
  category: "kri",
  unit: "1",
  description: "A gauge of one scenario.",
  source: { gauge: { name }, intervalSeconds: everySeconds },
  labels: ["region", "tenant"],
  aggregations: [aggregation],
  defaultAggregation: aggregation,
}));
const metrics = Object.entries(scenarios).map(([name, scenario]) => {
  const counted = (result: string): object => ({
    name: `${name}_total`,
    matchers: [{ label: "result", value: result }],
  });
  const source = isHistogram(scenario)
    ? { histogram: { name } }
    : { ratio: { numerator: counted("good"), denominator: counted("all") } };
  return {
    id: name,
    category: "slo",
    unit: "1",
    description: "Events of one scenario.",
    source: { ...source, intervalSeconds: everySeconds },
    labels: ["region", "tenant"],
    aggregations: ["avg"],
    defaultAggregation: "avg",
  };
});
const objective = { domain: "tests", objective: 0.9, windowDays: 1, burnRates: [6, 4, 2, 1] };
const eventSlos = Object.entries(scenarios).map(([name, { slo }]) => ({ name, metric: name, ...objective, ...slo }));
const gaugeSlos = Object.entries(gauges).map(([name, { operator }]) => {
  const over = { operator, threshold, sliceSeconds: 60 };
  return { name: name.replaceAll("_", "-"), metric: name, ...objective, over };
});
const slos = [...eventSlos, ...gaugeSlos];

interface Window {
  readonly rate?: number;
}
interface SloItem {
  readonly name: string;
  readonly status: string;
  readonly sli?: number;
  readonly uncorrected?: { readonly sli: number };
  readonly at: string;
  readonly tiers: readonly {
    readonly severity: string;
    readonly factor: number;
    readonly long: Window;
    readonly short: Window;
  }[];
}
interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly expr: string; readonly labels: Readonly<Record<string, string>> }[];
  }[];
}

let store: PrometheusHandle;
let installation: Installation;
let url: string;
let headers: Readonly<Record<string, string>>;
let rulesOf: ReadonlyMap<string, Rules["groups"][number]["rules"]>;
const forms = ["prometheus", "vmalert"];
beforeAll(async () => {
  store = await startPrometheus({ openMetrics: samples() });
  installation = await makeInstallation();
  const stores = [{ name: "eu", region: "eu", prometheus: { url: store.url } }];
  const quota = { class: "A", clients: [{ clientId: "test" }], limits: { requestsPerSecond: 1_000, burst: 1_000 } };
  await writeFile(
    join(installation.folder, "resources.json"),
    JSON.stringify({
      apiVersion: "v1",
      kind: "List",
      items: [
        plainObject("MetricCatalog", { stores, metrics: [...metrics, ...gaugeMetrics], slos }),
        plainObject("QueryClassQuota", quota),
      ],
    }),
  );
  ({ url } = (await installation.start()).line);
  rulesOf = new Map(await Promise.all(forms.map(printedRules)));
  headers = { authorization: `Bearer ${await installation.token({ tenants: ["lumen", "other"] })}` };
});
afterAll(async () => {
  await installation?.remove();
  await store?.stop();
});

async function printedRules(form: string): Promise<[form: string, rules: Rules["groups"][number]["rules"]]> {
  const { stdout } = await runProgram(["rules", installation.folder, "--tenant", "lumen", "-o", form]);
  return [form, (parse(stdout) as Rules).groups.flatMap((group) => group.rules)];
}

async function asked<Body>(path: string, more: Readonly<Record<string, string>> = {}): Promise<Body> {
  const response = await fetch(`${url}${path}`, { headers: { ...headers, ...more } });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text) as Body;
}

/** The value of an alert at an instant; undefined while it does not fire. */
async function alertAt(expr: string, at: string, more?: Readonly<Record<string, string>>): Promise<number | undefined> {
  const query = new URLSearchParams({ query: expr, time: String(Date.parse(at) / 1_000) });
  const { data } = await asked<{
    readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
  }>(`/prometheus/api/v1/query?${query.toString()}`, more);
  const [series] = data.result;
  return series === undefined ? undefined : Number(series.value[1]);
}

/** The burn rate of the long window of the first tier that fires. */
function firingRate({ status, tiers }: SloItem, severity: string): number | undefined {
  if (status === "insufficient_data") return undefined;
  const own = tiers.filter((tier) => tier.severity === severity);
  return own.find(({ long, short, factor }) => (long.rate ?? 0) > factor && (short.rate ?? 0) > factor)?.long.rate;
}

const statuses = [
  ...Object.entries(scenarios).map(([name, { status }]) => [name, status] as const),
  ...Object.entries(gauges).map(([name, { status }]) => [name.replaceAll("_", "-"), status] as const),
];

/** Undefined for an objective without corrections. */
const isWorseWithAllEvents = ({ sli = 0, uncorrected }: SloItem): boolean | undefined =>
  uncorrected && uncorrected.sli < sli - 0.01;

const digits = (value: number | undefined): string | undefined => value?.toPrecision(9);

describe.each(forms)("the printed rules in the form %s", (form) => {
  test.each(statuses)("fire for the objective %s as the SLO endpoint says", async (name, status) => {
    const more = form === "vmalert" ? { "x-scope-orgid": "lumen" } : {};
    const { data } = await asked<{ readonly data: readonly SloItem[] }>(`/v1/metrics/slo?tenant=lumen&slo=${name}`);
    const [item] = data;
    if (item === undefined) throw new Error(`the API does not show ${name}`);
    const rules = (rulesOf.get(form) ?? []).filter(({ labels }) => labels["slo"] === name);
    const values = await Promise.all(rules.map(({ expr }) => alertAt(expr, item.at, more)));
    expect(item.status).toBe(status);
    expect(values.map(digits)).toEqual(["page", "ticket"].map((severity) => digits(firingRate(item, severity))));
    expect(values[0] !== undefined).toBe(status === "critical");
    expect(values[0] === undefined && values[1] !== undefined).toBe(status === "increasing");
  });

  test.each(Object.entries(scenarios))(
    "fire for the objective %s as the SLO endpoint says",
    async (name, { status }) => {
      const more = form === "vmalert" ? { "x-scope-orgid": "lumen" } : {};
      const { data } = await asked<{ readonly data: readonly SloItem[] }>(`/v1/metrics/slo?tenant=lumen&slo=${name}`);
      const [item] = data;
      if (item === undefined) throw new Error(`the API does not show ${name}`);
      const rules = (rulesOf.get(form) ?? []).filter(({ labels }) => labels["slo"] === name);
      const values = await Promise.all(rules.map(({ expr }) => alertAt(expr, item.at, more)));
      expect(item.status).toBe(status);
      expect(isWorseWithAllEvents(item)).toBe(["maintained", "restored"].includes(name) ? true : undefined);
      expect(values.map(digits)).toEqual(["page", "ticket"].map((severity) => digits(firingRate(item, severity))));
      expect(values[0] !== undefined).toBe(status === "critical");
      expect(values[0] === undefined && values[1] !== undefined).toBe(status === "increasing");
    },
  );
});

test.each(gaugeSlos.map(({ name }) => name))(
  "the printed rules of %s have the same values on the Prometheus that holds its gauge",
  async (name) => {
    const { data } = await asked<{ readonly data: readonly SloItem[] }>(`/v1/metrics/slo?tenant=lumen&slo=${name}`);
    const [item] = data;
    if (item === undefined) throw new Error(`the API does not show ${name}`);
    const rules = (rulesOf.get("prometheus") ?? []).filter(({ labels }) => labels["slo"] === name);
    const values = rules.map(async ({ expr }) => {
      const query = new URLSearchParams({ query: expr, time: String(Date.parse(item.at) / 1_000) });
      const response = await fetch(`${store.url}/api/v1/query?${query.toString()}`);
      const body = (await response.json()) as {
        readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
      };
      const [series] = body.data.result;
      return series === undefined ? undefined : Number(series.value[1]);
    });
    const expected = ["page", "ticket"].map((severity) => digits(firingRate(item, severity)));
    expect((await Promise.all(values)).map(digits)).toEqual(expected);
  },
);

const waitMsMax = 60_000;

interface VmalertRules {
  readonly data: {
    readonly groups: readonly {
      readonly rules: readonly {
        readonly state: string;
        readonly lastError: string;
        readonly labels: Readonly<Record<string, string>>;
      }[];
    }[];
  };
}

/** A vmalert with the flags of `docs/recipes/vmalert.yaml` over the rules that are for it. */
async function startVmalert(): Promise<{
  readonly server: ServerProcess;
  readonly rules: () => Promise<VmalertRules>;
}> {
  const [file, token] = [join(installation.data, "slo-rules.yaml"), join(installation.data, "alert-token")];
  const args = ["rules", installation.folder, "--tenant", "lumen", "-o", "vmalert"];
  await writeFile(file, (await runProgram(args)).stdout);
  await writeFile(token, headers["authorization"]?.slice("Bearer ".length) ?? "");
  const address = `127.0.0.1:${await freePort()}`;
  const rules = async (): Promise<VmalertRules> =>
    (await (await fetch(`http://${address}/api/v1/rules`)).json()) as VmalertRules;
  const server = await startServerProcess({
    name: "vmalert",
    command: await resolveTool("vmalert"),
    args: [
      `-rule=${file}`,
      "-rule.validateExpressions=false",
      `-datasource.url=${url}/prometheus`,
      `-datasource.bearerTokenFile=${token}`,
      "-evaluationInterval=2s",
      "-notifier.blackhole",
      `-httpListenAddr=${address}`,
    ],
    ready: async () => (await rules()).data.groups.length > 0,
  });
  return { server, rules };
}

test("vmalert fires what the SLO endpoint says, of the tenant in the header of its groups", async () => {
  const { data } = await asked<{ readonly data: readonly SloItem[] }>("/v1/metrics/slo?tenant=lumen");
  const expected = data.flatMap((item) =>
    ["page", "ticket"].filter((severity) => firingRate(item, severity)).map((severity) => `${item.name} ${severity}`),
  );
  const { server, rules } = await startVmalert();
  const all = async () => (await rules()).data.groups.flatMap((group) => group.rules);
  const firing = async (): Promise<string> =>
    (await all())
      .filter(({ state }) => state === "firing")
      .map(({ labels }) => `${labels["slo"]} ${labels["severity"]}`)
      .sort()
      .join();
  try {
    const fires = async (): Promise<boolean> => (await firing()) === expected.toSorted().join();
    await waitFor(fires, { timeoutMs: waitMsMax, pollMs: 200, what: "the alerts" }).catch(() => undefined);
    expect(await firing()).toBe(expected.toSorted().join());
    expect((await all()).flatMap(({ lastError }) => lastError || [])).toEqual([]);
    expect(expected.length).toBeGreaterThan(3);
  } finally {
    await server.stop();
  }
});
