import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { ownerOf, type Pods } from "../../../runtime/pods/pods.ts";
import { createLayout } from "../../../runtime/nats/layout.ts";
import { createPodMessages } from "../../../runtime/nats/messages/pod-messages.ts";
import { requestIdentities, serveIdentities } from "../../../runtime/nats/streams/stream-identities.ts";
import { createFillLeases } from "../../../runtime/metrics/cache/fill-leases.ts";
import { createSharedBuckets } from "../../../runtime/metrics/admission/shared-buckets.ts";
import { chargesOf, clientKey } from "../../../runtime/metrics/admission/token-source.ts";
import { StoreError } from "../../../runtime/stores/store-error.ts";
import { createRunningPartners } from "../../../runtime/webhooks/maintenance/end-removed.ts";
import { podsOfATest } from "../metrics/admission/pods-of-a-test.ts";
import { wideLimits } from "../metrics/oracle/universe.ts";
import { memoryLog } from "../webhooks/engine-fixture.ts";
import { readPinned } from "./pinned-text.ts";
import { recordingNats } from "./recording-nats.ts";

/** What pods of different versions say to each other while one version replaces the other. */

const layout = createLayout("hg");

/** The pods `pod-a` and `pod-b`, and everything that the first says to the second and is answered. */
function twoPods() {
  const pods = podsOfATest();
  const lines: string[] = [];
  const plain = pods.join("pod-a");
  const own: Pods = {
    ...plain,
    request: async (pod, topic, question, timeoutMs) => {
      const answer = await plain.request(pod, topic, question, timeoutMs);
      lines.push(`ask ${pod} ${topic} ${JSON.stringify(question)}`, `answer ${JSON.stringify(answer)}`);
      return answer;
    },
    publish: (pod, topic, message) => {
      lines.push(`tell ${pod} ${topic} ${JSON.stringify(message)}`);
      plain.publish(pod, topic, message);
    },
  };
  return { own, other: pods.join("pod-b"), lines };
}

/** The first name of a row whose digest is at home in `pod-b`. */
function namedAtB(prefix: string, digestOf: (name: string) => string): string {
  const names = Array.from({ length: 20 }, (_, index) => `${prefix}-${index}`);
  return names.find((name) => ownerOf(digestOf(name), ["pod-a", "pod-b"]) === "pod-b") ?? prefix;
}

async function quotaMessages(): Promise<string> {
  const { own, other, lines } = twoPods();
  const now = (): number => 1_000;
  const sharedBuckets = createSharedBuckets(now, own);
  const home = createSharedBuckets(now, other);
  const limits = { ...wideLimits, requestsPerSecond: 10, burst: 20, costUnitsPerMinute: 600, burstCostUnits: 900 };
  const perMetric = [{ metric: "lag", requestsPerSecond: 8, costUnitsPerMinute: 60 }];
  const clients = Array.from({ length: 20 }, (_, index) => ({
    client: `client-${index}`,
    queryClass: "A" as const,
    limits,
    perMetric,
  }));
  const client = clients.find((one) => ownerOf(clientKey(one), ["pod-a", "pod-b"]) === "pod-b");
  if (client === undefined) throw new Error("no client");
  const claims = chargesOf(client, { requests: 1, costs: new Map([["lag", 3]]) });
  await sharedBuckets.take(clientKey(client), claims);
  sharedBuckets.stop();
  home.stop();
  return [`owner ${clientKey(client)}`, ...lines].join("\n");
}

async function leaseMessages(): Promise<string> {
  const { own, other, lines } = twoPods();
  const [here, there] = [createFillLeases(own), createFillLeases(other)];
  const key = namedAtB("key", (name) => hash("sha256", name, "base64url"));
  const failure = new StoreError("unreachable", "down");
  for (const name of ["x", "y"]) {
    const lease = await here.take(key, name);
    if (lease.state !== "own") throw new Error("the lease is not free");
    const waits = there.take(key, name).then(
      ({ state, holder }) => lines.push(`other ${state} ${holder}`),
      (error: unknown) => lines.push(`other ${String(error)}`),
    );
    lease.end(name === "x" ? { isHolder: true } : { isHolder: false, failure });
    await waits;
  }
  for (const outcome of [{ isHolder: true }, { isHolder: false, failure }]) {
    const lease = await there.take(key, "x");
    const waits = here.take(key, "x").then(
      ({ state, holder }) => lines.push(`own ${state} ${holder}`),
      (error: unknown) => lines.push(`own ${String(error)}`),
    );
    await new Promise(setImmediate);
    if (lease.state === "own") lease.end(outcome);
    await waits;
  }
  return lines.join("\n");
}

