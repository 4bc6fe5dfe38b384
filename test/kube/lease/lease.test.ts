import * as fc from "fast-check";
import { pino } from "pino";
import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import type { Clock } from "../../../limits/clock.ts";
import { LeaderElection, type LeaderElectionOptions } from "../../../kube/lease/lease.ts";
import { createKubeMetrics } from "../../../kube/metrics.ts";
import { ManualClock, settle } from "../../support/manual-clock.ts";
import { type Link, ModelLease } from "./model-lease.ts";

/** Twice the defaults, in round numbers. */
const times = { leaseMs: 30_000, renewDeadlineMs: 20_000, retryMs: 4_000, callTimeoutMs: 4_000 };

/** One process that wants to lead. */
interface Candidate {
  readonly election: LeaderElection;
  link: Link;
  /** Frozen: no timer of it fires, and its clock has moved on by so much. */
  offsetMs: number;
  /** What it was told, in order. */
  readonly told: string[];
  /** Work of a term that has not ended yet. */
  working: boolean;
  readonly registry: Registry;
}

function setup() {
  const clock = new ManualClock();
  const server = new ModelLease(clock);
  return {
    clock,
    server,
    candidate: (identity: string, more: Partial<LeaderElectionOptions> = {}) =>
      candidate(clock, server, identity, more),
  };
}

function candidate(
  clock: ManualClock,
  server: ModelLease,
  identity: string,
  more: Partial<LeaderElectionOptions>,
): Candidate {
  const registry = new Registry();
  const own: Clock = {
    nowMs: () => clock.nowMs() + self.offsetMs,
    wallMs: () => clock.wallMs(),
    after: (ms, call) => clock.after(ms, call),
  };
  const election = new LeaderElection({
    client: server.client(() => self.link),
    lease: { namespace: "system", name: "operator" },
    identity,
    onStarted: () => {
      self.told.push("started");
      self.working = true;
    },
    onStopped: () => {
      self.told.push("stopped");
      self.working = false;
    },
    log: pino({ level: "silent" }),
    metrics: createKubeMetrics(registry),
    clock: own,
    random: () => 0,
    ...times,
    ...more,
  });
  const self: Candidate = { election, link: "ok", offsetMs: 0, told: [], working: false, registry };
  return self;
}

async function leaderMetric({ registry }: Candidate): Promise<number> {
  return Number((await registry.getSingleMetricAsString("leader_election_master_status")).trim().split(" ").at(-1));
}

describe("a candidate", () => {
  test("takes a lease that is not there and renews it every 4 s in microseconds", async () => {
    const { clock, server, candidate: make } = setup();
    const one = make("one");
    one.election.start();
    await settle();
    expect(one.election.isLeader()).toBe(true);
    expect(await leaderMetric(one)).toBe(1);
    expect(server.lease?.spec).toEqual({
      holderIdentity: "one",
      leaseDurationSeconds: 30,
      acquireTime: "2026-01-01T00:00:00.000000Z",
      renewTime: "2026-01-01T00:00:00.000000Z",
      leaseTransitions: 0,
    });
    await clock.advanceInSteps(8_000, 1_000);
    expect(server.calls).toEqual(["get", "create", "replace", "replace"]);
    expect(server.lease?.spec).toMatchObject({
      renewTime: "2026-01-01T00:00:08.000000Z",
      acquireTime: "2026-01-01T00:00:00.000000Z",
    });
    await one.election.stop();
  });

  test("waits while another leads, independent of the other's wall clock", async () => {
    const { clock, server, candidate: make } = setup();
    const one = make("one", {});
    const two = make("two");
    one.election.start();
    await settle();
    const spec = server.lease?.spec ?? {};
    server.lease = {
      metadata: server.lease?.metadata ?? {},
      spec: { ...spec, renewTime: "1999-01-01T00:00:00.000000Z" },
    };
    two.election.start();
    for (let rounds = 0; rounds < 20; rounds += 1) {
      await clock.advanceInSteps(4_000, 1_000);
      expect([one.election.isLeader(), two.election.isLeader()]).toEqual([true, false]);
    }
    expect(two.election.leader()).toBe("one");
    await Promise.all([one.election.stop(), two.election.stop()]);
  });

  test("takes over from a dead leader 30 s after it last saw the lease change, and not sooner", async () => {
    const { clock, server, candidate: make } = setup();
    const one = make("one");
    const two = make("two");
    one.election.start();
    await settle();
    two.election.start();
    await settle();
    one.link = "hang";
    await clock.advanceInSteps(29_900, 100);
    expect(two.election.isLeader()).toBe(false);
    await clock.advanceInSteps(4_100, 100);
    expect(two.election.isLeader()).toBe(true);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: "two", leaseTransitions: 1 });
    await two.election.stop();
  });

  test("is not kept waiting by edits that are not the leader's", async () => {
    const { clock, server, candidate: make } = setup();
    const one = make("one");
    const two = make("two");
    one.election.start();
    await settle();
    two.election.start();
    await settle();
    one.link = "hang";
    for (let seconds = 0; seconds < 36; seconds += 1) {
      server.annotate();
      await clock.advanceInSteps(1_000, 500);
    }
    expect(two.election.isLeader()).toBe(true);
    await two.election.stop();
  });

  test("leads at once when a leader stops: the lease is released after the work has ended", async () => {
    const { clock, server, candidate: make } = setup();
    const ended = Promise.withResolvers<void>();
    const one = make("one", { onStopped: () => ended.promise });
    const two = make("two");
    one.election.start();
    await settle();
    two.election.start();
    const stopped = one.election.stop();
    await clock.advanceInSteps(5_000, 500);
    expect([one.election.isLeader(), two.election.isLeader(), server.lease?.spec?.holderIdentity]).toEqual([
      false,
      false,
      "one",
    ]);
    ended.resolve();
    await stopped;
    expect(server.lease?.spec?.holderIdentity).toBe("");
    await clock.advanceInSteps(4_000, 500);
    expect(two.election.isLeader()).toBe(true);
    await two.election.stop();
  });

  test("that stops takes no lease and leaves one alone that is another's", async () => {
    const { clock, server, candidate: make } = setup();
    const one = make("one");
    const two = make("two");
    one.election.start();
    await settle();
    two.election.start();
    await clock.advanceInSteps(4_000, 1_000);
    await two.election.stop();
    expect(server.lease?.spec?.holderIdentity).toBe("one");
    expect(two.told).toEqual([]);
    await one.election.stop();
    expect(clock.waiting).toBe(0);
  });
});

