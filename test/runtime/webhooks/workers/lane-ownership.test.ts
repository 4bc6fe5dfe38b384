import * as fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { waitFor } from "../../../support/wait.ts";
import { ownerOf } from "../../../../runtime/pods/owner-of.ts";
import { Unanswered } from "../../../../runtime/nats/connection/requests.ts";
import { livePods } from "../../../../runtime/webhooks/workers/heartbeats.ts";
import { LaneOwnership, podKey, type LaneOwnershipDeps } from "../../../../runtime/webhooks/workers/lane-ownership.ts";
import { createLeaseClock } from "../../../../runtime/nats/connection/lease-clock.ts";
import { memoryLog } from "../engine-fixture.ts";

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
    ["the asking pod always counts", [{ key: "a", storedAtMs: 0 }], ["a"]],
  ])("%s", (_sentence, entries, expected) => {
    expect(livePods(entries, "a", 10_000)).toEqual(expected);
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
    const list = async () => [own, { key: "other", value, storedAtMs }];
    const bucket = { put: async () => undefined, list, times: async () => [], remove: async () => undefined };
    const clock = { observe: () => undefined, now: () => 10_000, localMs: () => 0, errorMs: () => 0 };
    const { log } = memoryLog();
    const deps = {
      bucket,
      clock,
      podId: "own",
      log,
      onChange: () => (changes += 1),
      leases: createLeaseClock(),
      onLapse: () => undefined,
    };
    const ownership = new LaneOwnership(deps as unknown as LaneOwnershipDeps);
    expect(ownership.knowDirect()).toBe(false);
    await ownership.start();
    expect([ownership.knowDirect(), changes]).toEqual([expected, 1]);
    await ownership.leave();
  },
);

test("a pod starts after a delayed response to its first heartbeat, with the other pods known", async () => {
  let silent = 2;
  const put = async (): Promise<void> => {
    silent -= 1;
    if (silent >= 0) throw new Unanswered("$KV.pods", "timeout");
  };
  const bucket = {
    put,
    list: async () => [{ key: "other", storedAtMs: 8_500 }],
    times: async () => [],
    remove: async () => undefined,
  };
  const clock = { observe: () => undefined, now: () => 10_000, localMs: () => 0, errorMs: () => 0 };
  const { log } = memoryLog();
  const deps = {
    bucket,
    clock,
    podId: "own",
    log,
    onChange: () => undefined,
    onLapse: () => undefined,
    leases: createLeaseClock(),
  };
  const ownership = new LaneOwnership(deps as unknown as LaneOwnershipDeps);
  await ownership.start();
  expect([silent, ownership.livePods()]).toEqual([-1, ["other", "own"]]);
  await ownership.leave();
});

test("a pod that is gone loses its lanes at once, not at the next regular heartbeat", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"], now: 0 });
  onTestFinished(() => void vi.useRealTimers());
  const fromMs = performance.now();
  const nowMs = (): number => 10_000 + performance.now() - fromMs;
  const other = { key: "other", storedAtMs: 8_700, headers: { "Lease-Ms": "1500" } };
  const bucket = {
    put: async () => 1,
    list: async () => [other],
    times: async () => [],
    remove: async () => undefined,
  };
  const clock = { observe: () => undefined, now: nowMs, localMs: () => performance.now() };
  const { log } = memoryLog();
  const calls = { onChange: () => undefined, onLapse: () => undefined };
  const given = { bucket, clock, leases: createLeaseClock(), podId: "own", log, ...calls };
  const ownership = new LaneOwnership(given as unknown as LaneOwnershipDeps);
  onTestFinished(() => ownership.leave());
  await ownership.start();
  await vi.advanceTimersByTimeAsync(199);
  expect(ownership.livePods()).toEqual(["other", "own"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(ownership.livePods()).toEqual(["own"]);
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
      list: async () => [{ key: "own", value: "direct-half", storedAtMs: time.jetStreamMs, revision }],
      times: async () => [],
      remove: async () => undefined,
    };
    const clock = { observe: () => undefined, now: () => time.jetStreamMs, localMs: () => time.localMs };
    const { log } = memoryLog();
    const given = { bucket, clock, leases, podId: "own", log, onChange: () => undefined, onLapse: () => (lapses += 1) };
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

describe("attempts of previous owners", () => {
  const endMs = 15_000;

  async function started(
    before: readonly { readonly key: string; readonly storedAtMs: number }[],
    others: readonly { readonly key: string; readonly storedAtMs: number }[] = [],
  ): Promise<number> {
    const own = { key: "own", value: "direct-half", storedAtMs: 100_000 };
    const bucket = {
      put: async () => undefined,
      list: async () => [own, ...others],
      times: async () => before,
      remove: async () => undefined,
    };
    const clock = { observe: () => undefined, now: () => 100_000, localMs: () => 0, errorMs: () => 0 };
    const { log } = memoryLog();
    const given = { bucket, clock, leases: createLeaseClock(), podId: "own", log };
    const calls = { onChange: () => undefined, onLapse: () => undefined };
    const ownership = new LaneOwnership({ ...given, ...calls } as unknown as LaneOwnershipDeps);
    await ownership.start();
    await ownership.leave();
    return ownership.othersEndMs(endMs);
  }

  test.each<[string, Parameters<typeof started>, number]>([
    ["do not exist for a pod that was always alone", [[]], 0],
    ["may begin while another pod is live", [[], [{ key: "other", storedAtMs: 99_500 }]], endMs],
    ["end so long after the last heartbeat of a pod", [[], [{ key: "other", storedAtMs: 94_000 }]], 9_000],
    ["end so long after the last heartbeat of an earlier process", [[{ key: "own", storedAtMs: 94_000 }]], 9_000],
    ["end so long after another pod left", [[{ key: "other", storedAtMs: 90_000 }]], 5_000],
    ["of a pod that ended long ago have ended", [[{ key: "other", storedAtMs: 85_000 }]], 0],
  ])("%s", async (_sentence, given, expected) => {
    expect(await started(...given)).toBe(expected);
  });
});
