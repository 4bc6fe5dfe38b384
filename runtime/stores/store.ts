import type { StoreConfig } from "../../crds/config.ts";
import { probeStore, type StoreCapabilities } from "./probe.ts";
import { createPrometheusClient, type PrometheusClient } from "./prometheus-client.ts";
import { StoreError } from "./store-error.ts";

/** How long a probe is believed: an upgrade of the store is noticed after this at the latest. */
const probeMsMax = 60_000;

/** `unknown` until the store was first asked for something. */
export type StoreState = "unknown" | "ok" | "failing";

/** A store with what is known of it. */
export interface Store {
  readonly config: StoreConfig;
  readonly client: PrometheusClient;
  /** What the store can do: as last probed, or by a probe that all waiting callers share. @throws StoreError */
  capabilities(): Promise<StoreCapabilities>;
  /** What the last probe found, if one did. */
  knownCapabilities(): StoreCapabilities | undefined;
  /** Notes how a request ended, for {@link state}. */
  note(state: "ok" | "failing"): void;
  state(): StoreState;
  close(options: { readonly atOnce: boolean }): Promise<void>;
}

/** Makes a store. Nothing is sent before the first call. */
export function createStore(config: StoreConfig, now: () => number): Store {
  const client = createPrometheusClient(config.prometheus);
  let known: { readonly capabilities: StoreCapabilities; readonly atMs: number } | undefined;
  let flight: Promise<StoreCapabilities> | undefined;
  let state: StoreState = "unknown";

  const probe = async (): Promise<StoreCapabilities> => {
    try {
      const capabilities = await probeStore(client, now(), AbortSignal.timeout(config.prometheus.timeoutMs));
      known = { capabilities, atMs: now() };
      state = "ok";
      return capabilities;
    } catch (error) {
      state = "failing";
      throw error instanceof StoreError ? error : new StoreError("late", "the probe took too long", { cause: error });
    } finally {
      flight = undefined;
    }
  };

  return {
    config,
    client,
    capabilities() {
      const fresh = known !== undefined && now() - known.atMs < probeMsMax;
      if (!fresh) flight ??= probe();
      if (known === undefined) return flight ?? probe();
      // What an earlier probe found serves until the next one is back; its failure shows in the requests themselves.
      flight?.catch(() => undefined);
      return Promise.resolve(known.capabilities);
    },
    knownCapabilities: () => known?.capabilities,
    note: (noted) => {
      state = noted;
    },
    state: () => state,
    close: (options) => client.close(options),
  };
}