describe("a leader", () => {
  const links: readonly Link[] = ["fail", "hang", "late", "deaf"];
  test.each(links)("whose calls %s knows after 20 s, before anybody else can lead", async (link) => {
    const { clock, candidate: make } = setup();
    const one = make("one");
    const two = make("two");
    one.election.start();
    await settle();
    two.election.start();
    await settle();
    one.link = link;
    for (let ms = 0; ms < 45_000; ms += 100) {
      await clock.advanceInSteps(100, 100);
      expect(one.election.isLeader() && two.election.isLeader()).toBe(false);
      expect(one.working && two.working).toBe(false);
    }
    expect(one.told.slice(0, 2)).toEqual(["started", "stopped"]);
  });

  test("ends its term at the deadline although a call hangs", async () => {
    const { clock, candidate: make } = setup();
    const one = make("one", { callTimeoutMs: 7_000 });
    let term: AbortSignal | undefined;
    const two = make("two", { onStarted: (signal) => void (term = signal) });
    two.election.start();
    await settle();
    two.link = "hang";
    await clock.advanceInSteps(19_900, 100);
    expect([two.election.isLeader(), term?.aborted]).toEqual([true, false]);
    await clock.advanceInSteps(100, 100);
    expect([two.election.isLeader(), term?.aborted, await leaderMetric(two)]).toEqual([false, true, 0]);
    expect(one.told).toEqual([]);
  });

  test("counts its term from before the write that the server was slow to answer", async () => {
    const { clock, candidate: make } = setup();
    const one = make("one");
    one.election.start();
    await settle();
    one.link = "slow";
    await clock.advanceInSteps(4_100, 100);
    one.link = "hang";
    await clock.advanceInSteps(19_800, 100);
    expect(one.election.isLeader()).toBe(true);
    await clock.advanceInSteps(100, 100);
    expect(one.election.isLeader()).toBe(false);
  });

  test("begins no new term while the work of the last one goes on, even if a renewal still succeeds", async () => {
    const { clock, server, candidate: make } = setup();
    const ended = Promise.withResolvers<void>();
    let starts = 0;
    const one = make("one", {
      renewDeadlineMs: 18_000,
      onStarted: () => void (starts += 1),
      onStopped: () => ended.promise,
    });
    one.election.start();
    await settle();
    one.link = "fail";
    await clock.advanceInSteps(15_500, 500);
    one.link = "slow";
    await clock.advanceInSteps(10_000, 500);
    expect(server.lease?.spec?.renewTime).toBe("2026-01-01T00:00:16.000000Z");
    expect([starts, one.election.isLeader()]).toEqual([1, false]);
    ended.resolve();
    await clock.advanceInSteps(8_000, 500);
    expect([starts, one.election.isLeader()]).toEqual([2, true]);
  });

  test("that was frozen knows that its term is over before any of its timers has fired", async () => {
    const { candidate: make } = setup();
    const one = make("one");
    one.election.start();
    await settle();
    one.offsetMs = 20_000;
    expect(one.election.isLeader()).toBe(false);
  });

  test("goes on when its link comes back in time", async () => {
    const { clock, candidate: make } = setup();
    const one = make("one");
    one.election.start();
    await settle();
    one.link = "fail";
    await clock.advanceInSteps(15_000, 500);
    one.link = "ok";
    await clock.advanceInSteps(60_000, 500);
    expect(one.told).toEqual(["started"]);
    expect(one.election.isLeader()).toBe(true);
  });

  test("goes on when others edit the lease's labels, and when the lease is deleted", async () => {
    const { clock, server, candidate: make } = setup();
    const one = make("one");
    one.election.start();
    await settle();
    server.annotate();
    await clock.advanceInSteps(4_000, 500);
    server.lease = undefined;
    await clock.advanceInSteps(30_000, 500);
    expect(one.told).toEqual(["started"]);
    expect(server.lease).toMatchObject({ spec: { holderIdentity: "one" } });
  });

  test("ends its term at once when it sees that another has taken the lease", async () => {
    const { clock, server, candidate: make } = setup();
    const one = make("one");
    one.election.start();
    await settle();
    server.annotate();
    server.lease = {
      ...server.lease,
      metadata: server.lease?.metadata ?? {},
      spec: { ...server.lease?.spec, holderIdentity: "thief" },
    };
    await clock.advanceInSteps(4_000, 500);
    expect(one.told).toEqual(["started", "stopped"]);
    expect(one.election.leader()).toBe("thief");
  });

  test("that cannot start is logged, ends its term and tries again", async () => {
    const { clock, candidate: make } = setup();
    let starts = 0;
    const one = make("one", {
      onStarted: () => {
        starts += 1;
        return starts === 1 ? Promise.reject(new Error("no cache")) : Promise.resolve();
      },
    });
    one.election.start();
    await settle();
    expect(one.told).toEqual(["stopped"]);
    await clock.advanceInSteps(4_000, 500);
    expect([starts, one.election.isLeader()]).toEqual([2, true]);
  });
});

