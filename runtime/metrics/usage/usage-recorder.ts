import type { Logger } from "pino";
import { backgroundClock, pause, runPeriodically, systemClock } from "../../../limits/clock.ts";
import type { Pods } from "../../pods/pods.ts";
import type { UsageCounts } from "../admission/usage-counts.ts";
import type { UsageStore } from "./usage-message.ts";
import { readRecentUsage, type RecentUsage, UsageWindow } from "./usage-window.ts";
import { hourRowsMax, UsageWriter } from "./usage-writer.ts";

/** Time between two writes: with a write of 2 s, a pod that is killed loses at most 5 s. */
const flushMs = 2_000;
/** Time between two checks whether all live pods count. */
const checkMs = 30_000;
const checksMax = 3;
const topic = "recent-usage";
/** Bound on the figures of another pod. */
const replyMs = 1_000;
const podsMax = 64;
const stopMsMax = 5_000;
const stopRetryMs = 200;

interface RecorderOptions {
  readonly counts: UsageCounts;
  readonly pods: Pods;
  /** Length of the window of recent usage. */
  readonly windowSeconds: number;
  /** @default usage is not stored */
  readonly store?: UsageStore | undefined;
  /** Unique name of this run of this pod. */
  readonly run: string;
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
  readonly log: Pick<Logger, "warn">;
  /** Counts requests whose usage is lost. */
  readonly lost: (requests: number) => void;
}

/** The recent usage of all pods. */
export interface RecentOfPods {
  readonly live: number;
  /** One for each pod that counts and responded, this one included. */
  readonly pods: readonly RecentUsage[];
}

/** Takes the counts of this pod every two seconds: for the figures of the last minutes, and for the stored hours. */
export class UsageRecorder {
  readonly #options: RecorderOptions;
  readonly #window: UsageWindow;
  readonly #writer: UsageWriter | undefined;
  readonly #stops: (() => void)[] = [];
  /** Pods that have responded since they were last absent. */
  #counting: ReadonlySet<string> = new Set();
  /** The writes, one after the other. */
  #flushes: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor(options: RecorderOptions) {
    const { pods, store, run, elapsed, lost, windowSeconds } = options;
    this.#options = options;
    this.#window = new UsageWindow(elapsed, windowSeconds);
    const rowsMax = (): number => Math.floor(hourRowsMax / Math.max(1, pods.live().length));
    this.#writer = store && new UsageWriter({ store, writer: `${pods.own}-${run}`, rowsMax, lost });
    pods.serve(topic, () => this.#recent());
    this.#stops.push(runPeriodically(flushMs, () => this.flush()));
    if (store === undefined) return;
    void this.check();
    this.#stops.push(runPeriodically(checkMs, () => this.check()));
  }

  /** The recent usage of all live pods, at most 64. */
  async recent(): Promise<RecentOfPods> {
    const { pods } = this.#options;
    const others = this.#others();
    const requests = others.slice(0, podsMax).map(async (pod) => {
      const recent = readRecentUsage(await pods.request(pod, topic, {}, replyMs).catch(() => undefined));
      return recent === undefined ? [] : [recent];
    });
    return { live: others.length + 1, pods: [this.#recent(), ...(await Promise.all(requests)).flat()] };
  }

  /** Takes the counts, and stores what is not stored. It never rejects. */
  flush(): Promise<void> {
    this.#flushes = this.#flushes.then(() => this.#flush());
    return this.#flushes;
  }

  /** Notes in the store if a live pod does not count, as those of earlier versions. It never rejects. */
  async check(): Promise<void> {
    const others = this.#others();
    const known = others.filter((pod) => this.#counting.has(pod));
    const found = await Promise.all(
      others.filter((pod) => !known.includes(pod)).map(async (pod) => ((await this.#isCounting(pod)) ? [pod] : [])),
    );
    this.#counting = new Set([...known, ...found.flat()]);
    if (this.#counting.size < others.length) this.#writer?.noteUncounted(this.#options.store?.now() ?? 0);
  }

  /** Stores the last counts. */
  async stop(remainingMs: number): Promise<void> {
    for (const stop of this.#stops) stop();
    const endMs = performance.now() + Math.min(remainingMs, stopMsMax);
    const store = async (): Promise<void> => {
      await this.flush();
      while (this.#isFailing && performance.now() < endMs) {
        await pause(systemClock, stopRetryMs);
        await this.flush();
      }
    };
    await Promise.race([store(), pause(backgroundClock, endMs - performance.now())]);
    const requests = this.#writer?.unsaved ?? 0;
    if (requests > 0) this.#options.log.warn({ requests }, "usage not stored at the end");
  }

  #others(): readonly string[] {
    const { pods } = this.#options;
    return pods.live().filter((pod) => pod !== pods.own);
  }

  #recent(): RecentUsage {
    this.#take();
    return this.#window.read();
  }

  #take(): void {
    const taken = this.#options.counts.take();
    this.#window.add(taken);
    this.#writer?.add(taken);
  }

  async #flush(): Promise<void> {
    this.#take();
    try {
      await this.#writer?.flush();
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#options.log.warn({ err: error }, "usage not stored, retry scheduled");
      this.#isFailing = true;
    }
  }

  /** A pod that has just started may not respond at once. */
  async #isCounting(pod: string): Promise<boolean> {
    for (let attempt = 1; attempt <= checksMax; attempt += 1) {
      const reply = await this.#options.pods.request(pod, topic, {}, replyMs).catch(() => undefined);
      if (readRecentUsage(reply) !== undefined) return true;
      if (attempt < checksMax) await pause(systemClock, replyMs);
    }
    // It may have left in the meantime.
    return !this.#options.pods.live().includes(pod);
  }
}
