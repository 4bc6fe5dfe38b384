import * as fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { waitFor } from "../../../support/wait.ts";
import { ownerOf } from "../../../../runtime/pods/pods.ts";
import { NoReplyError } from "../../../../runtime/nats/connection/requests.ts";
import type { MarkedEntry } from "../../../../runtime/nats/streams/buckets.ts";
import {
  livePods,
  namesPartner,
  partnersField,
  podKey,
  OtherPods,
} from "../../../../runtime/webhooks/workers/heartbeats.ts";
import { LaneOwnership, type LaneOwnershipDeps } from "../../../../runtime/webhooks/workers/lane-ownership.ts";
import { createLeaseClock } from "../../../../runtime/nats/connection/lease-clock.ts";
import { memoryLog } from "../engine-fixture.ts";
import { quiet } from "../memory-context.ts";

const quietCalls = {
  held: () => new Set<string>(),
  onChange: () => undefined,
  onBeat: () => undefined,
  onLapse: () => undefined,
};
const pods = fc.uniqueArray(fc.stringMatching(/^[a-z0-9-]{1,12}$/u), { minLength: 1, maxLength: 8 });
const lanes = fc.uniqueArray(fc.stringMatching(/^[\w-]{16}$/u), { minLength: 1, maxLength: 50 });

describe("the owner of a lane", () => {
  test("is the same for every order of the pods", () => {
    fc.assert(
      fc.property(pods, lanes, (known, given) => {
        expect(given.map((lane) => ownerOf(lane, known))).toEqual(
          given.map((lane) => ownerOf(lane, known.toReversed())),
        );
      }),
    );
  });

  test("changes only for lanes of a removed pod", () => {
    fc.assert(
      fc.property(pods, lanes, (known, given) => {
        const [gone, ...rest] = known;
        const moved = given.filter((lane) => ownerOf(lane, known) !== ownerOf(lane, rest));
        expect(moved.every((lane) => ownerOf(lane, known) === gone)).toBe(true);
      }),
    );
  });

  test("is spread about evenly over the pods", () => {
    const known = ["pod-1", "pod-2", "pod-3"];
    const given = Array.from({ length: 3_000 }, (_, index) => `lane-${index}`);
    const shares = known.map((pod) => given.filter((lane) => ownerOf(lane, known) === pod).length);
    expect(shares.every((share) => share > 900 && share < 1_100)).toBe(true);
  });
});

describe("live pods", () => {
  const lease = { headers: { "Lease-Ms": "1500" } };
  test.each([
    ["one whose heartbeat is young is alive", [{ key: "b", storedAtMs: 8_500 }], ["a", "b"]],
    ["one of an earlier version is alive for two seconds", [{ key: "b", storedAtMs: 8_001 }], ["a", "b"]],
    ["one of an earlier version whose heartbeat is two seconds old is gone", [{ key: "b", storedAtMs: 8_000 }], ["a"]],
    ["one is alive for the lease that its heartbeat states", [{ key: "b", storedAtMs: 8_501, ...lease }], ["a", "b"]],
    ["one whose heartbeat is as old as its lease is gone", [{ key: "b", storedAtMs: 8_500, ...lease }], ["a"]],
    [
      "one whose lease cannot be read has that of an earlier version",
      [{ key: "b", storedAtMs: 8_001, headers: { "Lease-Ms": "soon" } }],
      ["a", "b"],
    ],
    ["one whose heartbeat seems to come from the future is alive", [{ key: "b", storedAtMs: 11_000 }], ["a", "b"]],
    ["one that left is gone", [{ key: "b", storedAtMs: 9_999, isRemoved: true }], ["a"]],
    ["the asking pod always counts", [{ key: "a", storedAtMs: 0 }], ["a"]],
  ])("%s", (_sentence, entries, expected) => {
    const known = entries.map((entry) => ({ isRemoved: false, ...entry }));
    expect(livePods(known, "a", 10_000)).toEqual(expected);
  });

  test("have keys that are one subject token", () => {
    expect(podKey("node.example.com:8080/pod 1")).toBe("node_example_com_8080_pod_1");
  });
});

