import { describe, expect, test } from "vitest";
import type { ResourceResult } from "../../../crds/compile/resource-result.ts";
import type { Facts } from "../../../operator/conditions.ts";
import { decideStatus, type Moments } from "../../../operator/controllers/status-decision.ts";
import type { ResourceStatus } from "../../../operator/resource-types.ts";
import { goodResult as good } from "../good-result.ts";

const times = { graceMs: 2_000, messageMs: 10_000 };
const nowMs = 100_000;
const moments: Moments = { nowMs, now: "2026-11-21T12:00:00Z", pendingSinceMs: nowMs - 60_000, writtenAtMs: undefined };

const factsOf = (generation: number, changes: Partial<Facts> = {}): Facts => ({
  generation,
  isPaused: false,
  isSuspended: false,
  columns: {},
  result: good,
  isTooLarge: false,
  inForce: generation,
  isPublished: true,
  rollout: { kind: "programmed" },
  disabled: undefined,
  ...changes,
});
const decide = (facts: Facts, before?: ResourceStatus, at: Partial<Moments> = {}) =>
  decideStatus(facts, before, { ...moments, ...at }, times);

function written(facts: Facts, before?: ResourceStatus, at: Partial<Moments> = {}): ResourceStatus {
  const decision = decide(facts, before, at);
  if (decision.kind !== "write") throw new Error("nothing is written");
  return decision.status;
}

const unknown = factsOf(1, {
  result: undefined,
  inForce: undefined,
  isPublished: false,
  rollout: { kind: "waiting", untilMs: nowMs },
});
const waiting = (generation: number, untilMs: number) => factsOf(generation, { rollout: { kind: "waiting", untilMs } });
const readyOf = (status: ResourceStatus) => status.conditions?.find(({ type }) => type === "Ready");

