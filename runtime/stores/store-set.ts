import { hash } from "node:crypto";
import type { StoreConfig } from "../../crds/config.ts";
import { storeMaterialIdsOf } from "../../crds/material.ts";
import type { MakePeerClient } from "./peer/peer-http.ts";
import { createStore, type Store } from "./store.ts";
import type { Material } from "./store-secrets.ts";

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

interface KeptStore {
  readonly store: Store;
  /** Digest of the configuration and the Secrets of the store. */
  readonly identity: string;
}

/**
 * Creates an empty set.
 *
 * @param makePeerClient for stores that are peers
 * @param deadlineMs bound on the reads of one query. @default 1800
 */
export function createStoreSet(now: () => number, makePeerClient: MakePeerClient, deadlineMs?: number): StoreSet {
  let stores: ReadonlyMap<string, KeptStore> = new Map();
  return {
    get(key) {
      const kept = stores.get(key);
      if (kept === undefined) throw new Error(`no store ${key}`);
      return kept.store;
    },
    list: () => [...stores].map(([key, { store }]) => [key, store]),
    apply(configs, material) {
      const before = stores;
      const entries = [...configs]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, config]) => {
          const secrets = storeMaterialIdsOf(config).map((id) => material[id]);
          const identity = hash("sha256", JSON.stringify([config, secrets]), "base64url");
          const kept = before.get(key);
          return [
            key,
            kept?.identity === identity
              ? kept
              : { identity, store: createStore({ config, material, identity, now, makePeerClient, deadlineMs }) },
          ] as const;
        });
      stores = new Map(entries);
      for (const [key, { store }] of before) {
        // A failure to close a removed store has no consequence.
        if (stores.get(key)?.store !== store) store.close({ atOnce: false }).catch(() => undefined);
      }
    },
    async stop() {
      const ending = [...stores.values()];
      stores = new Map();
      await Promise.all(ending.map(({ store }) => store.close({ atOnce: true })));
    },
  };
}
