import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Client } from "undici";
import { plainObject } from "../crds/valid-objects.ts";
import { startNatsServer, type NatsServerHandle } from "../support/nats-server.ts";
import type { PrometheusHandle } from "../support/prometheus.ts";
import { cpuQuery, startCpuStore } from "./cpu-store.ts";
import { makeInstallation, type Installation, type Pod } from "./installation.ts";

const path = `/v1/metrics/query?${cpuQuery}`;

let store: PrometheusHandle;
let installation: Installation;
let nats: NatsServerHandle;

beforeAll(async () => {
  store = await startCpuStore();
});

afterAll(async () => store.stop());

beforeEach(async () => {
  [installation, nats] = await Promise.all([makeInstallation(), startNatsServer()]);
  const catalog = plainObject("MetricCatalog", {
    stores: [{ name: "eu", region: "eu", prometheus: { url: store.url, timeoutSeconds: 5 } }],
    "metrics[0].labels": ["region", "tenant", "service"],
  });
  await installation.write("catalog.yaml", JSON.stringify(catalog));
});

afterEach(async () => {
  await installation.remove();
  await nats.stop();
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** Sends the same query this many times to the programs in turn. */
async function queryInTurn(pods: readonly Pod[], count: number): Promise<readonly Answer[]> {
  const clients = await Promise.all(
    pods.map(async (pod) => ({
      client: new Client(pod.line.url),
      headers: { authorization: `Bearer ${await pod.token({ tenants: ["lumen"] })}` },
    })),
  );
  const answers: Answer[] = [];
  while (answers.length < count) {
    for (const { client, headers } of clients) {
      const { statusCode, headers: answered, body } = await client.request({ method: "GET", path, headers });
      answers.push({ status: statusCode, headers: answered, body: Buffer.from(await body.arrayBuffer()) });
    }
  }
  await Promise.all(clients.map(({ client }) => client.close()));
  return answers;
}

describe("a query of two programs over one NATS", () => {
  test("has the same bytes and the same ETag from each of them", async () => {
    const answers = await queryInTurn(await installation.startTwo(nats.url), 6);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ headers }) => headers["etag"])).size).toBe(1);
    const [first] = answers;
    for (const { body } of answers) expect(body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
  });

  test("spends one quota in both of them", async () => {
    const burst = 20;
    // A program that waits 250 ms for its owner, as on a busy machine, spends from its share (decision 0102).
    const share = burst / 2;
    const quota = plainObject("QueryClassQuota", {
      class: "B",
      clients: [{ clientId: "test" }],
      limits: { burst, requestsPerSecond: 1 },
    });
    await installation.write("quota.yaml", JSON.stringify(quota));
    const pods = await installation.startTwo(nats.url);
    const startedAtMs = performance.now();
    const answers = await queryInTurn(pods, 4 * burst);
    const elapsedSeconds = (performance.now() - startedAtMs) / 1000;
    const accepted = answers.filter(({ status }) => status === 200);
    expect(accepted.length).toBeGreaterThanOrEqual(share);
    expect(accepted.length).toBeLessThan(burst + share + Math.ceil(elapsedSeconds) + 1);
    expect(answers.some(({ status }) => status === 429)).toBe(true);
  });
});
