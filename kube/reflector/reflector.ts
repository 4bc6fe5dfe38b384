// List and watch of one type of objects, for operator and runtime. It keeps no objects.

import type { BackoffOptions } from "../backoff.ts";
import type { KubeClient, ListOptions, Selection } from "../client/client.ts";
import { isKubeError, KubeError, retryAfterMsOf } from "../client/kube-error.ts";
import { isLater, type KubeList, type KubeObject, type ResourceType } from "../client/resource.ts";
import { singleTry } from "../client/retry.ts";
import type { WatchEvent } from "../client/watch.ts";
import { type Clock, systemClock } from "../../limits/clock.ts";
import { Outage } from "../outage.ts";
import { type NextWatch, nextWatch, type WatchEnd } from "./next-watch.ts";

/** The objects of a reflector, and its times. */
export interface ReflectorOptions extends Selection {
  readonly client: KubeClient;
  readonly type: ResourceType;
  /** Reads `metadata` only, for Secrets whose data is not needed. @default false */
  readonly metadataOnly?: boolean;
  /** Longest time between two lists, in milliseconds. A list recovers events that a watch missed. @default 20 min */
  readonly relistMs?: number;
  /** Share of {@link relistMs} that is random, 0 to 1. @default 0.1 */
  readonly relistJitter?: number;
  /** The requested duration of a watch is random between this and its double, in seconds. @default 5 min */
  readonly watchSeconds?: number;
  /**
   * A watch fails after this time without a byte. The server sends the first bookmark within two minutes, then one each
   * minute.
   *
   * @default 150 s
   */
  readonly silenceMs?: number;
  /** Bound on one page of a list, in milliseconds. @default 60 s */
  readonly listTimeoutMs?: number;
  /** Objects per page of a list. @default 500 */
  readonly pageSize?: number;
  /** @default 200 ms doubling to 30 s, 30 % jitter */
  readonly backoff?: BackoffOptions;
  /** Its end ends the waits after failures. @default its own */
  readonly outage?: Outage;
  /** @default the machine's */
  readonly clock?: Clock;
  /** @default Math.random */
  readonly random?: () => number;
}

/** Receives the results of a reflector. */
interface ReflectorListener<T> {
  /** Called with all existing objects. */
  onList(objects: readonly T[]): void;
  /** Called for each event that is newer than all before it, bookmarks included. */
  onEvent(event: WatchEvent<T>): void;
  /** Called for each event that is not newer than the known state. */
  onStale?(event: WatchEvent<T>): void;
  /** Called when the server responds or sends bytes. */
  onData(): void;
  /** Called when a list or a watch ends. The next one begins after its wait. */
  onEnd(end: WatchEnd, next: NextWatch): void;
}

export const silenceMsDefault = 150_000;
const relistMsDefault = 20 * 60_000;
const relistJitterDefault = 0.1;
const watchSecondsDefault = 300;
const pageSizeDefault = 500;
const listTimeoutMsDefault = 60_000;
/** A watch of this age counts as a success, even without an event. */
const livedMsMin = 15_000;
const backoffDefault: BackoffOptions = { baseMs: 200, maxMs: 30_000, jitter: 0.3 };

/** Bound on pages, for a server that always names a next page. */
const pagesMax = 2_000;

