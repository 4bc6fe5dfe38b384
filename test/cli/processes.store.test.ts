import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Client } from "undici";
import { plainObject } from "../crds/valid-objects.ts";
import type { PrometheusHandle } from "../support/prometheus.ts";
import { waitFor } from "../support/wait.ts";
import { cpuQuery, startCpuStore } from "./cpu-store.ts";
import { makeInstallation, type Installation, type Running } from "./installation.ts";

const path = `/v1/metrics/query?${cpuQuery}`;

let store: PrometheusHandle;
let installation: Installation;

beforeAll(async () => {
  store = await startCpuStore();
});

afterAll(async () => store.stop());

beforeEach(async () => {
  installation = await makeInstallation();
  const catalog = plainObject("MetricCatalog", {
    stores: [{ name: "eu", region: "eu", prometheus: { url: store.url, timeoutSeconds: 5 } }],
    "metrics[0].labels": ["region", "tenant", "service"],
  });
  await installation.write("catalog.yaml", JSON.stringify(catalog));
});

afterEach(async () => installation.remove());

/** One response on a connection of its own, with the process that gave it. */
interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
  readonly pid: unknown;
}

/** Sends the same query on so many connections, one after another. */
async function askOnConnections(program: Running, count: number): Promise<readonly Answer[]> {
  const authorization = `Bearer ${await installation.token({ tenants: ["lumen"] })}`;
  const answers: Answer[] = [];
  for (let index = 0; index < count; index += 1) {
    const id = `ask-${index}`;
    const client = new Client(program.line.url);
    const headers = { authorization, "x-correlation-id": id };
    const { statusCode, headers: answered, body } = await client.request({ method: "GET", path, headers });
    const bytes = Buffer.from(await body.arrayBuffer());
    await client.close();
    const logged = () => program.logLines().find(({ correlationId }) => correlationId === id);
    const line = await waitFor(logged, { timeoutMs: 20_000, what: "the log of the request" });
    answers.push({ status: statusCode, headers: answered, body: bytes, pid: line["pid"] });
  }
  return answers;
}

describe("a query of a program with several processes", () => {
  test("has the same bytes and the same ETag from each process", async () => {
    const program = await installation.startAll(2);
    const answers = await askOnConnections(program, 6);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ pid }) => pid)).size).toBe(2);
    expect(new Set(answers.map(({ headers }) => headers["etag"])).size).toBe(1);
    const [first] = answers;
    for (const { body } of answers) expect(body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
  });

  test("spends one quota in all processes", async () => {
    const burst = 10;
    const quota = plainObject("QueryClassQuota", {
      class: "B",
      clients: [{ clientId: "test" }],
      limits: { burst, requestsPerSecond: 1 },
    });
    await installation.write("quota.yaml", JSON.stringify(quota));
    const program = await installation.startAll(2);
    const startedAtMs = performance.now();
    const answers = await askOnConnections(program, 4 * burst);
    const elapsedSeconds = (performance.now() - startedAtMs) / 1000;
    const accepted = answers.filter(({ status }) => status === 200);
    expect(new Set(answers.map(({ pid }) => pid)).size).toBe(2);
    expect(accepted.length).toBeGreaterThanOrEqual(burst / 2);
    expect(accepted.length).toBeLessThanOrEqual(burst + Math.ceil(elapsedSeconds) + 1);
    expect(answers.some(({ status }) => status === 429)).toBe(true);
  });
});
