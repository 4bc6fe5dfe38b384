import { createServer } from "node:https";
import { afterEach, describe, expect, test } from "vitest";
import type { PrometheusConfig, StoreFlavour } from "../../../../crds/config.ts";
import {
  alignmentOf,
  createPrometheusClient,
  flavours,
  type PrometheusClient,
} from "../../../../runtime/stores/prometheus/prometheus-client.ts";
import { createStoreHttp } from "../../../../runtime/stores/prometheus/store-http.ts";
import { secretsOf } from "../../../../runtime/stores/store-secrets.ts";
import { listenOnLoopback } from "../../../support/loopback.ts";
import { createCertificateAuthority } from "../../../support/tls/certificate-authority.ts";
import { json, matrix, type ScriptedStore, startScriptedStore, success } from "../scripted-store.ts";
import { storeCall } from "../store-call.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const grid = { startMs: 0, stepMs: 600_000, count: 2, rangeMs: 600_000 };

function clientOf(
  changes: Partial<PrometheusConfig>,
  material: Readonly<Record<string, string>> = {},
): PrometheusClient {
  const config: PrometheusConfig = {
    url: "http://127.0.0.1:1",
    timeoutMs: 2_000,
    flavour: "Prometheus",
    headers: {},
    ...changes,
  };
  const http = createStoreHttp(config, secretsOf(config, material));
  closing.push(() => http.close({ atOnce: true }));
  return createPrometheusClient(config, http.post);
}

async function start(): Promise<ScriptedStore> {
  const store = await startScriptedStore(success(matrix()));
  closing.push(() => store.close());
  return store;
}

/** What a store of this flavour is sent besides the query and its times. */
async function sent(
  changes: Partial<PrometheusConfig>,
  rangeMs = grid.rangeMs,
  alignedMs = rangeMs,
): Promise<Readonly<Record<string, string>>> {
  const store = await start();
  await clientOf({ url: store.url, ...changes }).range("up", { ...grid, rangeMs, alignedMs }, storeCall());
  const usual = ["query", "start", "end", "step", "timeout"];
  return Object.fromEntries([...(store.requests[0]?.form ?? [])].filter(([name]) => !usual.includes(name)));
}

describe("a query to", () => {
  test("Prometheus and Mimir has no additional parameters", async () => {
    expect([await sent({ flavour: "Prometheus" }), await sent({ flavour: "Mimir" })]).toEqual([{}, {}]);
  });

  test("VictoriaMetrics requests points that are neither rounded nor repeated", async () => {
    expect(await sent({ flavour: "VictoriaMetrics" })).toEqual({ nocache: "1", latency_offset: "0s" });
  });

  const rows: readonly (readonly [
    sentence: string,
    allowedSeconds: number | undefined,
    rangeSeconds: number,
    resolution: string,
  ])[] = [
    ["raw samples unless the catalog allows more", undefined, 3_600, "0s"],
    ["the coarsest resolution of which the point is whole", 3_600, 7_200, "3600s"],
    ["a finer one where the point is no multiple of the coarsest", 3_600, 5_400, "300s"],
    ["no coarser one than the catalog allows (thanos#922)", 300, 7_200, "300s"],
    ["raw samples for a point that is finer than any", 3_600, 77, "0s"],
  ];
  test.each(rows)(
    "Thanos allows a partial response, and requests %s",
    async (_sentence, allowed, rangeSeconds, resolution) => {
      const changes = allowed === undefined ? {} : { maxSourceResolutionSeconds: allowed };
      expect(await sent({ flavour: "Thanos", ...changes }, rangeSeconds * 1_000)).toEqual({
        dedup: "true",
        partial_response: "true",
        max_source_resolution: resolution,
      });
    },
  );
});

test("Thanos is asked for raw samples where coarser ones would lie across the edges of points", async () => {
  const changes = { flavour: "Thanos", maxSourceResolutionSeconds: 3_600 } as const;
  const resolutions = [3_600_000, 600_000, 30_000].map(
    async (alignedMs) => (await sent(changes, 3_600_000, alignedMs))["max_source_resolution"],
  );
  expect(await Promise.all(resolutions)).toEqual(["3600s", "300s", "0s"]);
});

test.each([
  ["whose ends and width are whole hours", { startMs: 7_200_000, stepMs: 3_600_000, rangeMs: 3_600_000 }, 3_600_000],
  ["at a phase", { startMs: 7_230_000, stepMs: 3_600_000, rangeMs: 3_600_000 }, 30_000],
  ["closer than they are wide", { startMs: 7_200_000, stepMs: 300_000, rangeMs: 3_600_000 }, 300_000],
  ["of an odd width", { startMs: 7_200_000, stepMs: 300_000, rangeMs: 77_000 }, 1_000],
])("the edges of points %s have this in common", (_sentence, edges, alignedMs) => {
  expect(alignmentOf({ ...edges, count: 3 })).toBe(alignedMs);
});

