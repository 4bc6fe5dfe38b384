import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findPythonProgram } from "../support/python-program.ts";
import type { ClientSeries, PrometheusClient } from "./clients/client.ts";
import { goClient } from "./clients/go-client.ts";
import { nodeClient } from "./clients/node-client.ts";
import { promtoolClient } from "./clients/promtool.ts";
import { pythonClient } from "./clients/python-client.ts";
import { settledAt, startTwoRegions, type TwoRegions } from "./installation.ts";

const python = await findPythonProgram("prometheus-api-client");
const clientNames = [
  "promtool",
  "client_golang",
  "prometheus-query",
  "prometheus-query by POST",
  ...("missing" in python ? [] : ["prometheus-api-client by GET", "prometheus-api-client by POST"]),
];
if ("missing" in python) process.stderr.write(`heliograph tests: not run: ${python.missing}\n`);

let two: TwoRegions;
let clients: ReadonlyMap<string, PrometheusClient>;
let token: string;
beforeAll(async () => {
  two = await startTwoRegions();
  const target = await two.target();
  token = target.token;
  const folder = join(two.folder, "promtool");
  await mkdir(folder);
  const all = [
    await promtoolClient(target, folder),
    await goClient(target),
    nodeClient(target),
    nodeClient(target, true),
    ...("missing" in python
      ? []
      : (["GET", "POST"] as const).map((http) => pythonClient(target, python.command, http))),
  ];
  clients = new Map(all.map((client) => [client.name, client]));
});
afterAll(async () => two?.stop());

function named(name: string): PrometheusClient {
  const found = clients.get(name);
  if (found === undefined) throw new Error(`no client ${name}`);
  return found;
}

/** Expressions and the native queries that they are, over intervals of five minutes. */
const sameValues: readonly (readonly [expression: string, native: string])[] = [
  [
    'avg by (service) (avg_over_time(queue_lag{tenant="lumen"}[5m]))',
    "metric=queue_lag&agg=avg&group_by=service&filter[tenant]=lumen",
  ],
  [
    'max(max_over_time(queue_lag{tenant="lumen",region="latam"}[5m]))',
    "metric=queue_lag&agg=max&filter[tenant]=lumen&filter[region]=latam",
  ],
  ['sum(rate(payments{tenant="lumen"}[5m]))', "metric=payments&agg=avg&filter[tenant]=lumen"],
  ["sum by (region) (increase(payments[5m]))", "metric=payments&agg=sum&group_by=region"],
  ["avg(avg_over_time(payments_success[5m]))", "metric=payments_success&agg=avg"],
  ["histogram_quantile(0.95, sum by (service, le) (rate(latency[5m])))", "metric=latency&agg=p95&group_by=service"],
];

interface NativeBody {
  readonly data: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly points: readonly (readonly [time: string, value: number])[];
  }[];
}

/** The native API's series over the points of the last `count` intervals. */
async function native(query: string, count: number): Promise<readonly ClientSeries[]> {
  const [from, to] = [settledAt - count * 300, settledAt].map((seconds) => new Date(seconds * 1_000).toISOString());
  const url = `${two.url}/v1/metrics/query?${encodeURI(query)}&step=5m&from=${from}&to=${to}`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  expect(response.status).toBe(200);
  return ((await response.json()) as NativeBody).data.map(({ labels, points }) => ({
    labels,
    points: points.map(([time, value]) => [Date.parse(time) / 1_000, value] as const),
  }));
}

