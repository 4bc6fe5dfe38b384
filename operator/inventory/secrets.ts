import type { Logger } from "pino";
import type { Secrets } from "../../crds/checks/secret-entry.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Clock } from "../../limits/clock.ts";
import { describeError, isKubeError } from "../../kube/client/kube-error.ts";
import type { Outage } from "../../kube/outage.ts";
import { isLater, type KubeObject, refOf, secretType } from "../../kube/client/resource.ts";
import { type RetryPolicy, retryPolicyDefault } from "../../kube/client/retry.ts";
import { type SecretObject } from "../resource-types.ts";
import type { WatchedSet } from "./watched-set.ts";

type Entries = Readonly<Record<string, string>>;

interface SecretInventoryOptions {
  readonly client: Pick<KubeClient, "get">;
  /** Metadata of every Secret in the watched namespaces, read without its data. */
  readonly metadata: Pick<WatchedSet<KubeObject>, "get" | "onChange" | "isUnlisted">;
  readonly log: Logger;
  readonly clock: Clock;
  /** Its end starts the next read of unreadable Secrets. */
  readonly outage: Outage;
  /** Called when a named Secret may have changed. */
  readonly onChange: () => void;
}

interface Held {
  /** Version of the Secret that was read, or that could not be read. */
  readonly resourceVersion: string;
  /** Entries of the last successful read; undefined before it. */
  readonly entries: Entries | undefined;
  /** True after a failed read, which no compilation repeats. */
  readonly isFailed?: true;
}

const readsAtOnce = 16;
/** Short bounds, since the compilation waits: an edit elsewhere is in force within three seconds. */
const readPolicy: RetryPolicy = { ...retryPolicyDefault, triesMax: 3, tryTimeoutMs: 2_000, budgetMs: 2_000 };
const againMs = 10_000;

/**
 * The entries of the Secrets that resources name. They are read when named or changed and kept while named. An
 * unreadable Secret keeps its earlier entries; it is read again every ten seconds, and no compilation waits for that.
 */
export class SecretInventory {
  readonly #options: SecretInventoryOptions;
  readonly #held = new Map<string, Held>();
  #wanted: ReadonlySet<string> = new Set();
  #cancelRetry: (() => void) | undefined;
  readonly #leaveOutage: () => void;
  readonly #stopping = new AbortController();

  constructor(options: SecretInventoryOptions) {
    this.#options = options;
    options.metadata.onChange(({ key, kind }) => {
      if (kind !== "resync" && this.#wanted.has(key)) options.onChange();
    });
    this.#leaveOutage = options.outage.onEnd(() => void this.#retryNow());
  }

  /**
   * Reads the newest entries of these Secrets. A name that is absent from the result has no Secret. Where the namespace
   * cannot be listed, nothing says so: its Secrets are unreadable.
   */
  async read(names: ReadonlySet<string>, signal: AbortSignal): Promise<Secrets> {
    this.#wanted = names;
    for (const name of this.#held.keys()) if (!names.has(name)) this.#held.delete(name);
    const stale = [...names].filter((name) => this.#isStale(name));
    await Promise.all(Array.from({ length: readsAtOnce }, () => this.#readFrom(stale, signal)));
    const present = [...names].filter((name) => this.#versionOf(name) !== undefined || this.#isUnlisted(name));
    return new Map(present.map((name) => [name, this.#held.get(name)?.entries ?? "unreadable"]));
  }

  stop(): void {
    this.#stopping.abort();
    this.#leaveOutage();
    this.#cancelRetry?.();
  }

  #versionOf(name: string): string | undefined {
    return this.#options.metadata.get(name)?.metadata.resourceVersion;
  }

  #isUnlisted(name: string): boolean {
    return this.#options.metadata.isUnlisted(refOf(name).namespace ?? "");
  }

  #isStale(name: string): boolean {
    const version = this.#versionOf(name);
    if (version === undefined) {
      this.#held.delete(name);
      return false;
    }
    const held = this.#held.get(name);
    return held === undefined || (held.resourceVersion !== version && isLater(version, held.resourceVersion) !== false);
  }

  async #readFrom(names: string[], signal: AbortSignal): Promise<void> {
    for (let name = names.pop(); name !== undefined && !signal.aborted; name = names.pop())
      await this.#readOne(name, signal);
  }

  async #readOne(name: string, signal: AbortSignal): Promise<void> {
    const before = this.#held.get(name)?.entries;
    try {
      const secret = await this.#options.client.get<SecretObject>(secretType, refOf(name), {
        retry: readPolicy,
        signal,
      });
      const entries = secret.data ?? {};
      // Equal entries stay the same object, so that a new label causes no evaluation.
      this.#held.set(name, {
        resourceVersion: secret.metadata.resourceVersion ?? "",
        entries: areSame(before, entries) ? before : entries,
      });
    } catch (error) {
      if (signal.aborted || isKubeError(error, "notFound")) return;
      this.#held.set(name, { resourceVersion: this.#versionOf(name) ?? "", entries: before, isFailed: true });
      this.#options.log.warn({ secret: name, error: describeError(error) }, "Secret not readable");
      this.#retryLater();
    }
  }

  #retryLater(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = this.#options.clock.after(againMs, () => void this.#retryNow());
  }

  /** Reads what failed again, apart from any compilation. */
  async #retryNow(): Promise<void> {
    if (this.#cancelRetry === undefined) return;
    this.#cancelRetry();
    this.#cancelRetry = undefined;
    const failed = this.#failed();
    const waiting = [...failed];
    await Promise.all(Array.from({ length: readsAtOnce }, () => this.#readFrom(waiting, this.#stopping.signal)));
    if (failed.some((name) => this.#held.get(name)?.isFailed !== true)) this.#options.onChange();
  }

  #failed(): readonly string[] {
    return [...this.#held].filter(([, { isFailed = false }]) => isFailed).map(([name]) => name);
  }
}

function areSame(before: Entries | undefined, after: Entries): before is Entries {
  if (before === undefined || Object.keys(before).length !== Object.keys(after).length) return false;
  return Object.entries(after).every(([entry, base64]) => before[entry] === base64);
}
