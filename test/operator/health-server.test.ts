import { Gauge, Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startHealthServer, type HealthServer } from "../../operator/health-server.ts";
import type { InformerHealth } from "../../kube/informer/informer.ts";

const well: InformerHealth = { synced: true, lastEventAgeMs: 5, live: true, rejected: false, lastError: undefined };
let watches: Map<string, InformerHealth>;
let isReady: boolean;
let server: HealthServer;

beforeEach(async () => {
  watches = new Map([["webhookpartners", well]]);
  isReady = true;
  const registry = new Registry();
  new Gauge({ registers: [registry], name: "one", help: "one" }).set(1);
  server = await startHealthServer(
    { registry, watches: () => watches, isReady: () => isReady, isLeader: () => false },
    0,
    "127.0.0.1",
  );
});
afterEach(() => server.stop());

async function get(path: string, method = "GET") {
  const response = await fetch(server.url + path, { method });
  return { status: response.status, body: await response.text(), type: response.headers.get("content-type") };
}

describe("the port of probes and metrics", () => {
  test("is healthy while every watch is alive, and red when one is dead", async () => {
    expect(await get("/healthz")).toMatchObject({ status: 200, body: '{"status":"ok","leader":false,"dead":[]}\n' });
    watches.set("secrets", { ...well, live: false, lastError: "KubeError: refused" });
    const { status, body } = await get("/healthz");
    expect([status, JSON.parse(body)]).toEqual([
      500,
      { status: "down", leader: false, dead: [{ watch: "secrets", error: "KubeError: refused" }] },
    ]);
  });

  test("is ready when the replica is, and lists the waiting watches", async () => {
    expect((await get("/readyz")).status).toBe(200);
    isReady = false;
    watches.set("secrets", { ...well, synced: false });
    const { status, body } = await get("/readyz?verbose");
    expect([status, JSON.parse(body)]).toEqual([
      503,
      { ready: false, leader: false, waiting: ["secrets"], unavailable: [] },
    ]);
  });

  test("is healthy and ready while a namespace cannot be listed, and names its watches", async () => {
    watches.set("secrets in shop", { ...well, synced: false, rejected: true, lastError: "KubeError: forbidden" });
    expect((await get("/healthz")).status).toBe(200);
    const { status, body } = await get("/readyz");
    const unavailable = [{ watch: "secrets in shop", error: "KubeError: forbidden" }];
    expect([status, JSON.parse(body)]).toEqual([200, { ready: true, leader: false, waiting: [], unavailable }]);
  });

  test("answers 500 when an answer fails, and goes on", async () => {
    const broken = {
      ...well,
      get live(): boolean {
        throw new Error("broken");
      },
    };
    watches.set("secrets", broken);
    expect((await get("/healthz")).status).toBe(500);
    watches.set("secrets", well);
    expect((await get("/healthz")).status).toBe(200);
  });

  test("shows metrics as Prometheus reads them", async () => {
    expect(await get("/metrics")).toMatchObject({
      status: 200,
      body: expect.stringContaining("one 1"),
      type: expect.stringContaining("text/plain"),
    });
  });

  test.each([
    ["/", "GET"],
    ["/configz", "GET"],
    ["/metrics", "POST"],
    ["//", "GET"],
  ])("knows nothing of %s %s", async (path, method) => {
    expect((await get(path, method)).status).toBe(404);
  });

  test("cannot be opened twice", async () => {
    const port = Number(new URL(server.url).port);
    const again = startHealthServer(
      { registry: new Registry(), watches: () => watches, isReady: () => true, isLeader: () => false },
      port,
      "127.0.0.1",
    );
    await expect(again).rejects.toThrow(/EADDRINUSE/u);
  });
});
