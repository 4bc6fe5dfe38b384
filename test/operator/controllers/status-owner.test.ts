import { expect, test } from "vitest";
import { type OwnerDecision, conflictType, decideOwner } from "../../../operator/controllers/status-owner.ts";
import type { Condition, ResourceStatus } from "../../../operator/resource-types.ts";

const [first, second] = ["shop/heliograph", "ops/heliograph"];
const minuteMs = 60_000;

/** One object whose status two installations look at, whenever each wants to, in steps of a second. */
class Scene {
  status: ResourceStatus | undefined;
  nowMs = Date.UTC(2026, 0, 1);
  readonly writes: { readonly by: string; readonly atMs: number }[] = [];
  readonly #dueMs = new Map<string, number>();

  /** Lets these installations run for so long. */
  run(forMs: number, ...alive: readonly string[]): void {
    for (const endMs = this.nowMs + forMs; this.nowMs < endMs; this.nowMs += 1_000)
      for (const self of alive) if ((this.#dueMs.get(self) ?? 0) <= this.nowMs) this.#look(self, alive);
  }

  conflict(): Condition | undefined {
    return this.status?.conditions?.find(({ type }) => type === conflictType);
  }

  #look(self: string, alive: readonly string[]): void {
    const claim = decideOwner(self, this.status, this.nowMs);
    this.#dueMs.set(self, this.nowMs + (claim.againMs ?? Number.POSITIVE_INFINITY));
    const isChanged = this.#apply(self, claim);
    // Whoever watches sees the change.
    if (isChanged) for (const one of alive) if (one !== self) this.#dueMs.set(one, this.nowMs);
  }

  #apply(self: string, { kind, conflict }: OwnerDecision): boolean {
    const isNamed = kind === "ours" && this.status?.installation !== self;
    if (conflict === undefined && !isNamed) return false;
    this.writes.push({ by: self, atMs: this.nowMs });
    const conditions = conflict === "none" ? [] : conflict === undefined ? (this.status?.conditions ?? []) : [conflict];
    this.status = { ...this.status, ...(kind === "ours" ? { installation: self } : {}), conditions };
    return true;
  }
}

test("one installation alone names itself once", () => {
  const scene = new Scene();
  scene.run(60 * minuteMs, first);
  expect([scene.status?.installation, scene.conflict(), scene.writes.length]).toEqual([first, undefined, 1]);
});

test("a second one sees the name of the first, reports it, and both write no more than twice a minute", () => {
  const scene = new Scene();
  scene.run(minuteMs, first);
  scene.run(120 * minuteMs, first, second);
  expect(scene.status?.installation).toBe(first);
  expect(scene.conflict()).toMatchObject({ status: "True", reason: "TwoInstallations" });
  for (const name of [first, second]) expect(scene.conflict()?.message).toContain(name);
  for (const { atMs } of scene.writes) {
    expect(
      scene.writes.filter((write) => write.atMs >= atMs && write.atMs < atMs + minuteMs).length,
    ).toBeLessThanOrEqual(2);
  }
  expect(scene.writes.length).toBeLessThan(30);
});

test("the second one takes over eleven minutes after the first is gone, and keeps the status when it comes back", () => {
  const scene = new Scene();
  scene.run(minuteMs, first);
  scene.run(5 * minuteMs, first, second);
  scene.run(12 * minuteMs, second);
  expect([scene.status?.installation, scene.conflict()]).toEqual([second, undefined]);
  scene.run(30 * minuteMs, first, second);
  expect([scene.status?.installation, scene.conflict()?.reason]).toEqual([second, "TwoInstallations"]);
});

test("the conflict is gone twenty minutes after the second one is", () => {
  const scene = new Scene();
  scene.run(minuteMs, first);
  scene.run(5 * minuteMs, first, second);
  scene.run(21 * minuteMs, first);
  expect([scene.status?.installation, scene.conflict()]).toEqual([first, undefined]);
});
