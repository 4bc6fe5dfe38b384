import { afterEach, beforeEach, expect, test } from "vitest";
import { Client } from "undici";
import { plainObject } from "../crds/valid-objects.ts";
import { startNatsServer, type NatsServerHandle } from "../support/nats-server.ts";
import { waitFor } from "../support/wait.ts";
import { simulated } from "../runtime/http/routes/metrics-server.ts";
import { healthyProbe, startScriptedStore, type ScriptedStore } from "../runtime/stores/scripted-store.ts";
import { makeInstallation, type Installation } from "./installation.ts";

let installation: Installation;
let store: ScriptedStore;
let nats: NatsServerHandle;

beforeEach(async () => {
  [installation, nats] = await Promise.all([makeInstallation(), startNatsServer()]);
  store = await startScriptedStore(healthyProbe(simulated(() => ({ services: ["a", "b"] }))));
});

afterEach(async () => {
  await installation.remove();
  await Promise.all([store.close(), nats.stop()]);
});

const catalog = (url: string): string =>
  JSON.stringify(
    plainObject("MetricCatalog", {
      stores: [{ name: "eu", region: "eu", prometheus: { url } }],
      "metrics[0].labels": ["region", "tenant", "service"],
    }),
  );

/** An average asks for sums and for counts. */
const readsOf = ({ requests }: ScriptedStore): number =>
  requests.filter(
    ({ path, form }) => path.endsWith("query_range") && form.get("query")?.includes("count_over_time") === true,
  ).length;

test("identical queries to two programs at once are one request to the store and equal bytes", async () => {
  await installation.write("catalog.yaml", catalog(store.url));
  const pods = await installation.startTwo(nats.url);
  const clients = await Promise.all(
    [...pods, ...pods, ...pods, ...pods].map(async (pod) => ({
      client: new Client(pod.line.url),
      headers: { authorization: `Bearer ${await pod.token({ tenants: ["lumen"] })}` },
    })),
  );
  let startMs = Date.parse("2026-01-01T09:00:00Z");
  const askAll = () =>
    Promise.all(
      clients.map(async ({ client, headers: sent }) => {
        const [from, to] = [0, 40].map((minutes) => new Date(startMs + minutes * 60_000).toISOString());
        const path = `/v1/metrics/query?metric=cpu_util&from=${from}&to=${to}&step=5m`;
        const { statusCode, headers, body } = await client.request({ method: "GET", path, headers: sent });
        return { statusCode, etag: headers["etag"], cache: String(headers["x-query-cache"]), text: await body.text() };
      }),
    );
  // Several hours are tried. On a busy machine a program that waited too long for the other one reads for itself. After
  // a start, the owner of the client's quota begins with the share of one program.
  const answers = await waitFor(
    async () => {
      startMs += 3_600_000;
      const before = readsOf(store);
      const all = await askAll();
      const seen = { statuses: all.map(({ statusCode }) => statusCode), reads: readsOf(store) - before };
      if (seen.reads !== 1 || seen.statuses.includes(429)) throw new Error(JSON.stringify(seen));
      return all;
    },
    { timeoutMs: 120_000, pollMs: 2_000, what: "one request to the store" },
  );
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(clients.map(() => 200));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(new Set(answers.map(({ etag }) => etag)).size).toBe(1);
  expect(answers.filter(({ cache }) => /shared=[1-9]/u.test(cache)).length).toBeGreaterThan(0);
  await Promise.all(clients.map(({ client }) => client.close()));
});
