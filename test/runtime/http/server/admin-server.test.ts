import { hostname } from "node:os";
import { pino } from "pino";
import { Registry } from "prom-client";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { createAdminServer, type PartHealth } from "../../../../runtime/http/server/admin-server.ts";
import { createRequestMetrics } from "../../../../runtime/http/server/request-log.ts";
import { emptyReport } from "../config-reports.ts";

const registry = new Registry();
let parts: readonly PartHealth[] = [];

const app = createAdminServer({
  log: pino({ level: "silent" }),
  observe: createRequestMetrics(registry),
  registry,
  health: () => parts,
  config: { report: () => emptyReport, next: async () => emptyReport, token: () => undefined },
});

const sick: PartHealth = { name: "nats", ok: false, detail: "not connected" };

beforeEach(() => {
  parts = [{ name: "config", ok: true }];
});

afterAll(async () => app.close());

describe("the admin server", () => {
  test("is healthy and ready when every part is healthy", async () => {
    expect((await app.inject("/healthz")).json()).toEqual({ status: "ok", parts, config_hash: null });
    const ready = await app.inject("/readyz");
    expect([ready.statusCode, ready.json()]).toEqual([200, { ready: true, parts }]);
  });

  test("is alive, degraded and not ready when a part is not, and reports which and why", async () => {
    parts = [{ name: "config", ok: true }, sick];
    const healthy = await app.inject("/healthz");
    expect([healthy.statusCode, healthy.json()]).toEqual([200, { status: "degraded", parts, config_hash: null }]);
    const ready = await app.inject("/readyz");
    expect([ready.statusCode, ready.json()]).toEqual([503, { ready: false, parts }]);
  });

  test.each(["/healthz", "/metrics", "/configz"])("%s is refused under another Host on this machine", async (url) => {
    const status = async (host: string, remoteAddress = "127.0.0.1"): Promise<number> =>
      (await app.inject({ url, headers: { host }, remoteAddress })).statusCode;
    for (const own of ["localhost:9090", "127.0.0.1:9090", "[::1]:9090", "10.1.2.3", hostname()])
      expect([own, await status(own)]).toEqual([own, 200]);
    for (const foreign of ["rebound.example:9090", "localhost.example", "127.0.0.1.example", "a b"])
      expect([foreign, await status(foreign)]).toEqual([foreign, 400]);
    // A scraper in a cluster names Services and pods as its DNS has them.
    expect(await status("heliograph.team.svc:9090", "10.1.2.3")).toBe(url === "/configz" ? 503 : 200);
  });

  test("shows the applied configuration", async () => {
    expect((await app.inject("/configz")).json()).toEqual(emptyReport);
  });

  test("counts its own requests in the Prometheus text it serves", async () => {
    await app.inject("/healthz");
    const response = await app.inject("/metrics");
    expect(response.headers["content-type"]).toBe(registry.contentType);
    expect(response.body).toMatch(/heliograph_http_requests_total\{method="GET",route="\/healthz",status="200"\} \d/u);
  });

  test("answers an unknown path as a problem", async () => {
    expect((await app.inject("/debug")).json()).toMatchObject({ status: 404, code: "not_found" });
  });
});
