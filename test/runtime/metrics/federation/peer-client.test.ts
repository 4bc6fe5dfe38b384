import { describe, expect, test } from "vitest";
import { encodeExtents } from "../../../../runtime/metrics/cache/encode-extents.ts";
import { histogramSeries, numberSeries } from "../../../../runtime/metrics/cache/series-kind.ts";
import { createPeerClient } from "../../../../runtime/metrics/federation/peer-client.ts";
import { partialRequestKey } from "../../../../runtime/metrics/planning/plan-peer.ts";
import type { SendToPeer } from "../../../../runtime/stores/peer/peer-http.ts";
import { storeCall } from "../../stores/store-call.ts";

const grid = { startMs: 1_000_000, stepMs: 60_000, count: 3, rangeMs: 60_000 };
const question = '{"metric":"lag"}';
const asked = `{"version":1,"ask":${question},"over":{"start_ms":1000000,"count":3}}`;
const series = {
  labels: { service: "a" },
  values: Float64Array.of(1, Number.NaN, Number.POSITIVE_INFINITY),
  present: Uint8Array.of(1, 1, 0),
};
const extent = {
  startMs: grid.startMs,
  stepMs: grid.stepMs,
  count: grid.count,
  series: [series],
  readAtMs: 0,
  settledUntilMs: 0,
};

/** A client whose peer answers these bytes, and the bodies that it was sent. */
function clientOf(bytes: Uint8Array | object) {
  const bodies: string[] = [];
  const send: SendToPeer = async (body) => {
    bodies.push(body);
    return { bytes: Buffer.from(bytes instanceof Uint8Array ? bytes : JSON.stringify(bytes)), warning: "dropped" };
  };
  return { bodies, client: createPeerClient(send, { region: "latam", increases: "Extrapolated" }) };
}

describe("a client of a peer", () => {
  test("reads the numbers of a grid unchanged, with the warning of the peer", async () => {
    const { client, bodies } = clientOf(await encodeExtents(numberSeries, partialRequestKey(asked), [extent]));
    expect(await client.range(question, grid, storeCall())).toEqual({ series: [series], warning: "dropped" });
    expect(bodies).toEqual([asked]);
  });

  test("reads native histograms unchanged", async () => {
    const histograms = [undefined, { count: 2, sum: 3, buckets: [{ lower: 1, upper: Infinity, count: 2 }] }, undefined];
    const packed = await encodeExtents(histogramSeries, partialRequestKey(asked), [
      { ...extent, series: [{ labels: {}, histograms }] },
    ]);
    expect((await clientOf(packed).client.histograms(question, grid, storeCall())).series).toEqual([
      { labels: {}, histograms },
    ]);
  });

  const key = partialRequestKey(asked);
  const rows: readonly (readonly [sentence: string, bytes: () => Promise<Uint8Array>])[] = [
    ["is to another question", () => encodeExtents(numberSeries, partialRequestKey(`${asked} `), [extent])],
    ["is of other points", () => encodeExtents(numberSeries, key, [{ ...extent, startMs: 0 }])],
    ["is of points of another width", () => encodeExtents(numberSeries, key, [{ ...extent, stepMs: 1 }])],
    ["holds two pieces", () => encodeExtents(numberSeries, key, [extent, extent])],
    ["holds none", () => encodeExtents(numberSeries, key, [])],
    [
      "has labels that are no texts",
      () => encodeExtents(numberSeries, key, [{ ...extent, series: [{ ...series, labels: { service: 1 } as never }] }]),
    ],
    ["is cut", async () => (await encodeExtents(numberSeries, key, [extent])).subarray(0, 60)],
    [
      "was changed",
      async () =>
        (await encodeExtents(numberSeries, key, [extent])).map((byte, index) => (index === 40 ? byte ^ 1 : byte)),
    ],
    ["is JSON", async () => Buffer.from('{"samples":[]}')],
  ];
  test.each(rows)("refuses a response that %s", async (_sentence, bytes) => {
    await expect(clientOf(await bytes()).client.range(question, grid, storeCall())).rejects.toMatchObject({
      kind: "malformed",
    });
  });

  test("reads one number, and undefined where the peer has none", async () => {
    const { client, bodies } = clientOf({ samples: [{ labels: {}, value: 12.5 }] });
    expect(await client.single(question, 5_000, storeCall())).toBe(12.5);
    expect(bodies).toEqual([`{"version":1,"ask":${question},"over":{"time_ms":5000}}`]);
    expect(await clientOf({ samples: [] }).client.single(question, 5_000, storeCall())).toBeUndefined();
    await expect(
      clientOf({ samples: [{ labels: {}, value: "1" }] }).client.single(question, 5_000, storeCall()),
    ).rejects.toMatchObject({ kind: "malformed" });
  });

  test("reads exemplars with their trace only", async () => {
    const { client } = clientOf({
      exemplars: [{ labels: { service: "a" }, trace_id: "ab", value: 1, timestamp_ms: 7, user: "x" }],
    });
    expect(await client.exemplars(question, 1, 2, storeCall())).toEqual([
      { seriesLabels: { service: "a" }, labels: { trace_id: "ab" }, value: 1, timestampMs: 7 },
    ]);
    await expect(clientOf({ exemplars: [{}] }).client.exemplars(question, 1, 2, storeCall())).rejects.toMatchObject({
      kind: "malformed",
    });
  });

  test("accepts only a peer whose stores compute increases as the catalog says", async () => {
    expect(await clientOf({ increases: ["Extrapolated"] }).client.probe(storeCall())).toMatchObject({
      increases: "Extrapolated",
    });
    await expect(clientOf({ increases: ["Extrapolated", "Plain"] }).client.probe(storeCall())).rejects.toMatchObject({
      kind: "unsupported",
    });
    await expect(clientOf(Buffer.from("no")).client.probe(storeCall())).rejects.toMatchObject({ kind: "malformed" });
  });
});
