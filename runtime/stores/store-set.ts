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

/** The same stores, each read through another client. */
export function withClients(stores: Stores, clientOf: (key: string, store: Store) => Store["client"]): Stores {
  return {
    get(key) {
      const store = stores.get(key);
      return { ...store, client: clientOf(key, store) };
    },
    list: () => stores.list(),
  };
}

/** The stores in use, each with its connections, over changes of the configuration. */
export interface StoreSet extends Stores {
  /**
   * Obeys another configuration: a store that is unchanged, and whose Secrets are, keeps its connections; a removed one
   * ends when it is idle.
   */
  apply(configs: ReadonlyMap<string, StoreConfig>, material: Material): void;
  stop(): Promise<void>;
}

interface KeptStore {
  readonly store: Store;
  /** Equal for stores that would be made the same; a digest, since Secrets are in it. */
  readonly made: string;
}

/** An empty set. @param makePeerClient for stores that are peers */
export function createStoreSet(now: () => number, makePeerClient: MakePeerClient): StoreSet {
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
          const made = hash("sha256", JSON.stringify([config, secrets]), "base64url");
          const kept = before.get(key);
          return [
            key,
            kept?.made === made
              ? kept
              : { made, store: createStore({ config, material, identity: made, now, makePeerClient }) },
          ] as const;
        });
      stores = new Map(entries);
      for (const [key, { store }] of before) {
        // Nobody can do anything about connections that do not end well.
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
