import type { Slo } from "../../../api/objectives.ts";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { readArguments } from "../../../cli/dispatch.ts";
import { chartOf } from "../../../cli/metrics/series.ts";
import { curlOf } from "../../../cli/metrics/query.ts";
import { resultOf } from "../../../cli/metrics/gate.ts";
import { regionsOf, sloColumns } from "../../../cli/metrics/read-slos.ts";
import { runProgram } from "../../support/heliograph-process.ts";

const read = async (line: string) => (await readArguments(line.split(" "), {})).args;

describe("the parameters of a query", () => {
  test("are the flags, several metrics and labels among them", async () => {
    const times = "--from 2026-01-01T00:00:00Z --to 2026-01-01T01:00:00Z --step 5m";
    const labels = "--filter service=api --filter device=a=b --tenant lumen --group-by region,psp";
    expect(await read(`query cpu_util lag ${times} --agg max --downsample 1h --complete ${labels}`)).toMatchObject({
      query: {
        metric: ["cpu_util", "lag"],
        from: "2026-01-01T00:00:00Z",
        to: "2026-01-01T01:00:00Z",
        step: "5m",
        agg: "max",
        downsample: "1h",
        complete: "required",
        group_by: "region,psp",
        "filter[service]": "api",
        "filter[device]": "a=b",
        "filter[tenant]": "lumen",
      },
    });
  });

  test("have a ranking and an earlier window", async () => {
    expect(await read("query cpu_util --top 3 --by avg --order asc --compare 1w")).toMatchObject({
      query: { top: "3", by: "avg", order: "asc", compare: "1w" },
    });
  });

  test("of --last end now", async () => {
    const { query } = (await read("query cpu_util --last 2h")) as { query: { from: string; to: string } };
    expect(Date.parse(query.to) - Date.parse(query.from)).toBe(7_200_000);
  });

  test("of --last stay relative in a command for curl", async () => {
    const { query } = (await read("query cpu_util --last 2h -o curl")) as { query: Readonly<Record<string, string>> };
    expect(query).toMatchObject({ last: "2h" });
    expect([query["from"], query["to"]]).toEqual([undefined, undefined]);
    expect(curlOf("http://h:1", query, undefined)).toContain("last=2h");
    expect(await read("query cpu_util --from now-6h -o curl")).toMatchObject({ query: { from: "now-6h" } });
  });

  test("have a list for a repeated label", async () => {
    const { query } = (await read("query cpu_util --filter psp=a --filter psp=b --filter geo=x")) as { query: object };
    expect(query).toMatchObject({ "filter_in[psp]": ["a", "b"], "filter[geo]": "x" });
    expect(query).not.toHaveProperty("filter[psp]");
    expect(await read("query cpu_util --filter psp=a,b,region=eu --filter device=c,d=e")).toMatchObject({
      query: { "filter[psp]": "a,b", "filter[region]": "eu", "filter[device]": "c,d=e" },
    });
  });

  test.each([
    ["query cpu_util --last 2h --from 2026-01-01T00:00:00Z", "--last cannot be combined with --from or --to."],
    ["query cpu_util --last soon", "--last must be a duration such as 30m, 6h or 7d, at most 3660d, not soon."],
    ["query cpu_util --filter tenant", "--filter must be LABEL=VALUE, not tenant."],
    ["query cpu_util --filter tenant=a --tenant b", "filter[tenant] is given twice."],
    ["query cpu_util --plan -o csv", "--plan supports table or json, not csv."],
    ["query cpu_util -o xml", "--output must be one of table, chart, csv, json, curl, not xml."],
    ["query", "query needs a METRIC."],
  ])("of %j are refused", async (line, sentence) => {
    await expect(read(line)).rejects.toThrow(sentence);
  });
});

