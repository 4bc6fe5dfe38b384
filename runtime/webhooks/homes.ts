import { hash } from "node:crypto";
import type { Bucket } from "../nats/buckets.ts";
import type { StreamClock } from "../nats/stream-clock.ts";
import type { Log } from "./delivery-context.ts";

/** Which pod is the home of which lane: it alone pulls the lane's messages. */
export interface Homes {
  /**
   * Sends the first heartbeat and goes on; resolves when this pod and JetStream's clock are known.
   *
   * @throws Unanswered
   */
  start(): Promise<void>;
  /** Whether this pod is the home of the lane. */
  isHome(lane: string): boolean;
  /** Pods that are alive, this one included. */
  livePods(): readonly string[];
  /** Takes this pod's heartbeat away, so that others take over at once. Never rejects. */
  leave(): Promise<void>;
}

export interface HomesDeps {
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

/**
 * Creates a pod's part in sharing lanes. Liveness is judged by JetStream's clock alone. Source: design §4 ("Home pod").
 */
export function createHomes(deps: HomesDeps): Homes {
  const key = podKey(deps.podId);
  let live: readonly string[] = [key];
  let lastBeatMs = performance.now();
  let graceUntilMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let hasLeft = false;
  const turn = async (): Promise<void> => {
    const found = await beat(deps, key);
    const nowMs = performance.now();
    if (nowMs - lastBeatMs > goneAfterMs) {
      // After JetStream was away nobody's heartbeat is young: wait for those of the others.
      graceUntilMs = nowMs + goneAfterMs;
    }
    lastBeatMs = nowMs;
    const next = nowMs < graceUntilMs ? [...new Set([...live, ...found])].sort() : found;
    if (next.join() !== live.join() && !hasLeft) {
      live = next;
      deps.onChange();
    }
  };
  const goOn = (): void => {
    timer = setTimeout(() => {
      // While JetStream is away nobody can tell who is alive; the last known homes stay.
      turn()
        .catch((error: unknown) => deps.log.warn({ err: error }, "heartbeat failed"))
        .finally(() => !hasLeft && goOn());
    }, beatMs);
    timer.unref();
  };
  return {
    start: async () => {
      await turn();
      goOn();
    },
    isHome: (lane) => homeOf(lane, live) === key,
    livePods: () => live,
    leave: async () => {
      hasLeft = true;
      clearTimeout(timer);
      await deps.bucket.remove(key).catch(() => undefined);
    },
  };
}

/** Sends this pod's heartbeat and reads everybody's; its own, read back, also tells JetStream's time. */
async function beat({ bucket, clock, localNow }: HomesDeps, key: string): Promise<readonly string[]> {
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

/**
 * The home of a lane among pods: the one whose hash with the lane is the greatest (rendezvous hashing). When a pod
 * comes or goes, only lanes that it gets or had change their home.
 */
export function homeOf(lane: string, pods: readonly string[]): string | undefined {
  const weighed = pods.map((pod) => ({ pod, weight: hash("sha256", `${pod}\n${lane}`, "hex") }));
  return weighed.sort((a, b) => (a.weight < b.weight ? 1 : -1))[0]?.pod;
}

/** A pod id as a bucket key, which is one subject token. */
export function podKey(podId: string): string {
  return podId.replaceAll(/[^\w-]/gu, "_");
}
