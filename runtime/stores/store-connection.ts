import { queryDeadlineMsDefault, type StoreConfig } from "../../crds/config.ts";
import { createRetryBudget, createStoreSilence, createStoreSlots, type StoreSilence } from "./limits/store-slots.ts";
import { createPeerHttp, type MakePeerClient } from "./peer/peer-http.ts";
import {
  createPrometheusClient,
  probeStore,
  type PrometheusClient,
  type StoreCapabilities,
} from "./prometheus/prometheus-client.ts";
import { createStoreHttp, retried, type StoreCall, storeRequestsMax } from "./prometheus/store-http.ts";
import { StoreError } from "./store-error.ts";
import { secretsOf, type Material } from "./store-secrets.ts";

/** Share of the time of a read after which a response is missing. The rest is for what precedes the request. */
const fullShare = 0.9;

export interface ConnectionOptions {
  readonly config: StoreConfig;
  readonly material: Material;
  /** Used for a store that is a peer. */
  readonly makePeerClient: MakePeerClient;
  /** Bound on the reads of one query, in milliseconds. @default 1800 */
  readonly deadlineMs?: number | undefined;
}

/** The connections to one store, a Prometheus or a peer. */
export interface StoreConnection {
  readonly client: PrometheusClient;
  readonly timeoutMs: number;
  readonly probe: (nowMs: number, call: StoreCall) => Promise<StoreCapabilities>;
  /** The number of responses from the store. */
  readonly responses: () => number;
  readonly silence: StoreSilence;
  close(options: { readonly atOnce: boolean }): Promise<void>;
}

/** Sends one request. */
type Around = <Response>(call: StoreCall, send: () => Promise<Response>) => Promise<Response>;

/**
 * Creates the connections of a store. Its requests wait for one of its own places, so that they take nothing from other
 * stores. The probe does not wait, because a busy store is not a failing one.
 */
export function connectStore(options: ConnectionOptions): StoreConnection {
  const { config, material, makePeerClient } = options;
  const { region, prometheus, peer } = config;
  const budget = createRetryBudget();
  const { noted, queued, ...watched } = watchRequests(options);
  if (prometheus !== undefined) {
    const http = createStoreHttp(prometheus, secretsOf(prometheus, material));
    const clientOver = (around: Around): PrometheusClient =>
      createPrometheusClient(prometheus, (path, form, call, grid) =>
        retried(() => around(call, () => http.post(path, form, call, grid)), call.signal, budget),
      );
    const prober = clientOver(noted);
    return {
      ...watched,
      client: clientOver(queued),
      timeoutMs: prometheus.timeoutMs,
      probe: (nowMs, call) => probeStore(prober, nowMs, call),
      close: (ending) => http.close(ending),
    };
  }
  const http = createPeerHttp(peer, secretsOf(peer, material), budget);
  const terms = { region, increases: peer.increases };
  const clientOver = (around: Around) =>
    makePeerClient((body, call) => around(call, () => http.send(body, call)), terms);
  const prober = clientOver(noted);
  return {
    ...watched,
    client: clientOver(queued),
    timeoutMs: peer.timeoutMs,
    probe: (_nowMs, call) => prober.probe(call),
    close: (ending) => http.close(ending),
  };
}

interface WatchedRequests extends Pick<StoreConnection, "responses" | "silence"> {
  /** Sends at once. */
  readonly noted: Around;
  /** Sends when a place is free. */
  readonly queued: Around;
}

function watchRequests({ config, deadlineMs = queryDeadlineMsDefault }: ConnectionOptions): WatchedRequests {
  const { timeoutMs } = config.prometheus ?? config.peer;
  const silence = createStoreSilence(fullShare * Math.min(timeoutMs, deadlineMs));
  const slots = createStoreSlots(storeRequestsMax);
  let responded = 0;
  const noted: Around = async (_call, send) => {
    const end = silence.begin();
    try {
      const response = await send();
      responded += 1;
      end(true);
      return response;
    } catch (error) {
      end(isOfResponse(error));
      throw error;
    }
  };
  const queued: Around = async (call, send) => {
    const leave = await slots.enter(call.signal, call.origin?.correlationId ?? "");
    return noted(call, send).finally(leave);
  };
  return { noted, queued, responses: () => responded, silence };
}

/** Tests if an error was made of a response. A timeout that the store reports is none. */
function isOfResponse(error: unknown): boolean {
  return error instanceof StoreError && error.kind !== "late" && error.kind !== "unreachable";
}
