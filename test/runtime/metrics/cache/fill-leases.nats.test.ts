import { hash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createFillLeases } from "../../../../runtime/metrics/cache/fill-leases.ts";
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { createLayout } from "../../../../runtime/nats/layout.ts";
import { createPodMessages, type PodMessages } from "../../../../runtime/nats/messages/pod-messages.ts";
import { ownerOf, type Pods } from "../../../../runtime/pods/pods.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { quickestMs, waitFor } from "../../../support/wait.ts";

/** Waits for a lease of a pod that ends, stands still or has given up. A query has a deadline of 1,800 ms. */

const names = ["pod-a", "pod-b", "pod-c"] as const;
type Name = (typeof names)[number];
/** A quiet machine needs half of it; without the checks, a wait lasts 2,000 ms. */
const waitMsMax = 1_700;

interface Member {
  readonly nats: NatsConnectionHandle;
  readonly messages: PodMessages;
  readonly leases: ReturnType<typeof createFillLeases>;
  /** Requests for leases that this pod has got. */
  readonly got: object[];
  /** Set so that the pod replies to nothing. */
  isStill: boolean;
}

let server: NatsServerHandle;
let members: Record<Name, Member>;

beforeEach(start);
afterEach(stop);

async function start(): Promise<void> {
  server = await startNatsServer();
  const [a, b, c] = await Promise.all(names.map(join));
  if (a === undefined || b === undefined || c === undefined) throw new Error("a pod is missing");
  members = { "pod-a": a, "pod-b": b, "pod-c": c };
}

async function stop(): Promise<void> {
  await Promise.all(Object.values(members).map(({ nats }) => nats.drain().catch(() => undefined)));
  await server.stop();
}

/** The quickest of a few tries, each with pods of its own. */
async function quickestWaitMs(timed: () => Promise<number>): Promise<number> {
  return quickestMs(waitMsMax, async (index) => {
    if (index > 0) await stop().then(start);
    return timed();
  });
}

async function join(own: Name): Promise<Member> {
  const nats = await connectNats({ servers: [server.url] });
  const messages = createPodMessages(nats, createLayout("hg"), own);
  const got: object[] = [];
  const member = { nats, messages, got, isStill: false };
  const pods: Pods = {
    ...messages,
    own,
    live: () => names,
    serve: (topic, handle) =>
      messages.serve(topic, (message) => {
        got.push(message as object);
        return member.isStill ? new Promise<never>(() => undefined) : handle(message);
      }),
  };
  const leases = createFillLeases(pods);
  // The server has the subscription from then on.
  await nats.connection.flush();
  return Object.assign(member, { leases });
}

/** A query that this pod owns. */
function keyOf(owner: Name): string {
  const keys = Array.from({ length: 50 }, (_, index) => `key ${index}`);
  return keys.find((key) => ownerOf(hash("sha256", key, "base64url"), names) === owner) ?? "";
}

/** Takes a lease, and returns the wait of another pod for its end. */
async function contend(key: string, [reader, waiting]: readonly [Name, Name], owner: Name) {
  const lease = await members[reader].leases.take(key, "read");
  expect(lease.state).toBe("own");
  const startedAtMs = performance.now();
  const wait = members[waiting].leases.take(key, "read").then(({ state }) => ({
    state,
    tookMs: performance.now() - startedAtMs,
  }));
  const isWaiting = () => members[owner].got.some((message) => "wait" in message);
  if (waiting !== owner) await waitFor(isWaiting, { timeoutMs: 20_000, pollMs: 5, what: "the wait" });
  return { lease, wait };
}

describe("a wait for a lease ends in time for an own read", () => {
  test.each([
    ["it owns the lease too", "pod-a", "pod-b"],
    ["a third pod owns the lease", "pod-c", "pod-b"],
    ["the waiting pod owns the lease", "pod-c", "pod-a"],
  ] as const)("when the reading pod is killed, and %s", async (_what, reader, waiting) => {
    const tookMs = await quickestWaitMs(async () => {
      const { wait } = await contend(keyOf("pod-a"), [reader, waiting], "pod-a");
      await members[reader].nats.connection.close();
      return (await wait).tookMs;
    });
    expect(tookMs).toBeLessThan(waitMsMax);
  });

  test("when the owner pod ends in order", async () => {
    const tookMs = await quickestWaitMs(async () => {
      const { wait } = await contend(keyOf("pod-a"), ["pod-c", "pod-b"], "pod-a");
      await members["pod-a"].messages.stop();
      expect(await wait).toMatchObject({ state: "unknown" });
      return (await wait).tookMs;
    });
    expect(tookMs).toBeLessThan(waitMsMax);
  });

  test("when the reading pod stands still", async () => {
    const tookMs = await quickestWaitMs(async () => {
      const { wait } = await contend(keyOf("pod-a"), ["pod-c", "pod-b"], "pod-a");
      members["pod-c"].isStill = true;
      return (await wait).tookMs;
    });
    expect(tookMs).toBeLessThan(waitMsMax);
  });

  test("when the pod that got the lease had given up", async () => {
    const tookMs = await quickestWaitMs(givenUpLate);
    expect(tookMs).toBeLessThan(waitMsMax);
  });
});

/** The wait of a pod for a lease that another one got too late. */
async function givenUpLate(): Promise<number> {
  members["pod-a"].isStill = true;
  // This request has no reply in time, and the owner pod handles it later: it is sent once more.
  expect((await members["pod-c"].leases.take(keyOf("pod-a"), "read")).state).toBe("unknown");
  members["pod-a"].isStill = false;
  const [late] = members["pod-a"].got;
  if (late === undefined) throw new Error("no request");
  const reply = await members["pod-c"].messages.request("pod-a", "lease", late);
  expect(reply).toMatchObject({ isFree: true });
  const startedAtMs = performance.now();
  await members["pod-b"].leases.take(keyOf("pod-a"), "read");
  return performance.now() - startedAtMs;
}

test("a wait for a pod that reads lasts until the lease ends", async () => {
  const { lease, wait } = await contend(keyOf("pod-a"), ["pod-c", "pod-b"], "pod-a");
  const checks = () => members["pod-c"].got.filter((message) => "check" in message).length;
  // They take longer than the lease of a pod that cannot be checked.
  await waitFor(() => checks() >= 11, { timeoutMs: 20_000, pollMs: 5, what: "the checks of the reading pod" });
  if (lease.state === "own") lease.end({ isHolder: true });
  expect(await wait).toMatchObject({ state: "done" });
});
