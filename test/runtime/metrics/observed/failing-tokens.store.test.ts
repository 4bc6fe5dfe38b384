import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMetricsApi } from "../../../../runtime/metrics/api/create-metrics-api.ts";
import type { MetricsApi } from "../../../../runtime/metrics/metrics-api.ts";
import { listenOnLoopback } from "../../../support/loopback.ts";
import { type PrometheusHandle, startPrometheus } from "../../../support/prometheus.ts";
import { remoteWrite } from "../../../support/remote-write.ts";
import { waitFor } from "../../../support/wait.ts";
import { json, type ScriptedStore, startScriptedStore, type StoreReply, text } from "../../stores/scripted-store.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig } from "../oracle/universe.ts";

const periodMs = 1_000;
const waitMsMax = 90_000;
/** Tokens live shortly, so that each outage of their server is soon one of the store. */
const tokenSeconds = 2;
const storeTimeoutMs = 2_000;

let prometheus: PrometheusHandle;
let tokens: ScriptedStore;
let reply: StoreReply;
let issued = 0;
const closing: (() => Promise<unknown>)[] = [];

const granting: StoreReply = (response, request) => {
  issued += 1;
  json(200, { access_token: `t${issued}`, expires_in: tokenSeconds })(response, request);
};

beforeAll(async () => {
  reply = granting;
  prometheus = await startPrometheus();
  closing.push(() => prometheus.stop());
  tokens = await startScriptedStore((response, request) => reply(response, request));
  closing.push(() => tokens.close());
  const nowMs = Date.now();
  const samples = Array.from({ length: 60 }, (_, index) => ({ ms: nowMs - (59 - index) * 15_000, value: index }));
  await remoteWrite(prometheus.url, [{ name: "lag", labels: { tenant: "brand-a", service: "a" }, samples }]);
});
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

/** The Prometheus behind a proxy that accepts the newest token and no other. @returns its URL */
async function guarded(): Promise<string> {
  const proxy = await listenOnLoopback(
    createServer((request, response) => {
      void (async () => {
        const body = Buffer.concat((await request.toArray()) as Buffer[]).toString();
        if (request.headers.authorization !== `Bearer t${issued}`) return response.writeHead(401).end();
        const { method = "", url = "", headers } = request;
        const type = headers["content-type"] ?? "text/plain";
        const init = { method, headers: { "content-type": type }, ...(method === "POST" ? { body } : {}) };
        const far = await fetch(`${prometheus.url}${url}`, init);
        return response.writeHead(far.status, { "content-type": "application/json" }).end(await far.text());
      })();
    }),
  );
  closing.push(() => proxy.close());
  return `http://127.0.0.1:${proxy.port}`;
}

/** The API over one store with a metric that it contains, and one that it lacks. */
async function apiOf(): Promise<MetricsApi> {
  const url = await guarded();
  const auth = { kind: "oauth2", tokenUrl: `${tokens.url}/token`, clientId: "reader", secret: "id" } as const;
  const store = storeConfig({ name: "eu", region: "eu", url });
  const stores = [{ ...store, prometheus: { ...store.prometheus, timeoutMs: storeTimeoutMs, auth } }];
  const labels = ["region", "tenant", "service"] as const;
  const metrics = ["lag", "nothing"].map((name) =>
    metricConfig(name, stores, { source: { kind: "gauge", name, matchers: [] }, labels: [...labels] }),
  );
  const config = { ...configOf(stores, metrics), material: { id: Buffer.from("s3cret").toString("base64") } };
  const api = createMetricsApi({ config, log: { warn: () => undefined }, checksMs: periodMs });
  closing.push(() => api.stop());
  return api;
}

/** What callers, the operator and the health view see of the store. */
async function seen(api: MetricsApi) {
  const { body } = await api.catalogChecks(parameters([]), everyone, { correlationId: "c", nowMs: Date.now() });
  const { data } = body as { data: readonly { metric_id: string; status: string; message: string }[] };
  const { stores = [] } = (await api.health(everyone)).body as { stores?: readonly { state: string }[] };
  return {
    statuses: data.map(({ status }) => status).join(),
    messages: data.map(({ message }) => message),
    observed: api.observed().map(({ status, reason }) => `${status} ${reason}`),
    health: stores.map(({ state }) => state).join(),
  };
}

const wellKnown = { statuses: "True,False", observed: ["False Mismatch"], health: "ok" };
const unavailable = { statuses: "Unknown,Unknown", observed: ["Unknown StoreUnavailable"], health: "failing" };

/** Waits until all of it is so. @returns everything seen before */
async function until(api: MetricsApi, wanted: typeof wellKnown) {
  const before: Awaited<ReturnType<typeof seen>>[] = [];
  const isSo = async (): Promise<boolean> => {
    const now = await seen(api);
    before.push(now);
    return (
      now.statuses === wanted.statuses && now.health === wanted.health && now.observed.join() === wanted.observed.join()
    );
  };
  await waitFor(isSo, { timeoutMs: waitMsMax, what: JSON.stringify(wanted) }).catch((cause: unknown) => {
    throw new Error(`last seen: ${JSON.stringify(before.at(-1))}`, { cause });
  });
  return before;
}

const outages: readonly (readonly [what: string, reply: StoreReply])[] = [
  ["rejects the client", json(401, { error: "invalid_client" })],
  ["hangs", () => undefined],
  ["returns a page instead of a token", text(200, "<html>Sign in</html>")],
];

describe("a store whose token server", () => {
  test.each(outages)("%s is Unknown and failing, never False, and well known again afterwards", async (_, fault) => {
    reply = granting;
    const api = await apiOf();
    await until(api, wellKnown);
    reply = fault;
    const during = await until(api, unavailable);
    // The metric that the store contains never differs from it, and the other one is known or unknown.
    expect(during.filter(({ statuses }) => statuses.startsWith("False"))).toEqual([]);
    expect(new Set((await seen(api)).messages)).toEqual(new Set(["eu: the store does not respond"]));
    reply = granting;
    const after = await until(api, wellKnown);
    expect(after.filter(({ statuses }) => statuses.startsWith("False"))).toEqual([]);
  });

  test("rejects the client from the start is Unknown, not a store without the series", async () => {
    reply = json(400, { error: "invalid_scope" });
    const api = await apiOf();
    const before = await until(api, unavailable);
    expect(before.filter(({ statuses }) => statuses.includes("False"))).toEqual([]);
  });
});
