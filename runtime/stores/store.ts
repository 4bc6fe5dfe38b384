// Access to the stores of metrics: connections, credentials, health, and the protocols of Prometheus and of peers.
// The planning of queries is elsewhere.
import type { StoreConfig } from "../../crds/config.ts";
import { createBreaker, type Settle } from "./limits/circuit-breaker.ts";
import { createByteBudget } from "./limits/byte-budget.ts";
import { traitsOf } from "./prometheus/flavours.ts";
import { createPeerHttp, type MakePeerClient } from "./peer/peer-http.ts";
import { probeStore, type StoreCapabilities } from "./prometheus/probe.ts";
import { createPrometheusClient, type PrometheusClient } from "./prometheus/prometheus-client.ts";
import { retried } from "./prometheus/retrying-request.ts";
import { createRetryBudget } from "./limits/retry-budget.ts";
import { isStoresFault, StoreError } from "./store-error.ts";
import { createStoreHttp, type Post, type StoreCall } from "./prometheus/store-http.ts";
import { secretsOf, type Material } from "./store-secrets.ts";

/** Longest use of one probe's result. An upgrade of the store is detected within this time. */
const probeMsMax = 60_000;

/** `unknown` until the first request to the store. */
type StoreState = "unknown" | "ok" | "failing";

/** A store with its health and its capabilities. */
export interface Store {
  readonly config: StoreConfig;
  /** Digest of the configuration and the Secrets of the store, equal in all pods. */
  readonly identity: string;
  readonly client: PrometheusClient;
  /**
   * Runs one read unless the circuit breaker is open. The outcome counts for the breaker when a request was sent.
   *
   * @throws StoreError `resting`; any error of the read
   */
  run<Value>(read: () => Promise<Value>): Promise<Value>;
  /**
   * The capabilities of the store, as last probed. Callers share a running probe.
   *
   * @param tenant for a store that requires a tenant in every request
   * @throws StoreError; `unsupported` when they differ from those of the flavour
   */
  capabilities(tenant?: string): Promise<StoreCapabilities>;
  /** The result of the last successful probe. */
  knownCapabilities(): StoreCapabilities | undefined;
  state(): StoreState;
  close(options: { readonly atOnce: boolean }): Promise<void>;
}

interface StoreOptions {
  readonly config: StoreConfig;
  readonly material: Material;
  readonly identity: string;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Used for a store that is a peer. */
  readonly makePeerClient: MakePeerClient;
}

/** Creates a store. It sends nothing before the first call. */
export function createStore(options: StoreOptions): Store {
  const { config, identity } = options;
  const connection = connect(options);
  const { client } = connection;
  const breaker = createBreaker(() => performance.now());
  const probe = sharedProbe(options, connection);
  let state: StoreState = "unknown";

  const note = (error: unknown, settle: Settle): void => {
    const isFault = error instanceof StoreError && isStoresFault(error);
    if (isFault) state = "failing";
    settle(isFault ? "failed" : "neutral");
  };

  return {
    config,
    identity,
    client,
    async run(read) {
      const settle = breaker.admit();
      if (settle === undefined) throw new StoreError("resting", "the circuit breaker of the store is open");
      const before = connection.responses();
      try {
        const value = await read();
        // A cached result does not concern the health of the store.
        const hasResponded = connection.responses() > before;
        if (hasResponded) state = "ok";
        settle(hasResponded ? "ok" : "neutral");
        return value;
      } catch (error) {
        note(error, settle);
        throw error;
      }
    },
    async capabilities(tenant) {
      const wasKnown = probe.known() !== undefined;
      try {
        const capabilities = await probe.run(tenant);
        if (!wasKnown) state = "ok";
        return capabilities;
      } catch (error) {
        state = "failing";
        throw error;
      }
    },
    knownCapabilities: () => probe.known(),
    state: () => state,
    close: (ending) => connection.close(ending),
  };
}

/** The differences between a Prometheus store and a peer. */
interface Connection {
  readonly client: PrometheusClient;
  readonly timeoutMs: number;
  readonly probe: (nowMs: number, call: StoreCall) => Promise<StoreCapabilities>;
  /** The number of responses from the store. */
  readonly responses: () => number;
  readonly close: Store["close"];
}

function connect({ config: { region, prometheus, peer }, material, makePeerClient }: StoreOptions): Connection {
  const budget = createRetryBudget();
  let responded = 0;
  const responses = (): number => responded;
  const counted =
    <Sent extends readonly unknown[], Response>(send: (...sent: Sent) => Promise<Response>) =>
    async (...sent: Sent): Promise<Response> => {
      const response = await send(...sent);
      responded += 1;
      return response;
    };
  if (prometheus !== undefined) {
    const http = createStoreHttp(prometheus, secretsOf(prometheus, material));
    const send = counted(http.post);
    const post: Post = (path, form, call, grid) => retried(() => send(path, form, call, grid), call.signal, budget);
    const client = createPrometheusClient(prometheus, post);
    return {
      client,
      timeoutMs: prometheus.timeoutMs,
      probe: (nowMs, call) => probeStore(client, nowMs, call),
      responses,
      close: (ending) => http.close(ending),
    };
  }
  const http = createPeerHttp(peer, secretsOf(peer, material), budget);
  const client = makePeerClient(counted(http.send), { region, increases: peer.increases });
  return {
    client,
    timeoutMs: peer.timeoutMs,
    probe: (_nowMs, call) => client.probe(call),
    responses,
    close: (ending) => http.close(ending),
  };
}

interface SharedProbe {
  run(tenant: string | undefined): Promise<StoreCapabilities>;
  known(): StoreCapabilities | undefined;
}

function sharedProbe({ config, now }: StoreOptions, connection: Connection): SharedProbe {
  let known: { readonly capabilities: StoreCapabilities; readonly atMs: number } | undefined;
  let flight: Promise<StoreCapabilities> | undefined;

  const probe = async (tenant: string | undefined): Promise<StoreCapabilities> => {
    try {
      const signal = AbortSignal.timeout(connection.timeoutMs);
      const capabilities = await connection.probe(now(), { signal, tenant, bytes: createByteBudget() });
      requireFlavour(config, capabilities);
      known = { capabilities, atMs: now() };
      return capabilities;
    } catch (error) {
      if (error instanceof StoreError) throw error;
      throw new StoreError("late", `no response to the probe in ${connection.timeoutMs} ms`, { cause: error });
    } finally {
      flight = undefined;
    }
  };

  return {
    run(tenant) {
      const isFresh = known !== undefined && now() - known.atMs < probeMsMax;
      if (!isFresh) flight ??= probe(tenant);
      if (known === undefined) return flight ?? probe(tenant);
      // The earlier result is valid until the next probe ends. A failed probe shows in the requests themselves.
      flight?.catch(() => undefined);
      return Promise.resolve(known.capabilities);
    },
    known: () => known?.capabilities,
  };
}

/** Requires the increase rule of the catalog, because it decides which queries are allowed. */
function requireFlavour(config: StoreConfig, { increases }: StoreCapabilities): void {
  const expected = traitsOf(config).increases;
  if (expected === increases) return;
  throw new StoreError(
    "unsupported",
    `the store computes increases by the rule ${increases}, not ${expected}; correct its flavour in the catalog`,
  );
}
