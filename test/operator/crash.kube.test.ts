import { secretType } from "../../kube/client/resource.ts";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { isSoak } from "../support/soak.ts";
import { waitFor } from "../support/wait.ts";
import { actualState, expectedState, settledState } from "./expected-state.ts";
import { OperatorCluster } from "./operator-cluster.ts";
import type { TestPod } from "./test-pod.ts";
import type { Death } from "./watched-client.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());
afterEach(() => cluster.stopAll());

/** A dead leader is followed soon, and a run renews its Lease a few times at most. */
const lease = { leaseMs: 1_500, renewDeadlineMs: 1_200, retryMs: 300, callTimeoutMs: 400 };
const patienceMs = 60_000;
const atOnce = 4;
/** More than any run here writes. */
const writesMax = 80;

interface Story {
  readonly says: string;
  /** Made, and settled by a replica that lives, before the run that is killed. */
  readonly before: (ns: string) => Promise<void>;
  /** What the run that is killed is about. */
  readonly change: (ns: string) => Promise<void>;
}

const stories: readonly Story[] = [
  {
    says: "publishes for the first time",
    before: () => Promise.resolve(),
    change: async (ns) => {
      await cluster.partner(ns, "acme", 1);
      await cluster.partner(ns, "beta", 2);
      await cluster.put(ns, "WebhookPartner", "lost", { "signing.keys[0].secretRef.name": "nowhere" });
      await cluster.put(ns, "MetricCatalog", "metrics");
      await cluster.quota(ns, "desk");
    },
  },
  {
    says: "rotates a key, edits, deletes, makes anew and lets a younger one in",
    before: async (ns) => {
      for (const [index, name] of ["acme", "beta", "gone"].entries()) await cluster.partner(ns, name, index + 1);
      await cluster.put(ns, "MetricCatalog", "a-elder");
      await cluster.put(ns, "MetricCatalog", "b-younger");
      await cluster.quota(ns, "desk");
    },
    change: async (ns) => {
      await cluster.secret(ns, "acme", { hmac: 9 });
      await cluster.partner(ns, "beta", 2, { "delivery.maxInFlight": 3 });
      await cluster.remove(ns, "WebhookPartner", "gone");
      await cluster.client.delete(secretType, { namespace: ns, name: "gone" });
      await cluster.partner(ns, "new", 7);
      await cluster.remove(ns, "MetricCatalog", "a-elder");
      await cluster.remove(ns, "QueryClassQuota", "desk");
      await cluster.quota(ns, "desk", { class: "B" });
    },
  },
];

interface Run {
  /** Writes of the replica that was to die. */
  readonly writes: number;
  readonly died: boolean;
}

/** Tells the story in a namespace of its own, kills its replica as told, and looks at what the next one makes of it. */
async function run({ before, change }: Story, death: Death): Promise<Run> {
  const ns = await cluster.namespace();
  const pod = await cluster.pod(ns, "rt-0");
  const options = { runtime: { urls: [pod.url] }, lease };
  await before(ns);
  const first = await cluster.replica(ns, options);
  await settledState(cluster, ns, patienceMs);
  await first.stop();
  await change(ns);
  const victim = await cluster.replica(ns, options, death);
  await waitFor(async () => victim.client.isDead || (await isSettled(ns)), {
    timeoutMs: patienceMs,
    what: "the replica to die or to finish",
  });
  const died = victim.client.isDead;
  const writes = victim.client.writes().length;
  await victim.stop();
  const next = await cluster.replica(ns, options);
  const settled = await settledState(cluster, ns, patienceMs);
  await waitFor(() => appliesAll(pod), { timeoutMs: patienceMs, what: "the pod to apply all" });
  await next.stop();
  expect(await actualState(cluster, ns)).toEqual(settled);
  expect(pod.faultsSeen, `with ${JSON.stringify(death)}`).toEqual([]);
  await pod.stop();
  return { writes, died };
}

async function isSettled(ns: string): Promise<boolean> {
  return JSON.stringify(await actualState(cluster, ns)) === JSON.stringify(await expectedState(cluster, ns));
}

function appliesAll(pod: TestPod): boolean {
  const { partners = [], material = {} } = pod.config ?? {};
  const named = partners.flatMap(({ signing }) => signing.keys.map((key) => key.material));
  return partners.length > 0 && named.every((id) => material[id] !== undefined);
}

describe.each(stories.map((story): readonly [string, Story] => [story.says, story]))(
  "a replica that %s",
  (_says, story) => {
    test(
      "may die between any two of its writes: the next one ends at the same bytes, and no pod ever lacks a key",
      async () => {
        // The answer to the last write is lost every other time, and in a soak each time once.
        const deaths = Array.from({ length: writesMax }, (_, index): readonly Death[] => {
          const both = [true, false].map((hearsTheLast) => ({ afterWrites: index, hearsTheLast }));
          return isSoak ? both : both.slice(index % 2).slice(0, 1);
        }).flat();
        let finished: Run | undefined;
        let runs = 0;
        const work = async (): Promise<void> => {
          for (let death = deaths.shift(); death !== undefined && finished === undefined; death = deaths.shift()) {
            const outcome = await run(story, death);
            runs += 1;
            if (!outcome.died) finished = outcome;
          }
        };
        await Promise.all(Array.from({ length: atOnce }, work));
        // Every number of writes was tried up to that of a run that nobody cut short.
        expect(finished?.writes).toBeGreaterThan(10);
        expect(runs).toBeGreaterThan(10);
      },
      isSoak ? 600_000 : 240_000,
    );
  },
);
