import { zstdDecompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { cachedStores } from "../../../runtime/metrics/cache/cached-stores.ts";
import { decodeExtents, encodeExtents } from "../../../runtime/metrics/cache/encode-extents.ts";
import type { CachedExtent } from "../../../runtime/metrics/cache/extents.ts";
import { createReadCache } from "../../../runtime/metrics/cache/read-cache.ts";
import { histogramSeries, numberSeries } from "../../../runtime/metrics/cache/series-kind.ts";
import { createByteBudget } from "../../../runtime/stores/limits/fan-out.ts";
import type { HistogramSeries, StoreSeries } from "../../../runtime/stores/prometheus/matrix.ts";
import type { StoreSet } from "../../../runtime/stores/store.ts";
import { podsOfATest } from "../metrics/admission/pods-of-a-test.ts";
import { storeConfig } from "../metrics/oracle/universe.ts";
import { readPinned } from "./pinned-text.ts";
import { nowMs } from "./recording-nats.ts";

/** What pods of different versions send each other of their extents. */

const grid = { startMs: 1_767_323_040_000, stepMs: 15_000, count: 2 };
const times = { readAtMs: nowMs, settledUntilMs: nowMs - 60_000 };
const series: StoreSeries = {
  labels: { service: "a", region: "eu" },
  values: Float64Array.of(1.5, 0),
  present: Uint8Array.of(1, 0),
};
const histograms: HistogramSeries = {
  labels: { service: "a" },
  histograms: [{ count: 3, sum: 4.5, buckets: [{ lower: -1, upper: 2, count: 3 }] }, undefined],
};
const [ofNumbers, ofHistograms]: [CachedExtent<StoreSeries>, CachedExtent<HistogramSeries>] = [
  { ...grid, ...times, series: [series] },
  { ...grid, ...times, series: [histograms] },
];

/** Form, digest and, as text where they are JSON, head and numbers. The bytes of the compression are left out. */
function opened(bytes: Uint8Array): string {
  const whole = Buffer.from(bytes);
  const unpacked = zstdDecompressSync(whole.subarray(20));
  const headEnd = 4 + unpacked.readUInt32LE();
  return [
    whole.toString("latin1", 0, 4),
    unpacked.toString("hex", 0, 4),
    unpacked.toString("utf8", 4, headEnd),
    unpacked.toString("hex", headEnd) || "no numbers",
  ].join("\n");
}

/** Written by this version: numbers, under the key `key`. */
const packedNumbers =
  "SEdDMSaodMJjrbsIPzOyj+4lXOootS/9AFiFBADyRx0lsCcdDMMwaRiwjIdG5D3I5rZtkPtBigrQCZGNbCKNdqPAZBVNBgpQwkMnM5n5iL+Hz0tw" +
  "fHr7nt1bRH5xGSznNTw07HSzfFqYkhSaxvFp7RtGj0sgbvmklFIChSyEKSywl4aOreUbiL1kxw962jNY8YaqOgIJACDHeHN3eBi8QSg4rEpWmSKi" +
  "80raMgc=";

test("extents are packed and read as they always were", async () => {
  expect({
    numbers: opened(await encodeExtents(numberSeries, "key", [ofNumbers])),
    "native histograms": opened(await encodeExtents(histogramSeries, "key", [ofHistograms])),
  }).toEqual(readPinned("cached-extents.txt"));
  expect(await decodeExtents(numberSeries, "key", Buffer.from(packedNumbers, "base64"))).toEqual([ofNumbers]);
});

/** The store of a test, which answers with one series. */
function storesOf(): StoreSet {
  const client = {
    range: async () => ({ series: [series], warning: "none" }),
    histograms: async () => ({ series: [histograms], warning: "none" }),
  };
  const config = storeConfig({ name: "eu", region: "eu", url: "http://127.0.0.1:9" });
  const store = { config, client, identity: "identity", run: <Value>(work: () => Promise<Value>) => work() };
  return { get: () => store } as unknown as StoreSet;
}

test("extents are asked for with these messages, and leases are taken under these names", async () => {
  const messages: string[] = [];
  const pods = podsOfATest();
  const own = pods.join("pod-a");
  for (const name of ["pod-b", "pod-c"]) pods.join(name).serve("lease", () => ({ isFree: true, holder: "pod-d" }));
  pods.join("pod-d").serve("extents", () => ({}));
  const noted = {
    ...own,
    live: () => ["pod-b", "pod-c"],
    request: async (pod: string, topic: string, question: object) => {
      messages.push(`${topic} ${JSON.stringify(question)}`);
      return own.request(pod, topic, question);
    },
    publish: (_pod: string, topic: string, message: object) =>
      void messages.push(`${topic} ${JSON.stringify(message)}`),
  };
  const cache = createReadCache(1_000_000, { pods: noted });
  const lifetimes = { settledMs: 30_000, tailMs: 10_000, sharedMs: 120_000 };
  const { client } = cachedStores(storesOf(), cache, { lifetimes, nowMs }).stores.get("eu");
  const call = { signal: new AbortController().signal, tenant: "acme", bytes: createByteBudget() };
  const asked = { ...grid, rangeMs: 15_000 };
  await client.range("sum(lag)", asked, call);
  await client.histograms("sum(latency)", asked, { ...call, tenant: undefined });
  await client.ranges?.(
    [
      { query: "sum(a)", grid: asked },
      { query: "sum(b)", grid: asked },
    ],
    call,
  );
  expect({ messages: messages.toSorted().join("\n") }).toEqual(readPinned("cached-extent-messages.txt"));
});

test("a pod replies with the points that another one lacks", async () => {
  const pods = podsOfATest();
  const cache = createReadCache(1_000_000, { pods: pods.join("pod-a") });
  cache.ranges.add("key", ofNumbers, 1_000);
  const limits = { settledMs: 30_000, tailMs: 10_000 };
  const lacking = { startMs: grid.startMs - grid.stepMs, stepMs: grid.stepMs, count: 2 };
  const question = { kind: "numbers", key: "key", grid: lacking, limits, nowMs };
  const reply = (await pods.join("pod-b").request("pod-a", "extents", question)) as { readonly extents: string };
  const point = { ...series, values: Float64Array.of(1.5), present: Uint8Array.of(1) };
  expect(await decodeExtents(numberSeries, "key", Buffer.from(reply.extents, "base64"))).toEqual([
    { ...ofNumbers, count: 1, series: [point] },
  ]);
});
