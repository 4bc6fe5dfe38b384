import type { Bucket } from "../../nats/streams/buckets.ts";
import { ownerOf } from "../../pods/owner-of.ts";
import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import type { StreamClock } from "../../nats/connection/stream-clock.ts";
import type { Log } from "../log.ts";
import { msToNextRun } from "../../bounds/periodic.ts";

/** Which pod is the home of which lane: it alone pulls the lane's messages. */
export interface LaneOwnership {
  /**
   * Sends the first heartbeat and goes on; resolves when this pod and JetStream's clock are known.
   *
   * @throws Unanswered when JetStream answers nothing for half a minute
   */
  start(): Promise<void>;
  /** Whether this pod is the home of the lane. */
  isOwner(lane: string): boolean;
  /** Pods that are alive, this one included. */
  livePods(): readonly string[];
  /** Milliseconds since JetStream last took this pod's heartbeat. */
  silentMs(): number;
  /** Takes this pod's heartbeat away, so that others take over at once. Never rejects. */
  leave(): Promise<void>;
}

export interface LaneOwnershipDeps {
  readonly bucket: Bucket;
  readonly clock: StreamClock;
  readonly podId: string;
  /** This machine's clock, Unix milliseconds. */
  readonly localNow: () => number;
  readonly log: Log;
  /** Called after the set of live pods changed. */
  readonly onChange: () => void;
}

const beatMs = 500;
/**
 * Age at which a pod counts as gone. With one beat and the start of the consumers on top, its lanes have a new home
 * within three seconds; a pod that stalls for less keeps them.
 */
const goneAfterMs = 2_000;
/** How long the first heartbeat is tried. */
const startMsMax = 30_000;

/**
 * Creates a pod's part in sharing lanes. Liveness is judged by JetStream's clock alone. Source: design §4 ("Home pod").
 */
export function createLaneOwnership(deps: LaneOwnershipDeps): LaneOwnership {
  return new BeatingOwnership(deps);
}

class BeatingOwnership implements LaneOwnership {
  readonly #deps: LaneOwnershipDeps;
  readonly #key: string;
  #live: readonly string[];
  #lastBeatMs = performance.now();
  #graceUntilMs = 0;
  #isSilent = false;
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();
  #hasLeft = false;

  constructor(deps: LaneOwnershipDeps) {
    this.#deps = deps;
    this.#key = podKey(deps.podId);
    this.#live = [this.#key];
  }

  async start(): Promise<void> {
    await untilAnswered(() => this.#takeTurn(), { giveUpAfterMs: startMsMax });
    this.#goOn();
  }

  isOwner(lane: string): boolean {
    return ownerOf(lane, this.#live) === this.#key;
  }

  livePods(): readonly string[] {
    return this.#live;
  }

  silentMs(): number {
    return performance.now() - this.#lastBeatMs;
  }

  async leave(): Promise<void> {
    this.#hasLeft = true;
    clearTimeout(this.#timer);
    await this.#turn;
    await this.#deps.bucket.remove(this.#key).catch(() => undefined);
  }

  async #takeTurn(): Promise<void> {
    const found = await beat(this.#deps, this.#key);
    if (this.silentMs() > goneAfterMs) {
      // After JetStream was away nobody's heartbeat is young: wait for those of the others.
      this.#graceUntilMs = performance.now() + goneAfterMs;
    }
    this.#lastBeatMs = performance.now();
    const isGrace = this.#lastBeatMs < this.#graceUntilMs;
    const next = isGrace ? [...new Set([...this.#live, ...found])].sort() : found;
    if (next.join() !== this.#live.join() && !this.#hasLeft) {
      this.#live = next;
      this.#deps.onChange();
    }
  }

  #goOn(): void {
    this.#timer = setTimeout(
      () => {
        this.#turn = this.#takeTurn()
          .then(() => this.#note(false))
          // While JetStream is away nobody can tell who is alive; the last known homes stay.
          .catch((error: unknown) => this.#note(true, error))
          .finally(() => !this.#hasLeft && this.#goOn());
      },
      msToNextRun(beatMs, performance.now()),
    );
    this.#timer.unref();
  }

  /** One line when heartbeats begin to fail and one when they are taken again. */
  #note(isSilent: boolean, error?: unknown): void {
    if (isSilent !== this.#isSilent) {
      this.#isSilent = isSilent;
      this.#deps.log.warn({ err: error }, isSilent ? "heartbeats are not taken" : "heartbeats are taken again");
    }
  }
}

/** Sends this pod's heartbeat and reads everybody's; its own, read back, also tells JetStream's time. */
async function beat({ bucket, clock, localNow }: LaneOwnershipDeps, key: string): Promise<readonly string[]> {
  const sentAtMs = localNow();
  await bucket.put(key, "");
  const answeredAtMs = localNow();
  const entries = await bucket.list();
  const own = entries.find((entry) => entry.key === key);
  if (own !== undefined) {
    clock.observe({ sentAtMs, storedAtMs: own.storedAtMs, answeredAtMs });
  }
  return livePods(entries, key, clock.now());
}

/** Keys of the pods whose last heartbeat is young enough, and of this one, sorted. */
export function livePods(
  entries: readonly { readonly key: string; readonly storedAtMs: number }[],
  own: string,
  nowMs: number,
): readonly string[] {
  const young = entries.filter(({ storedAtMs }) => nowMs - storedAtMs < goneAfterMs).map(({ key }) => key);
  return [...new Set([...young, own])].sort();
}

/** A pod id as a bucket key, which is one subject token. */
export function podKey(podId: string): string {
  return podId.replaceAll(/[^\w-]/gu, "_");
}
