import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runProgram } from "../support/heliograph-process.ts";
import { startDemoInstallation, type DemoInstallation } from "./demo-installation.ts";
import { typeBlocks, type BlockResult } from "./run-blocks.ts";

let installation: DemoInstallation;
let environment: Readonly<Record<string, string>>;

beforeAll(async () => {
  installation = await startDemoInstallation();
  const scopes = "events:write,webhooks:read,metrics:read";
  // That of the demo, which a page asks its readers to export.
  const token = await runProgram([
    "dev-token",
    "--tenant=lumen",
    `--scope=${scopes}`,
    "--role=metrics-finance",
    "--data",
    installation.data,
  ]);
  environment = {
    HELIOGRAPH_URL: installation.url,
    HELIOGRAPH_TOKEN: token.stdout.trim(),
    HELIOGRAPH_DATA: installation.data,
  };
});
afterAll(async () => installation.stop());

const ownProgram = "node bin/heliograph.js";

/** Types the blocks of a page that hold a text. */
async function type(page: string, part = "", program = ownProgram): Promise<readonly BlockResult[]> {
  const isTyped = (_first: string, text: string): boolean => text.includes(part);
  return typeBlocks({ page, url: installation.url, program, environment, isTyped });
}

describe("docs/tutorials/quickstart.md", () => {
  const page = "docs/tutorials/quickstart.md";

  test("sends an event that both partners get", async () => {
    expect(await type(page, "heliograph send")).toMatchObject([
      { stderr: expect.not.stringContaining("refused"), code: 0 },
    ]);
    const [attempts] = await type(page, "heliograph attempts");
    expect(attempts).toMatchObject({ code: 0, stdout: expect.stringMatching(/acme-payments.*200/u) });
    expect(attempts?.stdout).toMatch(/north-ledger.*200/u);
  });

  test("reads a metric", async () => {
    const [read] = await type(page, "heliograph query");
    expect(read).toMatchObject({ code: 0, stdout: expect.stringContaining("psp") });
    expect(read?.stdout.trim().split("\n").length).toBeGreaterThan(2);
  });

  test("validates the examples and makes a token", async () => {
    expect(await type(page, "validate docs/examples")).toMatchObject([{ code: 0 }]);
    expect(await type(page, "dev-token")).toMatchObject([{ code: 0, stdout: expect.stringMatching(tokenForm) }]);
  });
});

test("the command of docs/how-to/tokens.md prints a token, with npx as it stands there", async () => {
  expect(await type("docs/how-to/tokens.md", "", "npx heliograph")).toMatchObject([
    { code: 0, stdout: expect.stringMatching(tokenForm) },
  ]);
});

const tokenForm = /^[\w-]+\.[\w-]+\.[\w-]+\n$/u;

interface Answer {
  readonly data: readonly { readonly points: readonly unknown[]; readonly value: number }[];
  readonly results: readonly { readonly id: string; readonly status: number }[];
  readonly status: string;
}

describe("docs/how-to/prometheus.md", () => {
  test("has commands that succeed, and shows an error that helps", async () => {
    const results = await type("docs/how-to/prometheus.md");
    expect(results.filter(({ code }) => code !== 0)).toEqual([]);
    const printed = (part: string): string => results.find(({ text }) => text.includes(part))?.stdout ?? "";
    const [vector, matrix] = ["max by (component)", "1 - avg by (psp)"].map(
      (part) => (JSON.parse(printed(part)) as PrometheusResponse).data,
    );
    expect([vector?.resultType, matrix?.resultType]).toEqual(["vector", "matrix"]);
    expect(vector?.result.length).toBeGreaterThan(0);
    expect(matrix?.result.length).toBeGreaterThan(0);
    expect(printed("label/psp/values")).toContain('"queue_consumer_lag"');
    expect(printed("query=queue_consumer_lag")).toContain("write avg by (component) (queue_consumer_lag)");
  });
});

interface PrometheusResponse {
  readonly data: { readonly resultType: string; readonly result: readonly unknown[] };
}