test.each([
  ["of this version", "direct-half", 8_500, true],
  ["of a version that leaves a quarter of the places in a take-over", "direct", 8_500, false],
  ["of an earlier version", "", 8_500, false],
  ["of an earlier version that is gone", "", 8_000, true],
])(
  "beside a pod %s, a pod knows whether all recover direct attempts",
  async (_sentence, value, storedAtMs, expected) => {
    let changes = 0;
    const own = { key: "own", value: "direct-half", storedAtMs: 9_999 };
    const all = async () => [own, { key: "other", value, storedAtMs }];
    const bucket = { put: async () => undefined, all, remove: async () => undefined };
    const clock = { observe: () => undefined, now: () => 10_000, localMs: () => 0, errorMs: () => 0 };
    const { log } = memoryLog();
    const deps = {
      bucket,
      clock,
      podId: "own",
      log,
      held: () => new Set(),
      onBeat: () => undefined,
      onChange: () => (changes += 1),
      leases: createLeaseClock(),
      onLapse: () => undefined,
    };
    const ownership = new LaneOwnership(deps as unknown as LaneOwnershipDeps);
    expect(ownership.allPodsSupportDirect()).toBe(false);
    await ownership.start();
    expect([ownership.allPodsSupportDirect(), changes]).toEqual([expected, 1]);
    await ownership.leave();
  },
);

test("a pod starts after a delayed response to its first heartbeat, with the other pods known", async () => {
  let silent = 2;
  const put = async (): Promise<void> => {
    silent -= 1;
    if (silent >= 0) throw new NoReplyError("$KV.pods", "timeout");
  };
  const bucket = {
    put,
    all: async () => [{ key: "other", storedAtMs: 8_500 }],
    remove: async () => undefined,
  };
  const clock = { observe: () => undefined, now: () => 10_000, localMs: () => 0, errorMs: () => 0 };
  const { log } = memoryLog();
  const deps = {
    bucket,
    clock,
    podId: "own",
    log,
    held: () => new Set(),
    onBeat: () => undefined,
    onChange: () => undefined,
    onLapse: () => undefined,
    leases: createLeaseClock(),
  };
  const ownership = new LaneOwnership(deps as unknown as LaneOwnershipDeps);
  await ownership.start();
  expect([silent, ownership.livePods()]).toEqual([-1, ["other", "own"]]);
  await ownership.leave();
});

/** The ownership of a pod by a bucket of heartbeats, with a clock of JetStream that is at 10 s when it starts. */
async function startOwnership(
  bucketOf: (nowMs: () => number) => object,
  calls: Partial<typeof quietCalls> = {},
): Promise<LaneOwnership> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"], now: 0 });
  onTestFinished(() => void vi.useRealTimers());
  const fromMs = performance.now();
  const nowMs = (): number => 10_000 + performance.now() - fromMs;
  const clock = { observe: () => undefined, now: nowMs, localMs: () => performance.now() };
  const { log } = memoryLog();
  const bucket = { remove: async () => undefined, ...bucketOf(nowMs) };
  const given = { bucket, clock, leases: createLeaseClock(), podId: "own", log, ...quietCalls, ...calls };
  const ownership = new LaneOwnership(given as unknown as LaneOwnershipDeps);
  onTestFinished(() => ownership.leave());
  await ownership.start();
  return ownership;
}

