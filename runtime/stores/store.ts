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

/** How long a probe is believed: an upgrade of the store is noticed after this at the latest. */
const probeMsMax = 60_000;

/** `unknown` until the store was first asked for something. */
type StoreState = "unknown" | "ok" | "failing";

/** A store with what is known of it. */
export interface Store {
  readonly config: StoreConfig;
  /** A digest of everything that the store is made with, equal in all pods: one that is configured anew has another. */
  readonly identity: string;
  readonly client: PrometheusClient;
  /**
   * Runs one read of the store, unless it failed too often just now, and notes how that went if the store was asked for
   * anything.
   *
   * @throws StoreError `resting`; whatever the read throws
   */
  run<Value>(read: () => Promise<Value>): Promise<Value>;
  /**
   * What the store can do: as last probed, or by a probe that all waiting callers share. `tenant` is whom to name where
   * the store wants a tenant for everything.
   *
   * @throws StoreError; `unsupported` when it is not what its flavour says
   */
  capabilities(tenant?: string): Promise<StoreCapabilities>;
  /** What the last probe found, if one did. */
  knownCapabilities(): StoreCapabilities | undefined;
  state(): StoreState;
  close(options: { readonly atOnce: boolean }): Promise<void>;
}

/** What a store is made with. */
interface StoreOptions {
  readonly config: StoreConfig;
  readonly material: Material;
  readonly identity: string;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** For a store that is a peer. */
  readonly makePeerClient: MakePeerClient;
}

/** Makes a store. Nothing is sent before the first call. */
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
      if (settle === undefined) throw new StoreError("resting", "the store failed too often just now");
      const before = connection.responses();
      try {
        const value = await read();
        // What was known already tells nothing of the store.
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

/** What differs between the kinds of stores. */
interface Connection {
  readonly client: PrometheusClient;
  readonly timeoutMs: number;
  readonly probe: (nowMs: number, call: StoreCall) => Promise<StoreCapabilities>;
  /** Requests that the store has answered. */
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
      throw error instanceof StoreError ? error : new StoreError("late", "the probe took too long", { cause: error });
    } finally {
      flight = undefined;
    }
  };

  return {
    run(tenant) {
      const isFresh = known !== undefined && now() - known.atMs < probeMsMax;
      if (!isFresh) flight ??= probe(tenant);
      if (known === undefined) return flight ?? probe(tenant);
      // What an earlier probe found serves until the next one is back; its failure shows in the requests themselves.
      flight?.catch(() => undefined);
      return Promise.resolve(known.capabilities);
    },
    known: () => known?.capabilities,
  };
}

/** Queries are granted by what the catalog says of a store, so that it must be true. */
function requireFlavour(config: StoreConfig, { increases }: StoreCapabilities): void {
  if (traitsOf(config).increases === increases) return;
  throw new StoreError(
    "unsupported",
    `the store computes increases (${increases}) unlike ${config.prometheus?.flavour ?? "the peer's"}`,
  );
}