/** Answers to the messages of a pod whose version names neither queries nor holders. */
async function oldLeaseMessages(): Promise<string> {
  const { own, other } = twoPods();
  createFillLeases(other);
  const answers = [
    await own.request("pod-b", "lease", { take: "x" }),
    await own.request("pod-b", "lease", { take: "x" }),
    await own.request("pod-b", "lease", { wait: "y" }),
  ];
  const waits = own.request("pod-b", "lease", { wait: "x" });
  own.publish("pod-b", "lease", { end: "x", failure: { kind: "unreachable", message: "down" } });
  return [...answers, await waits].map((answer) => JSON.stringify(answer)).join("\n");
}

async function partnerMessages(): Promise<string> {
  const { own, other, lines } = twoPods();
  const { log } = memoryLog();
  const livePods = (): readonly string[] => ["pod-a", "pod-b"];
  createRunningPartners({ peers: other, livePods, own: "pod-b", has: (token) => token === "t-2", log });
  const running = createRunningPartners({ peers: own, livePods, own: "pod-a", has: () => false, log });
  lines.push(`running ${[...(await running.among(["t-1", "t-2"]))].join()}`);
  return lines.join("\n");
}

/** Subjects and queue groups that are listened to, and what a message on one is answered. */
async function subjects(): Promise<Readonly<Record<string, string>>> {
  const nats = recordingNats();
  const heard: string[] = [];
  type Callback = (error: null, message: object) => void;
  const subscribe = (subject: string, { queue, callback }: { queue: string; callback: Callback }): object => {
    heard.push(`listen ${subject} ${queue}`);
    const respond = (answer: string): void => void heard.push(`answer ${answer}`);
    const said = { data: Buffer.from('{"n":1}'), reply: "inbox", respond };
    for (const topic of ["made", "topic"]) callback(null, { ...said, subject: subject.replace("*", topic) });
    return { drain: async () => undefined };
  };
  const handle = { ...nats.handle, connection: { subscribe, isClosed: () => true } } as unknown as typeof nats.handle;
  serveIdentities(handle, layout, new Map([["HG_EVENTS", "2026-01-01T00:00:00Z"]]));
  nats.answers.set("hg.pod._streams.made", '{"made":{"HG_EVENTS":"2026-01-01T00:00:00Z"}}');
  const recalled = await requestIdentities(handle, layout);
  const messages = createPodMessages(handle, layout, "pod-a");
  await messages.request("pod-b", "topic", { n: 1 });
  messages.publish("pod-b", "topic", { n: 2 });
  return {
    "subjects that pods listen to": heard.join("\n"),
    "subjects that pods publish on": nats.take(),
    "identities of streams": JSON.stringify([...recalled]),
  };
}

test("pods say this to each other", async () => {
  expect({
    "topic quota": await quotaMessages(),
    "topic lease": await leaseMessages(),
    "topic lease, of a pod that names no query": await oldLeaseMessages(),
    "topic partners": await partnerMessages(),
    ...(await subjects()),
  }).toEqual(readPinned("pod-messages.txt"));
});

const pods = ["pod-a", "pod-b", "pod-c", "heliograph-runtime-5d9c7b6f4-x2x7k"];

// Two versions that disagree about a home both pull a lane, or both have the duties.
test.each([
  ["duties", "pod-b", "pod-b"],
  ["Skms-Ka9cncoSV0e", "pod-a", "pod-a"],
  ["shared-7", "pod-c", "pod-b"],
  ['["client-1","A"]', "pod-a", "pod-a"],
])("the home of %s among these pods is always %s, and %s of the first two", (name, ofAll, ofTwo) => {
  expect([ownerOf(name, pods), ownerOf(name, pods.slice(0, 2))]).toEqual([ofAll, ofTwo]);
});
