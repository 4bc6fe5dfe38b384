import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readArguments } from "../../../cli/dispatch.ts";
import { plainObject } from "../../crds/valid-objects.ts";
import { freePort } from "../../support/free-port.ts";
import { runProgram } from "../../support/heliograph-process.ts";
import { startPrometheus, type PrometheusHandle } from "../../support/prometheus.ts";
import { waitFor } from "../../support/wait.ts";
import { makeInstallation, type Installation } from "../installation.ts";

const minutes = 120;
const startSeconds = Math.floor(Date.now() / 1000) - minutes * 60;
/** Events of one sample and the share of good ones, by metric. */
const shares = { good: [100, 1], bad: [100, 0.5], rare: [0.01, 1] } as const;

/** A counter of good and of bad events, and a gauge, over the last two hours. */
function samples(): string {
  const times = Array.from({ length: minutes * 4 }, (_, index) => index);
  const counter = ([name, [events, share]]: readonly [string, readonly [number, number]]): readonly string[] =>
    (["ok", "failed"] as const).flatMap((result) =>
      times.map((index) => {
        const each = events * (result === "ok" ? share : 1 - share);
        return `${name}_total{tenant="lumen",result="${result}"} ${index * each} ${startSeconds + index * 15}`;
      }),
    );
  const gauge = times.map(
    (index) => `cpu_utilization_ratio{tenant="lumen",service="a,b"} 0.5 ${startSeconds + index * 15}`,
  );
  return [
    ...Object.entries(shares).flatMap((entry) => [`# TYPE ${entry[0]} counter`, ...counter(entry)]),
    "# TYPE cpu_utilization_ratio gauge",
    ...gauge,
    "# EOF",
    "",
  ].join("\n");
}

const ratio = (name: string) => ({
  id: `${name}_rate`,
  category: "slo",
  unit: "ratio",
  description: "Share of good events.",
  source: {
    ratio: {
      numerator: { name: `${name}_total`, matchers: [{ label: "result", value: "ok" }] },
      denominator: { name: `${name}_total` },
    },
    intervalSeconds: 15,
  },
  labels: ["region", "tenant"],
  aggregations: ["avg"],
  defaultAggregation: "avg",
});

const objective = (name: string) => ({
  name,
  domain: name === "rare" ? "night" : "day",
  metric: `${name}_rate`,
  objective: 0.9,
  windowDays: 1,
  burnRates: [2, 2, 2, 2],
});

let store: PrometheusHandle;
let installation: Installation;
let connection: readonly string[];

beforeAll(async () => {
  store = await startPrometheus({ openMetrics: samples() });
  installation = await makeInstallation();
  const [cpu] = (plainObject("MetricCatalog").spec as { readonly metrics: readonly object[] }).metrics;
  const catalog = plainObject("MetricCatalog", {
    stores: [{ name: "eu", region: "eu", prometheus: { url: store.url } }],
    metrics: [{ ...cpu, labels: ["region", "tenant", "service"] }, ...Object.keys(shares).map(ratio)],
    slos: Object.keys(shares).map(objective),
  });
  await installation.write("catalog.yaml", JSON.stringify(catalog));
  const { line } = await installation.start();
  const tokenFile = join(installation.data, "a token");
  await writeFile(tokenFile, await installation.token({ tenants: ["lumen"] }));
  connection = ["--url", line.url, "--token-file", tokenFile];
});

afterAll(async () => {
  await installation?.remove();
  await store?.stop();
});

const heliograph = (...args: readonly string[]) => runProgram([...args, ...connection]);

