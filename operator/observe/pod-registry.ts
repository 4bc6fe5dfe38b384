import { Agent, overlappingConnector } from "../../network/undici-connector.ts";
import { byText } from "../../crds/compile/canonical-json.ts";
import type { Clock } from "../../limits/clock.ts";
import type { PodAddress } from "./endpoints.ts";
import { PodPoller } from "./pod-poller.ts";
import type { PodReport, Pods, PodView } from "./rollout.ts";

/** A change of the pods. */
export type PodNews =
  /** A pod was added or removed, or stopped or resumed responding. */
  | { readonly kind: "pods" }
  /** A pod has a new report; `before` is its earlier one. */
  | { readonly kind: "report"; readonly before: PodReport | undefined; readonly after: PodReport };

interface PodRegistryOptions {
  readonly token: () => string | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly onNews: (news: PodNews) => void;
}

interface Known {
  readonly identity: string;
  readonly poller: PodPoller;
  view: PodView;
}

/** Connections to one pod: its long poll, and one more while that is being replaced. */
const connectionsPerPod = 2;
const connectTimeoutMs = 3_000;

/** All ready pods with their last reports. */
export class PodRegistry {
  readonly #options: PodRegistryOptions;
  readonly #agent = new Agent({
    connections: connectionsPerPod,
    connect: overlappingConnector({ timeout: connectTimeoutMs }),
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  readonly #pods = new Map<string, Known>();
  #emptySinceMs: number | undefined;

  constructor(options: PodRegistryOptions) {
    this.#options = options;
    this.#emptySinceMs = options.clock.nowMs();
  }

  /** Sets the present pods. New pods are polled, absent ones are dropped. */
  set(addresses: readonly PodAddress[]): void {
    const wanted = new Map(addresses.map((address) => [address.name, address]));
    const gone = [...this.#pods].filter(([name, { identity }]) => wanted.get(name)?.identity !== identity);
    for (const [name, { poller }] of gone) {
      this.#pods.delete(name);
      void poller.stop();
    }
    const added = addresses.filter(({ name }) => !this.#pods.has(name));
    for (const address of added) this.#add(address);
    if (this.#pods.size > 0) this.#emptySinceMs = undefined;
    else this.#emptySinceMs ??= this.#options.clock.nowMs();
    if (gone.length + added.length > 0) this.#options.onNews({ kind: "pods" });
  }

  /** Sorted by name. */
  pods(): Pods {
    const list = [...this.#pods.values()].map(({ view }) => view).sort((one, other) => byText(one.name, other.name));
    return { list, emptySinceMs: this.#emptySinceMs };
  }

  async stop(): Promise<void> {
    const pollers = [...this.#pods.values()].map(({ poller }) => poller);
    this.#pods.clear();
    await Promise.all(pollers.map((poller) => poller.stop()));
    await this.#agent.destroy();
  }

  #add(address: PodAddress): void {
    const { token, clock, random, onNews } = this.#options;
    const change = (view: Partial<PodView>): boolean => {
      // A report of a dropped pod is ignored.
      const known = this.#pods.get(address.name);
      if (known?.identity !== address.identity) return false;
      known.view = { ...known.view, ...view };
      return true;
    };
    const poller = new PodPoller({
      address,
      agent: this.#agent,
      token,
      clock,
      random,
      onReport: (report) => {
        const before = this.#pods.get(address.name)?.view;
        if (!change({ report, silence: undefined })) return;
        if (before?.silence !== undefined) onNews({ kind: "pods" });
        onNews({ kind: "report", before: before?.report, after: report });
      },
      onSilence: (silence) => {
        const before = this.#pods.get(address.name)?.view;
        if (change({ silence }) && before?.silence === undefined) onNews({ kind: "pods" });
      },
    });
    const view: PodView = { name: address.name, sinceMs: clock.nowMs(), report: undefined, silence: undefined };
    this.#pods.set(address.name, { identity: address.identity, poller, view });
  }
}
