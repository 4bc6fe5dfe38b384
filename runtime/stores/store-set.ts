import type { StoreConfig } from "../../crds/config.ts";
import { createStore, type Store } from "./store.ts";

/** The stores in use, each with its connections, over changes of the configuration. */
export interface StoreSet {
  /** @throws Error for a key that no configuration named */
  get(key: string): Store;
  /** Every store by key, sorted. */
  list(): readonly (readonly [string, Store])[];
  /** Obeys another configuration: an unchanged store keeps its connections, a removed one ends when it is idle. */
  apply(configs: ReadonlyMap<string, StoreConfig>): void;
  stop(): Promise<void>;
}

/** An empty set. */
export function createStoreSet(now: () => number): StoreSet {
  let stores: ReadonlyMap<string, Store> = new Map();
  return {
    get(key) {
      const store = stores.get(key);
      if (store === undefined) throw new Error(`no store ${key}`);
      return store;
    },
    list: () => [...stores],
    apply(configs) {
      const before = stores;
      stores = new Map(
        [...configs]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, config]) => [key, unchanged(before.get(key), config) ?? createStore(config, now)]),
      );
      for (const [key, store] of before) {
        if (stores.get(key) !== store) void store.close({ atOnce: false });
      }
    },
    async stop() {
      const ending = [...stores.values()];
      stores = new Map();
      await Promise.all(ending.map((store) => store.close({ atOnce: true })));
    },
  };
}

function unchanged(store: Store | undefined, config: StoreConfig): Store | undefined {
  return store !== undefined && JSON.stringify(store.config) === JSON.stringify(config) ? store : undefined;
}