test("a pod that is gone loses its lanes at once, not at the next regular heartbeat", async () => {
  const other = { key: "other", storedAtMs: 8_700, headers: { "Lease-Ms": "1500" } };
  const own = { key: "own", storedAtMs: 10_000, revision: 1 };
  const ownership = await startOwnership(() => ({ put: async () => 1, all: async () => [own, other] }));
  await vi.advanceTimersByTimeAsync(199);
  expect(ownership.livePods()).toEqual(["other", "own"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(ownership.livePods()).toEqual(["own"]);
});

test("a pod that stops names what it has in work, and takes that back once it has ended", async () => {
  const markers: (readonly [one: boolean | undefined, other: boolean | undefined])[] = [];
  const remove = async (_key: string, headers: Readonly<Record<string, string>>): Promise<void> =>
    void markers.push([namesPartner({ headers }, "one"), namesPartner({ headers }, "other")]);
  let held: readonly string[] = ["one"];
  const own = { key: "own", storedAtMs: 10_000, revision: 1 };
  const bucketOf = () => ({ put: async () => 1, all: async () => [own], remove });
  const ownership = await startOwnership(bucketOf, { held: () => new Set(held) });
  const drained = Promise.withResolvers<void>();
  const left = ownership.leave(drained.promise);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(markers).toEqual([[true, false]]);
  held = [];
  drained.resolve();
  await left;
  expect(markers).toEqual([
    [true, false],
    [false, false],
  ]);
});

test("a lost read of heartbeats delays the next heartbeat by half a second, and longer only while reads fail", async () => {
  let isLost = false;
  const beatsMs: number[] = [];
  const put = async (): Promise<number> => beatsMs.push(performance.now());
  const read = async (nowMs: () => number, timeoutMs = 5_000) => {
    if (isLost) await new Promise((resolve) => setTimeout(resolve, timeoutMs));
    if (isLost) throw new NoReplyError("KV_pods", "timeout");
    return [{ key: "own", storedAtMs: nowMs(), revision: beatsMs.length }];
  };
  await startOwnership((nowMs) => ({ put, all: (timeoutMs?: number) => read(nowMs, timeoutMs) }));
  isLost = true;
  await vi.advanceTimersByTimeAsync(4_000);
  const gapsMs = beatsMs.map((atMs, index) => atMs - (beatsMs[index - 1] ?? 0)).slice(2, 5);
  isLost = false;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(gapsMs).toEqual([1_000, 1_500]);
  expect((beatsMs.at(-1) ?? 0) - (beatsMs.at(-2) ?? 0)).toBe(500);
});

test("a pod that is gone is noticed soon after a replica that lags behind returned old heartbeats", async () => {
  const other = { key: "other", storedAtMs: 8_700, headers: { "Lease-Ms": "1500" } };
  let beats = 0;
  const ownership = await startOwnership((nowMs) => ({
    put: async () => (beats += 1),
    // The second heartbeat finds the pod gone, in a replica that does not have this heartbeat yet.
    all: async () => [{ key: "own", storedAtMs: nowMs(), revision: beats === 2 ? 1 : beats }, other],
  }));
  await vi.advanceTimersByTimeAsync(299);
  expect([beats, ownership.livePods()]).toEqual([2, ["other", "own"]]);
  await vi.advanceTimersByTimeAsync(1);
  expect([beats, ownership.livePods()]).toEqual([3, ["own"]]);
});

describe("a pod that stood still", () => {
  const deps = () => {
    const time = { wallMs: 1_800_000_000_000, localMs: 50, jetStreamMs: 1_700_000_000_000 };
    const pass = (ms: number, { wall = ms, local = ms } = {}): void => {
      time.wallMs += wall;
      time.localMs += local;
      time.jetStreamMs += ms;
    };
    const leases = createLeaseClock(
      () => time.wallMs,
      () => time.localMs,
    );
    let revision = 0;
    let lapses = 0;
    const bucket = {
      put: async () => {
        leases.confirmStored(leases.nowMs());
        return (revision += 1);
      },
      all: async () => [{ key: "own", value: "direct-half", storedAtMs: time.jetStreamMs, revision }],
      remove: async () => undefined,
    };
    const clock = { observe: () => undefined, now: () => time.jetStreamMs, localMs: () => time.localMs };
    const { log } = memoryLog();
    const given = { bucket, clock, leases, podId: "own", log, ...quietCalls, onLapse: () => (lapses += 1) };
    const ownership = new LaneOwnership(given as unknown as LaneOwnershipDeps);
    onTestFinished(() => ownership.leave());
    const state = (): readonly [boolean, boolean, number] => [
      ownership.isCurrent(),
      ownership.confirmed() === undefined,
      lapses,
    ];
    return { ownership, pass, state, leases, beats: () => revision };
  };

  test.each<[string, number, { wall?: number; local?: number }]>([
    ["by both clocks", 4_000, {}],
    ["by its wall clock alone, because the monotonic one stood still with the machine", 60_000, { local: 0 }],
    ["by its monotonic clock, while the wall clock was set back an hour", 4_000, { wall: -3_600_000 }],
  ])("does not count as an owner, at once and %s, until its next heartbeat", async (_sentence, ms, clocks) => {
    const it = deps();
    await it.ownership.start();
    expect(it.state()).toEqual([true, true, 0]);
    it.pass(700);
    it.leases.confirm(it.leases.nowMs());
    expect(it.state()).toEqual([true, true, 0]);
    it.pass(ms, clocks);
    expect(it.state()).toEqual([false, false, 0]);
    // A sign of life of the server says nothing about the owners of lanes.
    it.leases.confirm(it.leases.nowMs());
    expect(it.state()).toEqual([false, false, 0]);
    await waitFor(() => it.state()[0], { timeoutMs: 5_000, what: "the next heartbeat" });
    expect(it.state()).toEqual([true, true, 1]);
  });

  test("finds out by the time of JetStream, though both clocks stood still", async () => {
    const it = deps();
    await it.ownership.start();
    it.pass(60_000, { wall: 0, local: 0 });
    await waitFor(() => it.state()[2] === 1, { timeoutMs: 5_000, what: "the next heartbeat" });
    expect(it.state()).toEqual([true, true, 1]);
  });

  test("is none after heartbeats that arrive in time", async () => {
    const it = deps();
    await it.ownership.start();
    for (let count = 1; count <= 2; count += 1) {
      it.pass(700);
      it.leases.confirm(it.leases.nowMs());
      expect(it.state()).toEqual([true, true, 0]);
      await waitFor(() => it.beats() > count, { timeoutMs: 5_000, what: "the next heartbeat" });
    }
    expect(it.state()).toEqual([true, true, 0]);
  });
});

describe("a heartbeat", () => {
  async function start() {
    const beats: Readonly<Record<string, string>>[] = [];
    const entries = new Map<string, { storedAtMs: number; revision: number; headers?: object; isLagging?: boolean }>();
    let held: ReadonlySet<string> = new Set();
    const revision = { own: 0 };
    const bucket = {
      put: async (_key: string, _value: string, headers: Readonly<Record<string, string>>) => {
        beats.push(headers);
        return (revision.own += 10);
      },
      all: async () => [
        { key: "own", storedAtMs: 10_000, revision: revision.own },
        ...[...entries].map(([key, entry]) => ({ key, isRemoved: false, ...entry })),
      ],
      remove: async (_key: string, headers: Readonly<Record<string, string>>) => void beats.push(headers),
    };
    const clock = { observe: () => undefined, now: () => 10_000, localMs: () => 0 };
    const { log } = memoryLog();
    const given = { bucket, clock, leases: createLeaseClock(), podId: "own", log, ...quietCalls, held: () => held };
    const ownership = new LaneOwnership(given as unknown as LaneOwnershipDeps);
    onTestFinished(() => ownership.leave());
    await ownership.start();
    const next = async (): Promise<void> => {
      const count = beats.length;
      await waitFor(() => beats.length > count, { timeoutMs: 5_000, what: "the next heartbeat" });
      await quiet();
    };
    return { ownership, beats, entries, next, hold: (...partners: string[]) => (held = new Set(partners)) };
  }

  test("names the partners that the pod holds, and so does the marker that it leaves", async () => {
    const it = await start();
    expect([it.ownership.isNamed("p1"), namesPartner({ headers: it.beats[0] ?? {} }, "p1")]).toEqual([false, false]);
    it.hold("p1");
    expect(it.ownership.isNamed("p1")).toBe(false);
    await it.next();
    expect([it.ownership.isNamed("p1"), namesPartner({ headers: it.beats[1] ?? {} }, "p1")]).toEqual([true, true]);
    it.hold("p2");
    await it.ownership.leave();
    expect(["p1", "p2"].map((one) => namesPartner({ headers: it.beats.at(-1) ?? {} }, one))).toEqual([false, true]);
  });
});

describe("attempts of other pods", () => {
  const endMs = 15_000;
  const nowMs = 100_000;
  const entry = (ageMs: number, more: Partial<MarkedEntry> = {}): MarkedEntry => ({
    key: "other",
    value: "direct-half",
    storedAtMs: nowMs - ageMs,
    revision: 20,
    isRemoved: false,
    headers: partnersField(new Set()) as Record<string, string>,
    ...more,
  });
  const named = { headers: partnersField(new Set(["p1"])) as Record<string, string> };
  const earlier = { headers: {} };

  test.each<[string, readonly MarkedEntry[], number]>([
    ["do not exist without other pods", [], 0],
    ["are named by a live pod", [entry(500, named)], endMs],
    ["are not named by a pod that learned of this one meanwhile", [entry(500)], 0],
    ["may have begun in a pod that learns of this one next", [entry(500, { revision: 10 })], endMs],
    ["end so long after the last heartbeat that named them", [entry(6_000, named)], 9_000],
    [
      "may have begun after the last heartbeat of a pod that never learned of this one",
      [entry(6_000, { revision: 10 })],
      9_000,
    ],
    ["have ended in a pod that left without them", [entry(100, { revision: 10, isRemoved: true })], 0],
    ["end so long after the pod that had them left", [entry(6_000, { ...named, isRemoved: true })], 9_000],
    ["may begin in a live pod of an earlier version", [entry(500, earlier)], endMs],
    ["end so long after the last heartbeat of an earlier version", [entry(6_000, earlier)], 9_000],
    ["of an earlier version that left end so long after", [entry(10_000, { ...earlier, isRemoved: true })], 5_000],
    ["of pods that ended long ago have ended", [entry(15_000, named)], 0],
    [
      "are those of the pod that has them for longest",
      [entry(9_000, named), entry(6_000, { ...named, key: "third" })],
      9_000,
    ],
  ])("%s", (_sentence, entries, expected) => {
    const others = new OtherPods();
    others.meet(entries, nowMs);
    expect(others.endMs("p1", endMs, nowMs, 10)).toBe(expected);
  });

  test("are judged by the latest heartbeat, also when a replica returns an earlier one", () => {
    const others = new OtherPods();
    others.meet([entry(500)], nowMs);
    others.meet([entry(1_000, { ...named, revision: 15 })], nowMs);
    expect(others.endMs("p1", endMs, nowMs, 10)).toBe(0);
  });

  test("of every partner that a heartbeat names are found, and of few others", () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[\w-]{16}$/u), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(names, (partners) => {
        const headers = partnersField(new Set(partners)) as Record<string, string>;
        expect(partners.every((one) => namesPartner({ headers }, one) === true)).toBe(true);
        const others = Array.from({ length: 400 }, (_, index) => `other-${index}`);
        expect(others.filter((one) => namesPartner({ headers }, one) === true).length).toBeLessThan(80);
      }),
      { numRuns: 20 },
    );
  });

  test.each(["", "AAAA", "no base64!"])("are unknown by a header of other bytes: %j", (text) => {
    expect(namesPartner({ headers: { Partners: text } }, "p1")).toBeUndefined();
  });

  test("of an earlier process with the name of this one count", async () => {
    const before = entry(6_000, { ...named, key: "own" });
    let reads = 0;
    const all = async () => ((reads += 1) === 1 ? [before] : [entry(0, { key: "own", revision: 30 })]);
    const bucket = { put: async () => 30, all, remove: async () => undefined };
    const clock = { observe: () => undefined, now: () => nowMs, localMs: () => 0 };
    const { log } = memoryLog();
    const given = { bucket, clock, leases: createLeaseClock(), podId: "own", log, ...quietCalls };
    const ownership = new LaneOwnership(given as unknown as LaneOwnershipDeps);
    onTestFinished(() => ownership.leave());
    await ownership.start();
    expect(ownership.othersEndMs("p1", endMs, ownership.revision())).toBe(9_000);
  });
});