function sorted(series: readonly ClientSeries[]): readonly ClientSeries[] {
  const key = ({ labels }: ClientSeries): string => JSON.stringify([labels["service"], labels["region"]]);
  return [...series].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

describe.each(clientNames)("%s", (name) => {
  test.each(sameValues)("gets the values of the native API for %s", async (expression, query) => {
    const wanted = sorted(await native(query, 1));
    expect(wanted.length).toBeGreaterThan(0);
    const { series } = await named(name).instant(expression, settledAt);
    expect(sorted(series)).toEqual(wanted);
  });

  test("gets the values of the native API over a range", async () => {
    const [expression, query] = sameValues[0] ?? ["", ""];
    const { series } = await named(name).range(expression, { start: settledAt - 900, end: settledAt, step: 300 });
    expect(sorted(series)).toEqual(sorted(await native(query, 4)));
  });

  test("lists the metrics of the caller", async () => {
    expect(await named(name).labelValues("__name__")).toEqual(
      expect.arrayContaining(["alarm_level", "latency", "payments", "payments_success", "queue_lag"]),
    );
  });

  test("looks labels and series up", async () => {
    expect(await named(name).labelValues("service")).toEqual(["api", "web"]);
    expect(await named(name).series('queue_lag{region="eu"}')).toEqual(
      expect.arrayContaining(
        ["api", "web"].map((service) => ({ __name__: "queue_lag", region: "eu", tenant: "lumen", service })),
      ),
    );
  });

  test("shows its user how to write what is refused", async () => {
    await expect(named(name).instant('queue_lag{tenant="lumen"}', settledAt)).rejects.toThrow(/aggregated/u);
  });

  test("shows its user that a tenant is forbidden", async () => {
    const other = 'avg(avg_over_time(queue_lag{tenant="other"}[5m]))';
    await expect(named(name).instant(other, settledAt)).rejects.toThrow(/tenant/u);
  });
});

/** A request as Grafana's data source for Prometheus sends it. */
async function grafana(method: "GET" | "POST", path: string, parameters: readonly (readonly [string, string])[] = []) {
  const form = new URLSearchParams(parameters.map(([name, value]): [string, string] => [name, value]));
  const headers = { authorization: `Bearer ${token}` };
  const isForm = method === "POST";
  const target = `${two.url}/prometheus/api/v1/${path}${isForm ? "" : `?${form.toString()}`}`;
  const response = await fetch(target, { method, headers, ...(isForm ? { body: form } : {}) });
  return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
}

describe("Grafana's data source", () => {
  const hour = [
    ["start", String(settledAt - 3_600)],
    ["end", String(settledAt)],
  ] as const;
  const lag = ["match[]", 'queue_lag{tenant="lumen"}'] as const;
  const range = (query: string) => [["query", query], ["step", "60"], ...hour] as const;
  const rows = [
    [
      "finds the API healthy",
      [
        "POST",
        "query",
        [
          ["query", "1+1"],
          ["time", "4"],
        ],
      ],
      { status: 200, body: { status: "success", data: { resultType: "scalar", result: [4, "2"] } } },
    ],
    [
      "finds exemplars, with times in milliseconds",
      [
        "GET",
        "query_exemplars",
        [
          ["query", "test"],
          ["start", `${Date.now() - 1_000}`],
          ["end", `${Date.now()}`],
        ],
      ],
      { status: 200, body: { status: "success" } },
    ],
    ["reads the version", ["GET", "status/buildinfo"], { status: 200, body: { status: "success" } }],
    ["sees that metadata is no form", ["POST", "metadata"], { status: 405 }],
    [
      "reads metadata by GET then",
      ["GET", "metadata"],
      { status: 200, body: { data: { queue_lag: [{ type: "gauge", unit: expect.any(String) }] } } },
    ],
    ["lists label names", ["POST", "labels", [lag, ...hour]], { status: 200, body: { status: "success" } }],
    [
      "lists values of a label",
      ["GET", "label/service/values", [lag, ...hour]],
      { status: 200, body: { data: ["api", "web"] } },
    ],
    ["lists metrics", ["GET", "label/__name__/values", hour], { status: 200, body: { status: "success" } }],
    [
      "draws a panel",
      ["POST", "query_range", range("sum by (service) (rate(payments[1m]))")],
      { status: 200, body: { data: { resultType: "matrix" } } },
    ],
    ["reads the features", ["GET", "features"], { status: 200, body: { data: { promql_functions: { rate: true } } } }],
    [
      "lists values of a label without a metric",
      ["GET", "label/service/values", hour],
      { status: 200, body: { data: ["api", "web"] } },
    ],
    ["finds no rules", ["GET", "rules"], { status: 200, body: { data: { groups: [] } } }],
    ["finds no alerts", ["GET", "alerts"], { status: 200, body: { data: { alerts: [] } } }],
  ] as const satisfies readonly (readonly [string, Parameters<typeof grafana>, object])[];

  test.each(rows)("%s", async (_sentence, request, wanted) => {
    const [method, path, parameters] = request;
    expect(await grafana(method, path, parameters)).toMatchObject(wanted);
  });

  test("shows how to write what its builder makes, in words that work", async () => {
    const { status, body } = await grafana("POST", "query_range", range("rate(payments[1m0s])"));
    expect({ status, type: body["errorType"] }).toEqual({ status: 400, type: "bad_data" });
    const [, rewritten = ""] = /must be aggregated; write (?<rewritten>.+)$/u.exec(String(body["error"])) ?? [];
    expect(await grafana("POST", "query_range", range(rewritten))).toMatchObject({ status: 200 });
  });

  test("does not take it for another product", async () => {
    const { body } = await grafana("GET", "status/buildinfo");
    expect(body["data"]).not.toHaveProperty("features");
  });
});

describe("only", () => {
  test("client_golang reads metadata, the version, rules and a canonical text", async () => {
    const { token: bearer, url } = await two.target();
    const client = await goClient({ token: bearer, url });
    expect(await client.ask("metadata", "queue_lag")).toMatchObject({ queue_lag: [{ type: "gauge" }] });
    expect(await client.ask("buildinfo")).toHaveProperty("version");
    expect(await client.ask("rules")).toEqual({ groups: [] });
    expect(await client.ask("format_query", "avg( avg_over_time(queue_lag[5m]) )")).toBe(
      '"avg(avg_over_time(queue_lag[5m]))"',
    );
  });

  test.skipIf("missing" in python)("prometheus-api-client looks whether the server is there", async () => {
    const client = pythonClient(await two.target(), "missing" in python ? "" : python.command);
    expect(await client.ask("check")).toBe(true);
    expect(await client.ask("all_metrics")).toContain("queue_lag");
  });
});
