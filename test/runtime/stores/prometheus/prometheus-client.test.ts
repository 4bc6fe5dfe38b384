import { createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { PrometheusConfig } from "../../../../crds/config.ts";
import { createByteBudget } from "../../../../runtime/stores/limits/fan-out.ts";
import {
  createPrometheusClient,
  type PrometheusClient,
} from "../../../../runtime/stores/prometheus/prometheus-client.ts";
import { StoreError, type StoreErrorKind } from "../../../../runtime/stores/store-error.ts";
import { createStoreHttp } from "../../../../runtime/stores/prometheus/store-http.ts";
import { secretsOf } from "../../../../runtime/stores/store-secrets.ts";
import { listenOnLoopback } from "../../../support/loopback.ts";
import { waitFor } from "../../../support/wait.ts";
import { storeCall } from "../store-call.ts";
import {
  json,
  matrix,
  startScriptedStore,
  success,
  text,
  vector,
  type ScriptedStore,
  type StoreReply,
} from "../scripted-store.ts";

const grid = { startMs: 60_000, stepMs: 60_000, count: 3, rangeMs: 60_000 };
const bytesMax = 1_000_000;
const plain = { flavour: "Prometheus", headers: {} } as const;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** A client that asks nothing twice. */
function openClient(
  changes: Pick<PrometheusConfig, "url"> & Partial<PrometheusConfig>,
  material: Readonly<Record<string, string>> = {},
): PrometheusClient {
  const config = { ...plain, timeoutMs: 2_000, ...changes };
  const http = createStoreHttp(config, secretsOf(config, material));
  closing.push(() => http.close({ atOnce: true }));
  return createPrometheusClient(config, http.post);
}

async function clientOf(
  reply: StoreReply,
  timeoutMs = 2_000,
): Promise<{ client: PrometheusClient; store: ScriptedStore }> {
  const store = await startScriptedStore(reply);
  const client = openClient({ url: store.url, timeoutMs });
  closing.push(() => store.close());
  return { client, store };
}

const range = (client: PrometheusClient, signal = new AbortController().signal) =>
  client.range("up", grid, storeCall({ signal, bytes: createByteBudget(bytesMax) }));

async function kindOf(running: Promise<unknown>): Promise<StoreErrorKind> {
  const error = await running.then(
    () => new Error("it resolved"),
    (reason: unknown) => reason,
  );
  if (error instanceof StoreError) return error.kind;
  throw error;
}

describe("a range query", () => {
  test("is a POST form in seconds that requests no compression", async () => {
    const { client, store } = await clientOf(success(matrix([60, "1"])));
    await range(client);
    const [request] = store.requests;
    expect(request?.path).toBe("/api/v1/query_range");
    expect(Object.fromEntries(request?.form ?? [])).toEqual({
      query: "up",
      start: "60.000",
      end: "180.000",
      step: "60.000",
      timeout: "2000ms",
    });
    expect(request?.headers["accept-encoding"]).toBe("identity");
  });

  test("of one point is an instant query, whose times no cache rounds", async () => {
    const onePoint = { ...grid, startMs: 90_000, count: 1 };
    const instant = success({ resultType: "vector", result: [{ metric: { a: "b" }, value: [90, "7"] }] });
    const { client, store } = await clientOf(instant);
    const { series } = await client.range("up", onePoint, storeCall());
    expect(series.map(({ labels, values }) => [labels, [...values]])).toEqual([[{ a: "b" }, [7]]]);
    expect([store.requests[0]?.path, store.requests[0]?.form.get("time")]).toEqual(["/api/v1/query", "90.000"]);
    const other = success({ resultType: "vector", result: [{ metric: {}, value: [60, "7"] }] });
    expect(await kindOf((await clientOf(other)).client.range("up", onePoint, storeCall()))).toBe("unsupported");
    const histogram = { count: "2", sum: "3", buckets: [[0, "1", "2", "2"]] };
    const native = success({ resultType: "vector", result: [{ metric: {}, histogram: [90, histogram] }] });
    const read = await (await clientOf(native)).client.histograms("up", onePoint, storeCall());
    expect(read.series).toMatchObject([{ histograms: [{ count: 2, sum: 3 }] }]);
  });

  test("is sent below the path of a store that is not at the root", async () => {
    const store = await startScriptedStore(success(matrix()));
    const client = openClient({ url: `${store.url}/tenant/prom/` });
    closing.push(() => store.close());
    await range(client);
    expect(store.requests.map(({ path }) => path)).toEqual(["/tenant/prom/api/v1/query_range"]);
  });

  test("distinguishes absent points from NaN and infinite ones", async () => {
    const { client } = await clientOf(success(matrix([60, "NaN"], [180, "-Inf"])));
    const { series } = await range(client);
    expect(series.map(({ values, present }) => [[...values], [...present]])).toEqual([
      [
        [Number.NaN, 0, -Infinity],
        [1, 0, 1],
      ],
    ]);
  });

  test("returns the class of the store's warnings", async () => {
    const quiet = await clientOf(
      success(matrix(), ["PromQL warning: encountered a mix of histograms and floats for aggregation"]),
    );
    const loud = await clientOf(success(matrix(), ["remote_read: connection refused"]));
    expect((await range(quiet.client)).warning).toBe("dropped");
    expect((await range(loud.client)).warning).toBe("incomplete");
  });

  test("reuses the connection of an earlier one", async () => {
    const { client, store } = await clientOf(success(matrix()));
    for (let turn = 0; turn < 20; turn += 1) await range(client);
    // One may still be reading the end of an answer while the next request goes out.
    expect(store.connections()).toBeLessThanOrEqual(2);
  });
});

describe("a store that misbehaves", () => {
  const rows: readonly (readonly [sentence: string, kind: StoreErrorKind, reply: StoreReply])[] = [
    ["refuses the query", "refused", json(422, { status: "error", errorType: "execution", error: "too many samples" })],
    ["gives the query up", "late", json(503, { status: "error", errorType: "timeout", error: "query timed out" })],
    ["answers a page of a proxy", "status", text(502, "<html>Bad Gateway</html>")],
    [
      "sends a redirect, which is not followed",
      "status",
      (response) => void response.writeHead(302, { location: "/" }).end(),
    ],
    ["answers 200 with a page", "malformed", text(200, "<html>Sign in</html>")],
    ["answers 200 with nothing", "malformed", text(200, "")],
    ["answers JSON null", "malformed", json(200, null)],
    ["answers a vector where a matrix was asked", "malformed", success(vector("1"))],
    ["answers a series without values", "malformed", success({ resultType: "matrix", result: [{ metric: {} }] })],
    ["answers a series that is null", "malformed", success({ resultType: "matrix", result: [null] })],
    ["answers a point outside of the window", "unsupported", success(matrix([600, "1"]))],
    ["answers a point of another time", "unsupported", success(matrix([60, "1"], [119.998, "1"]))],
    [
      "answers a point without a time",
      "malformed",
      json(200, { status: "success", data: { resultType: "matrix", result: [{ metric: {}, values: [[null, "1"]] }] } }),
    ],
    [
      "announces too many bytes",
      "too_large",
      (response) => {
        response.writeHead(200, { "content-length": String(bytesMax + 1) }).write("{");
      },
    ],
    ["cuts the connection", "unreachable", (response) => void response.socket?.destroy()],
    [
      "cuts the connection inside the body",
      "unreachable",
      (response) => {
        response.writeHead(200, { "content-length": "1000" });
        response.write('{"status":', () => response.socket?.destroy());
      },
    ],
  ];
  test.each(rows)("and %s is a failure of the kind %s", async (_sentence, kind, reply) => {
    const { client } = await clientOf(reply);
    expect(await kindOf(range(client))).toBe(kind);
  });

  test("and never stops sending is cut off at the bound", async () => {
    const chunk = Buffer.alloc(64 * 1024, " ");
    const { client, store } = await clientOf((response) => {
      const pump = (): void => {
        while (!response.destroyed && response.write(chunk));
        response.once("drain", pump);
      };
      pump();
    });
    expect(await kindOf(range(client))).toBe("too_large");
    await waitFor(() => store.abandoned() === 1, { timeoutMs: 20_000, what: "the connection to be ended" });
  });

  test("and does not listen is unreachable", async () => {
    const gone = await listenOnLoopback(createServer());
    await gone.close();
    const client = openClient({ url: `http://127.0.0.1:${gone.port}`, timeoutMs: 1_000 });
    expect(await kindOf(range(client))).toBe("unreachable");
  });
});

describe("a request to a silent store", () => {
  test("is cancelled when the caller aborts, with the caller's reason", async () => {
    const { client, store } = await clientOf(() => undefined);
    const controller = new AbortController();
    const running = range(client, controller.signal);
    running.catch(() => undefined);
    await waitFor(() => store.requests.length === 1, { timeoutMs: 20_000, what: "the request" });
    controller.abort(new Error("the caller left"));
    await expect(running).rejects.toThrow("the caller left");
    await waitFor(() => store.abandoned() === 1, { timeoutMs: 20_000, what: "the connection to be ended" });
  });
});

describe("exemplars", () => {
  test("are read with the labels of their series", async () => {
    const entry = {
      seriesLabels: { __name__: "x_bucket", service: "web" },
      exemplars: [{ labels: { trace_id: "abc" }, value: "0.25", timestamp: 60.5 }],
    };
    const { client } = await clientOf(success([entry]));
    expect(await client.exemplars("x", 0, 60_000, storeCall())).toEqual([
      { seriesLabels: entry.seriesLabels, labels: { trace_id: "abc" }, value: 0.25, timestampMs: 60_500 },
    ]);
  });
});