/**
 * Lists the objects of one type and then watches them. Each watch continues from the end of the last one. The reflector
 * keeps no objects and ends only with the signal of {@link run}.
 */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions;
  readonly #listener: ReflectorListener<T>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #outage: Outage;
  /** Resource version up to which all events are known. */
  #version = "";
  #relistAtMs = 0;
  #failures = 0;

  constructor(options: ReflectorOptions, listener: ReflectorListener<T>) {
    this.#options = options;
    this.#listener = listener;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#outage = options.outage ?? new Outage(this.#clock, this.#random);
  }

  /** Resolves when the signal is aborted. Must be called once. */
  async run(signal: AbortSignal): Promise<void> {
    let kind: NextWatch["kind"] = "list";
    while (!signal.aborted) {
      const end = kind === "list" ? await this.#list(signal) : await this.#watch(signal);
      if (signal.aborted) return;
      const next = nextWatch(end, this.#failures, this.#options.backoff ?? backoffDefault, this.#random);
      this.#listener.onEnd(end, next);
      this.#failures = next.failures;
      kind = next.kind;
      const atLeastMs = end.kind === "failed" ? retryAfterMsOf(end.error) : 0;
      if (await this.#outage.pause(next.waitMs, signal, atLeastMs)) this.#failures = 0;
    }
  }

  async #list(signal: AbortSignal): Promise<WatchEnd> {
    const { client, type, pageSize = pageSizeDefault, listTimeoutMs = listTimeoutMsDefault } = this.#options;
    const { relistMs = relistMsDefault, relistJitter = relistJitterDefault } = this.#options;
    try {
      const options = { ...this.#selection(), limit: pageSize, retry: singleTry(listTimeoutMs), signal };
      const { items, resourceVersion } = await listAll<T>(client, type, options);
      this.#listener.onData();
      this.#version = resourceVersion;
      this.#relistAtMs = this.#clock.nowMs() + relistMs * (1 - relistJitter * this.#random());
      this.#listener.onList(items);
      return { kind: "listed" };
    } catch (error) {
      return { kind: "failed", during: "list", error };
    }
  }

  async #watch(signal: AbortSignal): Promise<WatchEnd> {
    const { client, type, watchSeconds = watchSecondsDefault, silenceMs = silenceMsDefault } = this.#options;
    const startedMs = this.#clock.nowMs();
    const relisting = new AbortController();
    const cancel = this.#clock.after(this.#relistAtMs - startedMs, () => relisting.abort());
    const lived = (): boolean => this.#clock.nowMs() - startedMs >= livedMsMin;
    let news = 0;
    try {
      const events = client.watch<T>(type, {
        ...this.#selection(),
        resourceVersion: this.#version,
        timeoutSeconds: Math.round(watchSeconds * (1 + this.#random())),
        silenceMs,
        onData: () => this.#listener.onData(),
        signal: AbortSignal.any([signal, relisting.signal]),
      });
      for await (const event of events) news += this.#take(event) ? 1 : 0;
      return { kind: "closed", early: news === 0 && !lived() };
    } catch (error) {
      if (lived()) this.#failures = 0;
      return relisting.signal.aborted ? { kind: "relist" } : { kind: "failed", during: "watch", error };
    } finally {
      cancel();
    }
  }

  /** Returns true for a new event. Events come in the order of their versions, so an older one is known. */
  #take(event: WatchEvent<T>): boolean {
    const { resourceVersion = "" } = event.object.metadata;
    if (isLater(resourceVersion, this.#version) === false) {
      this.#listener.onStale?.(event);
      return false;
    }
    if (resourceVersion !== "") this.#version = resourceVersion;
    this.#failures = 0;
    this.#listener.onEvent(event);
    return true;
  }

  #selection(): Selection & { readonly metadataOnly: boolean } {
    const { namespace, labelSelector, fieldSelector, metadataOnly = false } = this.#options;
    return {
      metadataOnly,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }
}

/**
 * Reads the whole list page by page, all pages of one state. When the pages expire meanwhile, it reads the list again
 * in one page.
 *
 * @throws KubeError
 */
export async function listAll<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  options: ListOptions & { readonly limit: number },
): Promise<KubeList<T>> {
  const items: T[] = [];
  let next: string | undefined;
  for (let pages = 0; pages < pagesMax; pages += 1) {
    try {
      const page = await client.list<T>(type, { ...options, ...(next === undefined ? {} : { continue: next }) });
      items.push(...page.items);
      next = page.continue;
      if (next === undefined) return { items, resourceVersion: page.resourceVersion };
    } catch (error) {
      if (next === undefined || !isKubeError(error, "gone")) throw error;
      const { limit: _limit, ...inOnePiece } = options;
      return await client.list<T>(type, inOnePiece);
    }
  }
  throw new KubeError("invalid", `list ${type.plural}: more than ${pagesMax} pages`);
}