test("increases are extrapolated everywhere but in VictoriaMetrics, whose windows are never split", () => {
  const table = (Object.keys(flavours) as readonly StoreFlavour[]).map((name) => [
    name,
    flavours[name].increases,
    flavours[name].isCuttable,
  ]);
  expect(table).toEqual([
    ["Prometheus", "Extrapolated", true],
    ["Mimir", "Extrapolated", true],
    ["Thanos", "Extrapolated", true],
    ["VictoriaMetrics", "Plain", false],
  ]);
});

test("a response that VictoriaMetrics marks as partial is incomplete", async () => {
  const store = await startScriptedStore(json(200, { status: "success", isPartial: true, data: matrix() }));
  closing.push(() => store.close());
  expect((await clientOf({ url: store.url, flavour: "VictoriaMetrics" }).range("up", grid, storeCall())).warning).toBe(
    "incomplete",
  );
});

describe("a request contains", () => {
  const headersOf = async (changes: Partial<PrometheusConfig>, material = {}, tenant?: string) => {
    const store = await start();
    await clientOf({ url: store.url, ...changes }, material).range("up", grid, storeCall({ tenant }));
    return store.requests[0]?.headers ?? {};
  };

  test("a user name and a password", async () => {
    const auth = { kind: "basic", username: "u", password: "p" } as const;
    const { authorization } = await headersOf({ auth }, { u: base64("reader"), p: base64("päss:word") });
    expect(authorization).toBe(`Basic ${base64("reader:päss:word")}`);
  });

  test("a bearer token", async () => {
    expect((await headersOf({ auth: { kind: "bearer", token: "t" } }, { t: base64("abc.def") })).authorization).toBe(
      "Bearer abc.def",
    );
  });

  test("the fixed headers of the store, and the tenant where the store needs one", async () => {
    const headers = await headersOf({ headers: { "x-source": "a" }, tenantHeader: "X-Scope-OrgID" }, {}, "brand-a");
    expect([headers["x-source"], headers["x-scope-orgid"]]).toEqual(["a", "brand-a"]);
    expect((await headersOf({}, {}, "brand-a"))["x-scope-orgid"]).toBeUndefined();
  });
});

describe("a store over TLS", () => {
  const authority = createCertificateAuthority("stores");
  const server = authority.issue({ commonName: "store", names: ["store.internal", "127.0.0.1"] });
  const client = authority.issue({ commonName: "runtime" });
  const material = {
    ca: base64(authority.cert),
    certificate: base64(client.cert),
    key: base64(client.key),
    otherCa: base64(createCertificateAuthority("other").cert),
  };
  const shown = { certificate: "certificate", key: "key" };

  async function ask(tls: PrometheusConfig["tls"], names = server): Promise<unknown> {
    const options = {
      cert: names.cert,
      key: names.key,
      ca: authority.cert,
      requestCert: true,
      rejectUnauthorized: true,
    };
    const https = createServer(options, (_, response) =>
      success(matrix())(response, { path: "", form: new URLSearchParams(), headers: {} }),
    );
    const loopback = await listenOnLoopback(https);
    closing.push(() => loopback.close());
    const config = { url: `https://127.0.0.1:${loopback.port}`, ...(tls === undefined ? {} : { tls }) };
    return clientOf(config, material).range("up", grid, storeCall());
  }

  test("gets a client certificate and is verified by a CA of the catalog", async () => {
    await expect(ask({ ca: "ca", client: shown })).resolves.toMatchObject({ series: [] });
  });

  test("may have another name than its URL if the catalog names it", async () => {
    const elsewhere = authority.issue({ commonName: "store", names: ["store.internal"] });
    await expect(ask({ ca: "ca", client: shown, serverName: "store.internal" }, elsewhere)).resolves.toBeDefined();
    await expect(ask({ ca: "ca", client: shown }, elsewhere)).rejects.toMatchObject({ kind: "unreachable" });
  });

  test("is not verified by another CA, nor without one", async () => {
    await expect(ask({ ca: "otherCa", client: shown })).rejects.toMatchObject({ kind: "unreachable" });
    await expect(ask({ client: shown })).rejects.toMatchObject({ kind: "unreachable" });
  });

  test("that requires a certificate refuses a request without one", async () => {
    await expect(ask({ ca: "ca" })).rejects.toMatchObject({ kind: "unreachable" });
  });
});