test("times that do not fit into each other are refused", () => {
  const { candidate: make } = setup();
  expect(() => make("one", { leaseMs: 20_000 })).toThrow(RangeError);
  expect(() => make("one", { retryMs: 15_000 })).toThrow(RangeError);
  expect(() => make("one", { callTimeoutMs: 10_000 })).toThrow(RangeError);
});

type Step =
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "link"; readonly who: number; readonly link: Link }
  | { readonly do: "annotate" };

const who = fc.integer({ min: 0, max: 2 });
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 100, max: 15_000 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("link" as const),
      who,
      link: fc.constantFrom<Link>("ok", "ok", "fail", "hang", "late", "deaf", "slow"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("annotate" as const) }) },
);

test("never do two of three candidates lead at once, and one leads again when all is well, whatever befalls them", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 25 }), async (given) => {
      const { clock, server, candidate: make } = setup();
      const all = ["one", "two", "three"].map((identity) => make(identity));
      const leaders = (): number => all.filter(({ election, working }) => election.isLeader() || working).length;
      const wait = async (ms: number): Promise<void> => {
        for (let rest = ms; rest > 0; rest -= 250) {
          await clock.advanceInSteps(Math.min(250, rest), 250);
          expect(leaders()).toBeLessThanOrEqual(1);
        }
      };
      for (const { election } of all) election.start();
      for (const step of given) {
        if (step.do === "wait") await wait(step.ms);
        if (step.do === "link") Object.assign(all[step.who] ?? {}, { link: step.link });
        if (step.do === "annotate") server.annotate();
      }
      for (const one of all) one.link = "ok";
      await wait(45_000);
      expect(leaders()).toBe(1);
      await Promise.all(all.map(({ election }) => election.stop()));
      expect(server.lease?.spec?.holderIdentity).toBe("");
      expect(all.map(({ told }) => told.length % 2)).toEqual([0, 0, 0]);
    }),
    { numRuns: 40 },
  );
});