describe("docs/how-to/query-metrics.md", () => {
  let results: readonly BlockResult[];
  beforeAll(async () => {
    results = await type("docs/how-to/query-metrics.md");
  });

  /** The JSON objects that the block with this text printed. */
  const answersOf = (part: string): readonly Answer[] => {
    const { stdout = "" } = results.find(({ text }) => text.includes(part)) ?? {};
    return stdout
      .split(/(?<=\})\s*(?=\{"(?:status|data)")/u)
      .filter((text) => text !== "")
      .map((text) => JSON.parse(text) as Answer);
  };
  const only = (part: string): Answer => {
    const [answer, another] = answersOf(part);
    if (answer === undefined || another !== undefined) throw new Error(`the block with ${part} printed no one answer`);
    return answer;
  };

  test("has commands that all succeed, typed in their order", () => {
    expect(results.filter(({ code }) => code !== 0)).toEqual([]);
    expect(results.length).toBeGreaterThanOrEqual(7);
  });

  test("reads metrics, points and values", () => {
    expect(only("/v1/metrics/catalog").data).toHaveLength(3);
    const { data } = only("group_by=psp");
    expect(data.length).toBeGreaterThan(1);
    expect(data.filter(({ points }) => points.length <= 60)).toEqual([]);
    const instant = only("/v1/metrics/instant").data;
    expect(instant.length).toBeGreaterThan(0);
    expect(instant.filter(({ value }) => !Number.isFinite(value))).toEqual([]);
  });

  test("reads a bulk, objectives and health", () => {
    expect(only("/v1/metrics/bulk-query").results.map(({ id, status }) => [id, status])).toEqual([
      ["cpu", 200],
      ["p99", 200],
    ]);
    const [slo, health] = answersOf("/v1/metrics/slo");
    expect(slo?.data.length).toBeGreaterThan(0);
    expect(health?.status).toBe("ok");
  });

  test("shows a refused query with the step to use", () => {
    const { stdout = "" } = results.find(({ text }) => text.includes("step=1s")) ?? {};
    const [body = "", status] = stdout.trim().split("\n");
    expect(status).toBe("400");
    expect(JSON.parse(body)).toMatchObject({ code: "invalid_step", suggestion: { step: "2m" } });
  });
});

describe("docs/how-to/dashboard.md", () => {
  interface Panel {
    readonly data: readonly {
      readonly points: readonly unknown[];
      readonly previous?: readonly unknown[];
      readonly change?: readonly unknown[];
      readonly rank?: number;
      readonly other?: number;
      readonly value?: number;
      readonly cost?: number;
    }[];
    readonly results: readonly { readonly id: string; readonly status: number; readonly data: readonly unknown[] }[];
    readonly meta: { readonly top?: { readonly metrics: readonly { readonly reason?: string }[] } };
  }
  let panels: readonly Panel[];

  test("has ten panels and a bulk, whose commands all succeed", async () => {
    const results = await type("docs/how-to/dashboard.md");
    expect(results.filter(({ code }) => code !== 0)).toEqual([]);
    panels = results.filter(({ text }) => text.includes("curl")).map(({ stdout }) => JSON.parse(stdout) as Panel);
    expect(panels).toHaveLength(11);
  });

  test("has series with points in each panel of series", () => {
    const series = [0, 1, 2, 4, 5].map((index) => panels[index]?.data ?? []);
    expect(series.filter((data) => data.length === 0 || data.some(({ points }) => points.length === 0))).toEqual([]);
  });

  test("compares the first panel with the day before", () => {
    for (const { points, previous, change } of panels[0]?.data ?? [])
      expect([Array.isArray(previous), change?.length]).toEqual([true, points.length]);
  });

  test("ranks providers, queues, withdrawals and services", () => {
    const ranks = [1, 2, 4, 5].map((index) => panels[index]?.data.map(({ rank, other }) => rank ?? { other }));
    expect(ranks[0]?.slice(0, 2)).toEqual([1, 2]);
    expect(ranks[1]).toEqual([1, { other: expect.any(Number) }]);
    expect(ranks[2]?.[0]).toBe(1);
    expect(ranks[3]?.[0]).toBe(1);
  });

  test("has percentiles, a value, objectives, a budget and a cost", () => {
    expect(panels[3]?.results.map(({ id, status }) => [id, status])).toEqual([
      ["p50", 200],
      ["p95", 200],
      ["p99", 200],
    ]);
    expect(panels[6]?.data[0]?.value).toBeGreaterThanOrEqual(0);
    expect(panels[7]?.data.length).toBeGreaterThan(0);
    expect(panels[10]?.results.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});