describe("heliograph query", () => {
  const query = ["query", "cpu_util", "--last", "1h", "--step", "5m", "--group-by", "service"];

  test("prints a line per series", async () => {
    const { code, stdout, stderr } = await heliograph(...query, "--tenant", "lumen");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [titles = "", row = "", ...more] = stdout.trimEnd().split("\n");
    expect(titles.split(/ {2,}/u)).toEqual(["METRIC", "LABELS", "POINTS", "MIN", "MAX", "LAST", "AT"]);
    expect(row).toMatch(/^cpu_util +service=a,b +1[0-3] +0\.5 +0\.5 +0\.5 +20/u);
    expect(more).toEqual([]);
  });

  test("prints ranks, and the earlier value with its change", async () => {
    const { code, stdout, stderr } = await heliograph(...query, "--tenant", "lumen", "--top", "1", "--compare", "5m");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [titles = "", row = ""] = stdout.trimEnd().split("\n");
    const compared = ["RANK", "METRIC", "LABELS", "POINTS", "MIN", "MAX", "LAST", "AT", "BEFORE", "CHANGE"];
    expect(titles.split(/ {2,}/u)).toEqual(compared);
    expect(row).toMatch(/^1 +cpu_util +service=a,b +1[0-3] +0\.5 +0\.5 +0\.5 +20\S+ +0\.5 +0%$/u);
  });

  test("prints the plan and the price instead, and reads nothing", async () => {
    const { code, stdout, stderr } = await heliograph(...query, "--tenant", "lumen", "--plan");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /^allowed +yes\nclass +[ABC]\ncost +\d+ cost units; \d+ of \d+ are left\npoints +1[0-3] of 300 s/u,
    );
    expect(stdout).toContain('promql    avg by (service) (avg_over_time(cpu_util{tenant="lumen"}[5m]))\n');
    const refused = await heliograph("query", "nothing", "--plan", "-o", "json");
    expect(JSON.parse(refused.stdout)).toMatchObject({ allowed: false, refusal: { code: "unknown_metric" } });
    expect((await heliograph("query", "nothing", "--plan")).stdout).toMatch(
      /^allowed +no\nrefused +unknown_metric: the metric nothing is not in the catalog/u,
    );
  });

  test("draws a chart", async () => {
    const { code, stdout } = await heliograph(...query, "-o", "chart");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^cpu_util service=a,b\n0\.5 │/u);
    expect(stdout).toMatch(/[▁▂▃▄▅▆▇█]/u);
  });

  test("prints the CSV of the server, with quotes where a value has a comma", async () => {
    const { code, stdout } = await heliograph(...query, "-o", "csv");
    expect(code).toBe(0);
    const [titles, first = ""] = stdout.split("\r\n");
    expect(titles).toBe("metric,service,timestamp,value");
    expect(first).toMatch(/^cpu_util,"a,b",20[\dT:.-]+Z,0\.5$/u);
  });

  test("prints the body of the server, and curl gets the same", async () => {
    const times = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T01:00:00Z"];
    const own = ["query", "cpu_util", ...times, "--filter", "tenant=lumen"];
    const { stdout } = await heliograph(...own, "-o", "json");
    expect(JSON.parse(stdout)).toMatchObject({ data: [], meta: { from: "2026-01-01T00:00:00.000Z" } });
    const { stdout: command } = await heliograph(...own, "-o", "curl");
    expect(command).not.toContain((await installation.token()).slice(0, 10));
    const curled = await promisify(execFile)("sh", ["-c", command]);
    expect(JSON.parse(curled.stdout)).toEqual(JSON.parse(stdout));
  });

  test("says what the server refuses, and ends with 11", async () => {
    expect(await heliograph("query", "cpu_util", "--step", "1s")).toMatchObject({
      code: 11,
      stdout: "",
      stderr: expect.stringMatching(/^heliograph: the server rejected the request with 400 \w+: .*step.*\n$/u),
    });
  });

  test("ends with 12 where no server listens", async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stderr } = await runProgram(["query", "cpu_util", "--url", url]);
    expect({ code, stderr }).toEqual({ code: 12, stderr: expect.stringContaining(`${url} cannot be reached`) });
  });
});

describe("heliograph slo", () => {
  test("lists objectives for people and for programs", async () => {
    const { code, stdout } = await heliograph("slo", "-o", "wide");
    expect(code).toBe(0);
    const rows = stdout.trimEnd().split("\n");
    expect(rows[0]).toMatch(/^NAME +TENANT +REGIONS +DOMAIN +METRIC +STATUS +OBJECTIVE +ACTUAL +BUDGET LEFT +BURN/u);
    expect(rows[0]).toMatch(/ BURN +SPENT IN +CORRECTIONS +DAYS/u);
    expect(rows.slice(1).map((row) => row.split(/ {2,}/u).slice(0, 6))).toEqual([
      ["bad", "lumen", "eu", "day", "bad_rate", "critical"],
      ["good", "lumen", "eu", "day", "good_rate", "ok"],
      ["rare", "lumen", "eu", "night", "rare_rate", "insufficient_data"],
    ]);
    const json = await heliograph("slo", "bad", "-o", "json");
    const [view, ...more] = json.stdout.trimEnd().split("\n");
    expect(JSON.parse(view ?? "")).toMatchObject({ name: "bad", status: "critical", window_days: 1 });
    expect(more).toEqual([]);
  });
});

