import { setTimeout as sleep } from "node:timers/promises";
import type { Installation } from "./installation.ts";
import { pick } from "./panels.ts";

/** Everything that the probe does to the installation, one thing after another, until it is stopped. */
interface Walk {
  /** Resolves when what is under way is mended. */
  stop(): Promise<void>;
}

/** Told when a pod begins anew. */
type Restarted = (pod: number) => void;

const pauseMsMin = 1_500;
const pauseMsMax = 5_000;
const troubleMsMin = 1_000;
const troubleMsMax = 8_000;

/** What may happen, as often as it is named. */
const verbs = [
  "kill",
  "kill",
  "hang",
  "hang",
  "block",
  "cut",
  "cut",
  "catalog",
  "catalog",
  "quotas",
  "quotas",
  "nats",
  "kill_pod",
  "restart_pod",
] as const;
type Verb = (typeof verbs)[number];

/** Begins the walk. @param next its random numbers */
export function startWalk(installation: Installation, next: () => number, restarted: Restarted): Walk {
  const stopping = new AbortController();
  const walking = (async () => {
    while (!stopping.signal.aborted) {
      await sleep(pauseMsMin + Math.floor(next() * (pauseMsMax - pauseMsMin)), undefined, {
        signal: stopping.signal,
      }).catch(() => undefined);
      if (!stopping.signal.aborted) await step(pick(next, verbs), { installation, next, restarted });
    }
  })();
  // Seen by whoever stops it.
  walking.catch(() => undefined);
  return {
    async stop() {
      stopping.abort();
      await walking;
    },
  };
}

interface Step {
  readonly installation: Installation;
  readonly next: () => number;
  readonly restarted: Restarted;
}

async function step(verb: Verb, { installation, next, restarted }: Step): Promise<void> {
  const { stores, timeline } = installation;
  const store = pick(next, stores);
  const forMs = troubleMsMin + Math.floor(next() * (troubleMsMax - troubleMsMin));
  const during = async (what: string, work: () => Promise<void>): Promise<void> => {
    const end = timeline.begin(what);
    await work().finally(end);
  };
  const pod = Math.floor(next() * installation.pods.length);
  const restartPod = async (signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
    await installation.pods[pod]?.end(signal);
    restarted(pod);
    await installation.pods[pod]?.start();
  };
  switch (verb) {
    case "kill":
    case "hang":
    case "block":
      return during(`${verb} ${store.region}`, () => store[verb](forMs));
    case "cut":
      timeline.note(`cut ${store.region}`);
      return store.cut();
    case "catalog":
    case "quotas":
      timeline.note(verb);
      return installation.edit(verb);
    case "nats":
      return during("nats", () => restartNats(installation, forMs));
    case "kill_pod":
      return during(`pod ${pod}`, () => restartPod("SIGKILL"));
    case "restart_pod":
      return during(`pod ${pod}`, () => restartPod("SIGTERM"));
    default:
      return verb satisfies never;
  }
}

async function restartNats({ nats }: Installation, downMs: number): Promise<void> {
  await nats.kill9();
  await sleep(downMs);
  await nats.restart();
}
