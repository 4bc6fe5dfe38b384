// Reads partials from a runtime in another region, and serves them to one. Pods of this installation use `pods/`
// instead.
import { parseJsonObject } from "../../json/json-body.ts";
import type { MakePeerClient, PeerClient, PeerResponse, PeerTerms, SendToPeer } from "../../stores/peer/peer-http.ts";
import type { VectorSample } from "../../stores/prometheus/matrix.ts";
import type { StoreCapabilities } from "../../stores/prometheus/probe-store.ts";
import type { RangeGrid, RangeResult, StoreExemplar } from "../../stores/prometheus/prometheus-client.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import { StoreError } from "../../stores/store-error.ts";
import { decodeExtents } from "../cache/encode-extents.ts";
import { histogramSeries, numberSeries, type SeriesKind } from "../cache/series-kind.ts";
import { partialRequestBody, partialRequestKey, probeBody } from "../planning/plan-peer.ts";

/** Creates a client that reads a peer like a store. Its queries are partial requests in JSON. */
export const createPeerClient: MakePeerClient = (send, terms) => {
  const range =
    <Series extends Labelled>(kind: SeriesKind<Series>) =>
    (request: string, grid: RangeGrid, call: StoreCall) =>
      askSeries({ kind, send }, partialRequestBody(request, { start_ms: grid.startMs, count: grid.count }), grid, call);
  const vector: PeerClient["vector"] = async (request, timeMs, call) =>
    samplesIn(await send(partialRequestBody(request, { time_ms: timeMs }), call));
  return {
    range: range(numberSeries),
    histograms: range(histogramSeries),
    vector,
    single: async (request, timeMs, call) => (await vector(request, timeMs, call))[0]?.value,
    exemplars: async (request, fromMs, toMs, call) =>
      exemplarsIn(await send(partialRequestBody(request, { from_ms: fromMs, to_ms: toMs }), call)),
    probe: async (call) => capabilitiesOf(terms, await send(probeBody({ region: terms.region }), call)),
  };
};

interface Labelled {
  readonly labels: Readonly<Record<string, string>>;
}

interface Asking<Series> {
  readonly kind: SeriesKind<Series>;
  readonly send: SendToPeer;
}

async function askSeries<Series extends Labelled>(
  { kind, send }: Asking<Series>,
  body: string,
  { startMs, stepMs, count }: RangeGrid,
  call: StoreCall,
): Promise<RangeResult<Series>> {
  const { bytes, warning } = await send(body, call);
  const [extent, ...others] = await decodeExtents(kind, partialRequestKey(body), bytes);
  const isRequested =
    extent !== undefined &&
    others.length === 0 &&
    extent.startMs === startMs &&
    extent.stepMs === stepMs &&
    extent.count === count;
  if (!isRequested || !extent.series.every(({ labels }) => areLabels(labels))) throw malformed();
  return { series: extent.series, warning };
}

function samplesIn(result: PeerResponse): readonly VectorSample[] {
  return listIn(result, "samples").map((sample) => {
    const { labels, value } = (sample ?? {}) as Readonly<Record<string, unknown>>;
    if (!areLabels(labels) || typeof value !== "number") throw malformed();
    return { labels, value };
  });
}

function exemplarsIn(result: PeerResponse): readonly StoreExemplar[] {
  return listIn(result, "exemplars").map((exemplar) => {
    const {
      labels,
      trace_id: traceId,
      value,
      timestamp_ms: timestampMs,
    } = (exemplar ?? {}) as Readonly<Record<string, unknown>>;
    if (
      !areLabels(labels) ||
      typeof traceId !== "string" ||
      typeof value !== "number" ||
      typeof timestampMs !== "number"
    )
      throw malformed();
    return { seriesLabels: labels, labels: { trace_id: traceId }, value, timestampMs };
  });
}

/** The peer itself rejects what its stores cannot do, for each metric, and prints ranges for their boundaries. */
function capabilitiesOf({ increases }: PeerTerms, result: PeerResponse): StoreCapabilities {
  const found = listIn(result, "increases");
  if (found.some((one) => one !== increases)) {
    throw new StoreError(
      "unsupported",
      `the peer's stores compute increases as ${found.join(", ")}, not ${increases}; correct the catalog`,
    );
  }
  return { boundary: "LeftOpen", increases, anchored: true, native: true };
}

function listIn({ bytes }: PeerResponse, name: string): readonly unknown[] {
  const list = parseJsonObject(bytes.toString("utf8"))?.[name];
  if (!Array.isArray(list)) throw malformed();
  return list;
}

function areLabels(labels: unknown): labels is Readonly<Record<string, string>> {
  return (
    typeof labels === "object" && labels !== null && Object.values(labels).every((value) => typeof value === "string")
  );
}

function malformed(): StoreError {
  return new StoreError("malformed", "the peer's response has an unknown format or belongs to another request");
}