describe("heliograph slo --history", () => {
  test("prints the budget of one objective over its window", async () => {
    const { code, stdout, stderr } = await heliograph("slo", "good", "--history", "--tenant", "lumen");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [titles = "", ...rows] = stdout.trimEnd().split("\n");
    expect(titles.split(/ {2,}/u)).toEqual(["AT", "ACTUAL", "BUDGET LEFT"]);
    expect(rows).toHaveLength(31);
    // The store holds two hours of the day.
    expect(rows[0]).toMatch(/^20\S+Z +- +-$/u);
    expect(rows.at(-1)).toMatch(/^20\S+Z +100 % +100 %$/u);
    const json = await heliograph("slo", "bad", "--history", "-o", "json");
    expect(JSON.parse(json.stdout)).toMatchObject({ meta: { name: "bad", tenant: "lumen", partial: false } });
  });

  test("draws a chart of it", async () => {
    const { code, stdout, stderr } = await heliograph("slo", "bad", "--history", "-o", "chart");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    // Half of the events are bad where a tenth may be. The store holds two hours of the day.
    expect(stdout).toMatch(/^bad: % of the error budget left tenant=lumen\n-400 │\n/u);
    expect(stdout).toMatch(/\n-400 │ +█+\n +20\S+Z +20\S+Z\n$/u);
  });

  test("says when there were no events, and which objective does not exist", async () => {
    const [, url = ""] = connection;
    const token = await installation.token({ tenants: ["idle"] });
    const idle = await runProgram(["slo", "good", "--history", "--url", url], {
      environment: { HELIOGRAPH_TOKEN: token },
    });
    expect(idle).toMatchObject({ code: 0, stderr: "the stores have no events in this window\n" });
    expect(idle.stdout.trimEnd().split("\n")).toHaveLength(32);
    const { code, stderr } = await heliograph("slo", "absent", "--history");
    expect({ code, stderr }).toEqual({ code: 11, stderr: expect.stringContaining("404 not_found") });
  });

  test.each([
    [["slo", "--history"], "slo --history needs the NAME of an objective."],
    [["slo", "good", "-o", "chart"], "slo supports chart output only with --history."],
    [["slo", "good", "--history", "-o", "csv"], "--output must be one of table, wide, json, yaml, not csv."],
  ])("refuses %j", async (line, sentence) => {
    await expect(readArguments(line, {})).rejects.toThrow(sentence);
  });
});

describe("heliograph gate", () => {
  test.each([
    ["green", ["good"], 0, /^green lumen\/good in eu: 100 % of the error budget is left\n$/u],
    ["red", ["bad"], 1, /^red lumen\/bad in eu: the error budget is spent; the burn rate is 5 over .*\n$/u],
    ["undecided", ["rare"], 13, /^undecided lumen\/rare in eu: \d+ events of at least 100 required\n$/u],
    [
      "red of several",
      ["--tenant", "lumen"],
      1,
      /^red lumen\/bad in eu: .*\ngreen lumen\/good in eu: .*\nundecided lumen\/rare in eu: /u,
    ],
  ] as const)("is %s", async (_what, args, expected, lines) => {
    const { code, stdout } = await heliograph("gate", ...args);
    expect({ code, stdout }).toEqual({ code: expected, stdout: expect.stringMatching(lines) });
  });

  test("prints one object for programs, with the exit code of its result", async () => {
    const { code, stdout } = await heliograph("gate", "--tenant", "lumen", "--output", "json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      result: "red",
      objectives: [
        expect.objectContaining({ name: "bad", tenant: "lumen", result: "red", status: "critical" }),
        expect.objectContaining({ name: "good", result: "green", why: expect.stringContaining("100 %") as string }),
        expect.objectContaining({ name: "rare", result: "undecided", regions: [{ region: "eu", state: "ok" }] }),
      ],
    });
  });

  test.each([
    ["domain", ["gate", "--domain", "nowhere"], "the domain nowhere"],
    ["region", ["gate", "--region", "mars"], "the region mars"],
    ["name", ["gate", "nope", "-o", "json"], "The objective nope does not exist"],
    ["name, of a list", ["slo", "nope"], "The objective nope does not exist"],
  ])("names a %s that no objective has", async (_what, args, sentence) => {
    const { code, stdout, stderr } = await heliograph(...args);
    expect({ code, stdout, stderr }).toEqual({
      code: 11,
      stdout: "",
      stderr: expect.stringContaining(sentence) as string,
    });
  });
});

describe("heliograph usage", () => {
  test("prints a line per group and the total, and the same as CSV", async () => {
    await heliograph("query", "good_rate", "--tenant", "lumen");
    const usage = ["usage", "--group-by", "tenant,metric", "--metric", "good_rate"];
    const isStored = async () => (await heliograph(...usage)).stdout.includes("good_rate");
    await waitFor(isStored, { timeoutMs: 10_000, what: "usage of the query" });
    const { code, stdout } = await heliograph(...usage);
    expect(code).toBe(0);
    const [head, row, total] = stdout.split("\n");
    expect(head).toMatch(/^TENANT +METRIC +REQUESTS +POINTS +CACHED +BYTES +ESTIMATE +COST$/u);
    expect(row).toMatch(/^lumen +good_rate +[1-9]/u);
    expect(total).toMatch(/^TOTAL +- +[1-9]/u);
    const table = await heliograph(...usage, "-o", "csv");
    expect(table.stdout).toMatch(/^from,to,tenant,metric,requests,[^\n]+\r\n[^\n]+,lumen,good_rate,/u);
  });
});

describe("heliograph quota", () => {
  test("prints a line per class", async () => {
    const { code, stdout, stderr } = await heliograph("quota", "-o", "wide");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /^CLASS +CLIENT +REQUESTS LEFT +PER SECOND +COST LEFT +PER MINUTE +RUNNING +KNOWN BY\n[ABC] /u,
    );
    expect(stdout).toMatch(/ 0 of \d+ +home_pod\n/u);
  });
});