describe("a status", () => {
  test("of a new object is Unknown before anything is done for it", () => {
    const status = written(unknown, undefined, { pendingSinceMs: nowMs });
    expect(status.observedGeneration).toBe(1);
    expect(readyOf(status)).toMatchObject({ status: "Unknown", reason: "Pending", observedGeneration: 1 });
  });

  test("of a new object is written twice in all: Unknown, and then Ready", () => {
    const first = written(unknown, undefined, { pendingSinceMs: nowMs });
    expect(decide(factsOf(1, { isPublished: false }), first, { pendingSinceMs: nowMs })).toEqual({
      kind: "keep",
      againMs: 2_000,
    });
    expect(decide(waiting(1, nowMs + 700), first)).toEqual({ kind: "keep", againMs: 700 });
    expect(readyOf(written(factsOf(1), first))).toMatchObject({ status: "True" });
  });

  test("lists the metrics that do not match their stores, and is written when these change", () => {
    const check = { metric: "lag", status: "False", check: "series", message: "eu: no series" } as const;
    const observed = { reason: "Mismatch", message: "lag", generation: 3, metrics: [check] } as const;
    const first = written(factsOf(3, { observed }), written(factsOf(3)));
    expect(first.observed).toEqual([check]);
    expect(decide(factsOf(3, { observed }), first)).toEqual({ kind: "keep" });
    const kind = { ...observed, metrics: [{ ...check, check: "kind" }] };
    expect(written(factsOf(3, { observed: kind }), first, { writtenAtMs: nowMs - 1 }).observed).toEqual(kind.metrics);
    const words = { ...observed, metrics: [{ ...check, message: "latam: no series" }] };
    expect(decide(factsOf(3, { observed: words }), first, { writtenAtMs: nowMs - 1 })).toMatchObject({ kind: "keep" });
    const matching = { reason: "MatchesStores", message: "fine", generation: 3, metrics: [] } as const;
    expect(written(factsOf(3, { observed: matching }), first)).not.toHaveProperty("observed");
  });

  test("of an ordinary edit is written once", () => {
    const ready = written(factsOf(3));
    expect(
      decide(factsOf(4, { result: undefined, inForce: undefined, isPublished: false }), ready, {
        pendingSinceMs: nowMs,
      }),
    ).toEqual({ kind: "keep", againMs: 2_000 });
    expect(decide(waiting(4, nowMs + 500), ready)).toEqual({ kind: "keep", againMs: 500 });
    expect(written(factsOf(4), ready)).toMatchObject({ observedGeneration: 4 });
  });

  test("that is as it should be is not written again", () => {
    expect(decide(factsOf(3), written(factsOf(3)), { now: "2030-01-01T00:00:00Z" })).toEqual({ kind: "keep" });
  });

  test("is Pending when an edit takes long to be published", () => {
    const ready = written(factsOf(3));
    const late = factsOf(4, { isPublished: false, rollout: { kind: "waiting", untilMs: nowMs } });
    expect(readyOf(written(late, ready, { pendingSinceMs: nowMs - 2_000 }))).toMatchObject({
      status: "Unknown",
      reason: "Pending",
      observedGeneration: 4,
    });
  });

  test("asks for a look when its state may change by itself", () => {
    expect(decide(factsOf(3, { rollout: { kind: "programmed", untilMs: nowMs + 900 } }), written(factsOf(3)))).toEqual({
      kind: "keep",
      againMs: 900,
    });
    expect(decide(waiting(1, nowMs + 500))).toMatchObject({ kind: "write", againMs: 500 });
  });

  test("is written for a message alone, but not often", () => {
    const lagging = (pods: string) => factsOf(3, { rollout: { kind: "lagging", pods } });
    const before = written(lagging("rt-1 of 2 ready pods"));
    const changed = lagging("rt-2 of 2 ready pods");
    expect(decide(changed, before, { writtenAtMs: nowMs - 4_000 })).toEqual({ kind: "keep", againMs: 6_000 });
    expect(decide(changed, before, { writtenAtMs: nowMs - 10_000 }).kind).toBe("write");
    expect(decide(changed, before).kind).toBe("write");
  });

  test("is written at once when its state changes, however lately it was written", () => {
    const before = written(factsOf(3));
    expect(
      decide(factsOf(3, { rollout: { kind: "lagging", pods: "rt-1" } }), before, { writtenAtMs: nowMs }).kind,
    ).toBe("write");
    expect(decide(factsOf(3, { disabled: "410" }), before, { writtenAtMs: nowMs }).kind).toBe("write");
  });

  test("that another writer changed is restored, and conditions of others stay", () => {
    const before = written(factsOf(3));
    const conditions = before.conditions ?? [];
    const edited = {
      ...before,
      conditions: conditions.map((one) => (one.type === "Ready" ? { ...one, status: "False" as const } : one)),
    };
    expect(decide(factsOf(3), edited).kind).toBe("write");
    expect(decide(factsOf(3), { ...before, conditions: conditions.slice(1) }).kind).toBe("write");
    const audited = { type: "Audited", status: "True" as const, reason: "Yes", message: "", lastTransitionTime: "" };
    expect(decide(factsOf(3), { ...before, conditions: [...conditions, audited] })).toEqual({ kind: "keep" });
  });

  test("keeps the times of conditions that keep their status", () => {
    const before = written(factsOf(3), undefined, { now: "2026-01-01T00:00:00Z" });
    const after = written(factsOf(4, { rollout: { kind: "noPods" } }), before);
    const timeOf = (type: string) => after.conditions?.find((one) => one.type === type)?.lastTransitionTime;
    expect([timeOf("Accepted"), timeOf("Programmed"), timeOf("Ready")]).toEqual([
      "2026-01-01T00:00:00Z",
      moments.now,
      moments.now,
    ]);
  });
});

test("of an object that went out of force is written when the shards hold it no more", () => {
  const ready = written(factsOf(3));
  const missing: ResourceResult = {
    ...good,
    resolvedRefs: { status: false, reason: "SecretNotFound", message: "there is none" },
  };
  const out = factsOf(3, {
    result: missing,
    inForce: undefined,
    isPublished: false,
    rollout: { kind: "waiting", untilMs: nowMs },
  });
  expect(decide(out, ready, { pendingSinceMs: nowMs })).toEqual({ kind: "keep", againMs: 2_000 });
  expect(decide({ ...out, isPublished: true }, ready, { pendingSinceMs: nowMs }).kind).toBe("write");
});
