import { faultOfBreak, KubernetesFault } from "./api-fault.ts";
import { isObject, objectBytesMax, readFrames, type KubernetesObject, type WatchEvent } from "./watch-events.ts";
import { pause, type Recovery } from "./api-recovery.ts";
import type { KubernetesRequests } from "./api-requests.ts";
import { nextWatch, type BackoffTimes, type WatchEnd } from "./next-watch.ts";

/** When a watch is renewed, doubted and tried again. */
export interface FollowTimes {
  /**
   * The server is asked to end a watch after this time or up to half as much again, in seconds; then the object is
   * listed anew.
   */
  readonly watchSeconds: number;
  /**
   * A watch without one byte for so long is given up, in milliseconds: whatever else happens, the server sends a
   * bookmark within two minutes and then every minute.
   */
  readonly silenceMs: number;
  readonly backoff: BackoffTimes;
}

/**
 * @default of {@link FollowTimes}. Per object two requests in 30 to 45 minutes, and while the server is away one try a
 * minute: for 40 objects 0.04 and 0.9 requests per second.
 */
export const followTimes: FollowTimes = {
  watchSeconds: 1800,
  silenceMs: 150_000,
  backoff: { baseMs: 200, maxMs: 60_000, jitter: 0.5 },
};

/** Told what is heard of one object. */
export interface FollowListener {
  /** The object as it is now; undefined when there is none. Also called, after a list, for what was known before. */
  onObject(object: KubernetesObject | undefined): void;
  /** A turn failed; the next begins after the wait. What is known stays as it is. */
  onFault(fault: KubernetesFault, waitMs: number): void;
  /** The server answered or sent something, be it a bookmark. */
  onHeard(): void;
}

interface FollowOptions {
  readonly requests: KubernetesRequests;
  readonly namespace: string;
  /** Of the Secret. */
  readonly name: string;
  readonly times: FollowTimes;
  readonly recovery: Recovery;
  readonly random: () => number;
  readonly listener: FollowListener;
}

/** A watch that lived so long was in order, even if it brought nothing. */
const livedMs = 15_000;

/**
 * Follows one Secret by name: a list, then watches that each go on where the last one ended. Needs the rights get, list
 * and watch on that name alone. Never gives up; it ends only with the signal.
 */
export async function followSecret(options: FollowOptions, signal: AbortSignal): Promise<void> {
  const { recovery, times, random, listener } = options;
  const follower = new Follower(options, signal);
  let [kind, failures]: ["list" | "watch", number] = ["list", 0];
  while (!signal.aborted) {
    const end = kind === "list" ? await follower.list() : await follower.watch();
    if (signal.aborted) return;
    const turn = nextWatch(end, follower.hasNews ? 0 : failures, times.backoff, random);
    ({ kind, failures } = turn);
    if (end.kind === "failed") listener.onFault(end.fault, turn.waitMs);
    const mayBeWoken = end.kind === "failed" && end.fault.kind === "unreachable";
    await (mayBeWoken ? recovery.wait(turn.waitMs, signal) : pause(turn.waitMs, signal));
  }
}

/** One turn at a time. */
class Follower {
  /** Whether the last watch brought something, or lived long enough to be in order. */
  hasNews = false;
  private readonly options: FollowOptions;
  private readonly signal: AbortSignal;
  private readonly path: string;
  /** State up to which everything is known. */
  private version = "";

  constructor(options: FollowOptions, signal: AbortSignal) {
    this.options = options;
    this.signal = signal;
    this.path = `/api/v1/namespaces/${encodeURIComponent(options.namespace)}/secrets`;
  }

  async list(): Promise<WatchEnd> {
    const { requests, listener } = this.options;
    this.hasNews = false;
    try {
      const answer = await requests.json(this.pathWith({}), objectBytesMax, this.signal);
      const { version, object } = this.only(answer);
      this.version = version;
      this.heard();
      listener.onObject(object);
      return { kind: "listed" };
    } catch (error) {
      return { kind: "failed", during: "list", fault: faultOfBreak(`list ${this.options.name}`, error) };
    }
  }

  async watch(): Promise<WatchEnd> {
    const { times, random, requests } = this.options;
    this.hasNews = false;
    const startedMs = performance.now();
    const ageMs = (): number => performance.now() - startedMs;
    const timeoutSeconds = Math.max(1, Math.round(times.watchSeconds * (1 + random() / 2)));
    const what = `watch ${this.options.name}`;
    try {
      const query = {
        watch: "true",
        allowWatchBookmarks: "true",
        resourceVersion: this.version,
        timeoutSeconds: String(timeoutSeconds),
      };
      const body = await requests.open(this.pathWith(query), { silenceMs: times.silenceMs, signal: this.signal });
      this.heard();
      for await (const event of readFrames(what, body)) this.take(event);
      // The server may end a watch a little before its time.
      if (ageMs() >= timeoutSeconds * 1000 * 0.9) return { kind: "expired" };
      return { kind: "closed", early: !this.hasNews && ageMs() < livedMs };
    } catch (error) {
      this.hasNews ||= ageMs() >= livedMs;
      return { kind: "failed", during: "watch", fault: faultOfBreak(what, error) };
    }
  }

  private take({ type, object }: WatchEvent): void {
    const { listener, name } = this.options;
    this.heard();
    this.hasNews = true;
    this.version = object.metadata.resourceVersion ?? this.version;
    // The server selects by name already; an object of another name would be obeyed in the wrong place.
    if (type === "BOOKMARK" || object.metadata.name !== name) return;
    listener.onObject(type === "DELETED" ? undefined : object);
  }

  private heard(): void {
    this.options.recovery.answered();
    this.options.listener.onHeard();
  }

  private only(answer: unknown): { readonly version: string; readonly object: KubernetesObject | undefined } {
    const items: unknown = isObject(answer) ? Reflect.get(answer, "items") : undefined;
    if (!isObject(answer) || !(Array.isArray(items) || items === null)) {
      throw new KubernetesFault("unreachable", `list ${this.options.name}: the answer is no list`);
    }
    const object = (items ?? []).find((item) => isObject(item) && item.metadata.name === this.options.name);
    return { version: answer.metadata.resourceVersion ?? "", object };
  }

  private pathWith(query: Readonly<Record<string, string>>): string {
    const fieldSelector = `metadata.name=${this.options.name}`;
    return `${this.path}?${new URLSearchParams({ fieldSelector, ...query }).toString()}`;
  }
}
