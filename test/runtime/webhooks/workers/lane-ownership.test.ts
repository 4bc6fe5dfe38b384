import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ownerOf } from "../../../../runtime/pods/owner-of.ts";
import { Unanswered } from "../../../../runtime/nats/connection/requests.ts";
import {
  LaneOwnership,
  livePods,
  podKey,
  type LaneOwnershipDeps,
} from "../../../../runtime/webhooks/workers/lane-ownership.ts";
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
  test.each([
    ["one whose heartbeat is young is alive", [{ key: "b", storedAtMs: 8_500 }], ["a", "b"]],
    ["one whose heartbeat is two seconds old is gone", [{ key: "b", storedAtMs: 8_000 }], ["a"]],
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
    const bucket = { put: async () => undefined, list, remove: async () => undefined };
    const clock = { observe: () => undefined, now: () => 10_000, localMs: () => 0, errorMs: () => 0 };
    const { log } = memoryLog();
    const deps = { bucket, clock, podId: "own", log, onChange: () => (changes += 1) };
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
  const bucket = { put, list: async () => [{ key: "other", storedAtMs: 8_500 }], remove: async () => undefined };
  const clock = { observe: () => undefined, now: () => 10_000, localMs: () => 0, errorMs: () => 0 };
  const { log } = memoryLog();
  const deps = { bucket, clock, podId: "own", log, onChange: () => undefined };
  const ownership = new LaneOwnership(deps as unknown as LaneOwnershipDeps);
  await ownership.start();
  expect([silent, ownership.livePods()]).toEqual([-1, ["other", "own"]]);
  await ownership.leave();
});
