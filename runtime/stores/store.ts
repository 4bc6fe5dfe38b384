// Access to the stores of metrics: connections, credentials, health, and the protocols of Prometheus and of peers.
// The planning of queries is elsewhere.
import { hash } from "node:crypto";
import type { StoreConfig } from "../../crds/config.ts";
import { storeMaterialIdsOf } from "../../crds/material.ts";
import { createBreaker, createByteBudget, type Settle } from "./limits/fan-out.ts";
import type { MakePeerClient } from "./peer/peer-http.ts";
import type { StoreCapabilities } from "./prometheus/probe-store.ts";
import { type PrometheusClient, traitsOf } from "./prometheus/prometheus-client.ts";
import { type BackgroundHttp, type ConnectionOptions, connectStore, type StoreConnection } from "./store-connection.ts";
import { isStoresFault, StoreError } from "./store-error.ts";
import type { Material, SharedAccess } from "./store-secrets.ts";

/** Longest use of one probe's result. An upgrade of the store is detected within this time. */
const probeMsMax = 60_000;
/** Longest use of a state before {@link Store.check} probes the store. */
const stateMsMax = 10_000;

/** `unknown` until the first request to the store. */
type StoreState = "unknown" | "ok" | "failing";

/** A store with its health and its capabilities. */
export interface Store {
  readonly config: StoreConfig;
  /** Digest of the configuration and the Secrets of the store, equal in all pods. */
  readonly identity: string;
  readonly client: PrometheusClient;
  readonly background: BackgroundHttp | undefined;
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
  /** Milliseconds since a response or a failure showed the state; undefined before the first. */
  stateAgeMs(): number | undefined;
  /**
   * Probes the store if its state is older than {@link stateMsMax}, so that a state does not outlive what it reports.
   * The next {@link state} has the outcome.
   */
  check(): void;
  close(options: { readonly atOnce: boolean }): Promise<void>;
}

interface StoreOptions extends ConnectionOptions {
  readonly identity: string;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Creates a store. It sends nothing before the first call. */
export function createStore(options: StoreOptions): Store {
  const { config, identity } = options;
  const connection = connectStore(options);
  const { client } = connection;
  const breaker = createBreaker(() => performance.now());
  const probe = sharedProbe(options, connection);
  const { now } = options;
  let state: StoreState = "unknown";
  let stateAtMs: number | undefined;
  const see = (seen: StoreState): void => {
    [state, stateAtMs] = [seen, now()];
  };

  const note = (error: unknown, settle: Settle, startedAtMs: number): void => {
    const isFault = error instanceof StoreError && isStoresFault(error, connection.silence.wasSilentSince(startedAtMs));
    if (isFault) see("failing");
    settle(isFault ? "failed" : "neutral");
  };

  return {
    config,
    identity,
    client,
    background: connection.background,
    async run(read) {
      const settle = breaker.admit();
      if (settle === undefined) {
        const restMs = breaker.restMs();
        throw new StoreError("resting", "the circuit breaker of the store is open", { restMs });
      }
      const before = connection.responses();
      const startedAtMs = connection.silence.nowMs();
      try {
        const value = await read();
        // A cached result does not concern the health of the store.
        const hasResponded = connection.responses() > before;
        if (hasResponded) see("ok");
        settle(hasResponded ? "ok" : "neutral");
        return value;
      } catch (error) {
        note(error, settle, startedAtMs);
        throw error;
      }
    },
    async capabilities(tenant) {
      const wasKnown = probe.known() !== undefined;
      try {
        const capabilities = await probe.run(tenant);
        if (!wasKnown) see("ok");
        return capabilities;
      } catch (error) {
        see("failing");
        throw error;
      }
    },
    knownCapabilities: () => probe.known(),
    state: () => state,
    stateAgeMs: () => (stateAtMs === undefined ? undefined : now() - stateAtMs),
    check() {
      // A store that needs a tenant for each request is probed with its first query.
      if (config.tenancy === "StoreHeader") return;
      if (stateAtMs !== undefined && now() - stateAtMs < stateMsMax) return;
      probe.fresh().then(
        () => see("ok"),
        () => see("failing"),
      );
    },
    close: (ending) => connection.close(ending),
  };
}

interface SharedProbe {
  run(tenant: string | undefined): Promise<StoreCapabilities>;
  /** Joins the running probe, or starts one. */
  fresh(): Promise<StoreCapabilities>;
  known(): StoreCapabilities | undefined;
}

function sharedProbe({ config, now }: StoreOptions, connection: StoreConnection): SharedProbe {
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
    fresh: () => (flight ??= probe(undefined)),
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

/** Stores by key. */
export interface Stores {
  /** @throws Error for a key that no configuration named */
  get(key: string): Store;
  /** Every store, sorted by key. */
  list(): readonly (readonly [string, Store])[];
}

/** Replaces the client of each store. */
export function withClients(stores: Stores, clientOf: (key: string, store: Store) => Store["client"]): Stores {
  return {
    get(key) {
      const store = stores.get(key);
      return { ...store, client: clientOf(key, store) };
    },
    list: () => stores.list(),
  };
}

/** The stores of the applied configuration, with their connections. */
export interface StoreSet extends Stores {
  /**
   * Applies a configuration. A store keeps its connections while it and its Secrets are unchanged. A removed store
   * closes when it is idle.
   */
  apply(configs: ReadonlyMap<string, StoreConfig>, material: Material): void;
  stop(): Promise<void>;
}

/**
 * Creates an empty set.
 *
 * @param makePeerClient for stores that are peers
 * @param access what all stores share
 */
export function createStoreSet(now: () => number, makePeerClient: MakePeerClient, access: SharedAccess = {}): StoreSet {
  let stores: ReadonlyMap<string, Store> = new Map();
  return {
    get(key) {
      const store = stores.get(key);
      if (store === undefined) throw new Error(`no store ${key}`);
      return store;
    },
    list: () => [...stores],
    apply(configs, material) {
      const before = stores;
      const entries = [...configs]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, config]) => {
          const secrets = storeMaterialIdsOf(config).map((id) => material[id]);
          const identity = hash("sha256", JSON.stringify([config, secrets]), "base64url");
          const kept = before.get(key);
          if (kept?.identity === identity) return [key, kept] as const;
          return [key, createStore({ config, material, identity, now, makePeerClient, ...access })] as const;
        });
      stores = new Map(entries);
      for (const [key, store] of before) {
        // A failure to close a removed store has no consequence.
        if (stores.get(key) !== store) store.close({ atOnce: false }).catch(() => undefined);
      }
    },
    async stop() {
      const ending = [...stores.values()];
      stores = new Map();
      await Promise.all(ending.map((store) => store.close({ atOnce: true })));
    },
  };
}