test("a query names deprecated metrics, when they end, and what replaces them", async () => {
  const deprecated = [
    {
      metric: "old_lag",
      deprecated_at: "2026-01-01T00:00:00Z",
      sunset_at: "2026-07-01T00:00:00.000Z",
      replaced_by: "lag",
    },
    { metric: "older_lag", deprecated_at: "2026-01-01T00:00:00Z", sunset_at: "2026-06-30T00:00:00.000Z" },
  ];
  const meta = { from: "2026-03-01T00:00:00Z", to: "2026-03-01T01:00:00Z", regions: [], deprecated };
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ data: [], meta }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { code, stderr } = await runProgram(["query", "old_lag", "older_lag", "--url", `http://127.0.0.1:${port}`]);
  expect(code).toBe(0);
  expect(stderr).toContain("old_lag is deprecated, and ends 2026-07-01; use lag\n");
  expect(stderr).toContain("older_lag is deprecated, and ends 2026-06-30\n");
});

describe("the gate of objectives whose stores do not respond", () => {
  const gate = async (status: number, body: object, ...flags: readonly string[]) => {
    const server = createServer((_request, response) => {
      response.writeHead(status, { "content-type": "application/problem+json" }).end(JSON.stringify(body));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    return runProgram(["gate", "orders", ...flags, "--url", `http://127.0.0.1:${port}`]);
  };
  const late = { code: "store_timeout", detail: "no store responded for any of these objectives: eu (late)" };

  test.each([
    [504, late],
    [502, { ...late, code: "store_failed" }],
  ])("is undecided, with the regions: %i", async (status, body) => {
    const { code, stdout, stderr } = await gate(status, body);
    expect({ code, stderr }).toEqual({ code: 13, stderr: "" });
    expect(stdout).toMatch(/^undecided: .*no store responded for any of these objectives: eu \(late\)\n$/u);
  });

  test("is undecided for programs too", async () => {
    const { code, stdout } = await gate(504, late, "-o", "json");
    expect([code, JSON.parse(stdout)]).toEqual([
      13,
      { result: "undecided", objectives: [], why: expect.stringContaining("eu (late)") as string },
    ]);
  });

  test("is refused by any other error", async () => {
    expect((await gate(503, { code: "not_ready", detail: "It starts." })).code).toBe(11);
  });
});

describe("a chart", () => {
  const fromMs = Date.UTC(2026, 0, 1);
  const at = (minute: number): string => new Date(fromMs + minute * 60_000).toISOString();
  const window = { fromMs, toMs: fromMs + 20 * 60_000 };
  const chart = (points: readonly (readonly [string, number])[], width = 40): readonly string[] =>
    chartOf({ metric: "cpu_util", labels: { region: "eu" }, points }, window, width).split("\n");

  test("rises with its values, names the highest, the lowest and both times", () => {
    const lines = chart(Array.from({ length: 20 }, (_, index) => [at(index), index] as const));
    expect(lines).toEqual([
      "cpu_util region=eu",
      "19 │                 ▁▅█",
      "   │               ▃▆███",
      "   │            ▁▄▇█████",
      "   │          ▂▅████████",
      "   │        ▄▇██████████",
      "   │     ▂▅█████████████",
      "   │   ▃▆███████████████",
      " 0 │▁▄██████████████████",
      "    2026-01-01T00:00Z  2026-01-01T00:20Z",
      "",
    ]);
  });

  test("leaves a gap empty", () => {
    const lines = chart([
      [at(0), 1],
      [at(19), 2],
    ]);
    expect((lines.at(-3) ?? "").slice(3)).toMatch(/^▁ {18}█$/u);
  });

  test("of one value, and of none, is drawn", () => {
    expect(chart([[at(0), 0.5]])[1]).toContain("0.5");
    expect(chart([])).toHaveLength(11);
  });

  test.each([20, 40, 80, 200])("fits into %i columns", (width) => {
    const many = Array.from({ length: 1_000 }, (_, index) => [at(index / 50), Math.sin(index)] as const);
    const widest = Math.max(
      ...chart(many, width)
        .slice(1, 9)
        .map((line) => line.length),
    );
    expect(widest).toBeLessThanOrEqual(Math.max(width, 30));
  });

  test("shows no character that controls a terminal", () => {
    const labels = { region: "\u001B[31meu" };
    expect(chartOf({ metric: "m", labels, points: [] }, window, 40)).not.toContain("\u001B");
  });
});

describe("a command for curl", () => {
  test("asks the same, and a shell hands it on whole", () => {
    const line = curlOf("http://h:1", { metric: ["a"], "filter[psp]": "o'hara & co", from: undefined }, "my token");
    expect(line).not.toContain("undefined");
    const words = execFileSync("sh", ["-c", `cat() { echo from "$1"; }; curl() { printf '%s\\n' "$@"; }; ${line}`]);
    expect(words.toString().trimEnd().split("\n")).toEqual([
      "-sS",
      "--fail-with-body",
      "-H",
      "Authorization: Bearer from my token",
      "http://h:1/v1/metrics/query?metric=a&filter%5Bpsp%5D=o%27hara+%26+co",
    ]);
  });

  test("takes the token of the environment without a file", () => {
    expect(curlOf("http://h:1", {}, undefined)).toContain('"Authorization: Bearer $HELIOGRAPH_TOKEN"');
  });
});

describe("the result of an objective", () => {
  const slo: Slo = {
    name: "login",
    domain: "identity",
    tenant: "lumen",
    metric: "auth_success_rate",
    objective: 0.99,
    window_days: 30,
    minimum_events: 100,
    status: "ok",
    sli: 0.995,
    events: { good: 995, total: 1000 },
    error_budget: { total: 0.01, spent: 0.005, remaining: 0.005 },
    tiers: [
      { severity: "page", factor: 14.4, long: { window: "1h", rate: 20 }, short: { window: "5m", rate: 30.123 } },
    ],
    regions: [{ region: "eu", state: "ok" }],
    at: "2026-01-31T12:00:00.000Z",
    burn: {},
  };
  const calm = { ...slo, tiers: [] };

  test("names the calendar window in its column", () => {
    const days = sloColumns.find(({ title }) => title === "DAYS");
    const calendar = { period: "Month", time_zone: "UTC", from: slo.at, to: slo.at } as const;
    expect([slo, { ...slo, calendar }].map((one) => days?.cell(one))).toEqual([30, "30, calendar month (UTC)"]);
  });

  const someMissing = [...slo.regions, { region: "latam", state: "late" as const }];

  test.each([
    ["ok", calm, "green", "50 % of the error budget is left"],
    ["recovering", { ...calm, status: "recovering" }, "green", "50 % of the error budget is left"],
    ["critical", { ...slo, status: "critical" }, "red", "the burn rate is 20 over 1h, above 14.4; 50 % of"],
    ["increasing", { ...slo, status: "increasing" }, "red", "the burn rate is 20 over 1h, above 14.4; 50 % of"],
    [
      "overspent",
      { ...calm, status: "critical", error_budget: { total: 0.01, spent: 0.02, remaining: -0.01 } },
      "red",
      "the error budget is spent; -100 % of the error budget is left",
    ],
    [
      "too few events",
      { ...calm, status: "insufficient_data", events: { good: 6, total: 7 } },
      "undecided",
      "7 events of at least 100 required",
    ],
    [
      "too few events without a region",
      { ...calm, status: "insufficient_data", regions: [{ region: "eu", state: "partial" }] },
      "undecided",
      "1000 events of at least 100 required; data is missing from eu (partial)",
    ],
    [
      "without any store",
      { ...calm, status: "failed", events: undefined, regions: [{ region: "eu", state: "failed" }] },
      "undecided",
      "stores failed: eu (failed)",
    ],
    [
      "of late stores",
      { ...calm, status: "late", regions: someMissing },
      "undecided",
      "stores did not respond in time",
    ],
    ["ok without a region", { ...calm, regions: someMissing }, "undecided", "data is missing from latam (late)"],
    ["red without a region", { ...calm, status: "critical", regions: someMissing }, "red", "missing from latam (late)"],
    ["a status of a later server", { ...calm, status: "degraded" }, "undecided", "the status degraded is not known"],
    ["critical without a region", { ...slo, status: "critical", regions: someMissing }, "red", "the burn rate is 20"],
  ] as const)("that is %s", (_what, view, result, why) => {
    expect(resultOf(view as unknown as Slo)).toEqual({ result, why: expect.stringContaining(why) });
  });

  test("names the regions that are not complete", () => {
    expect(regionsOf({ regions: someMissing })).toBe("eu,latam (late)");
  });
});
