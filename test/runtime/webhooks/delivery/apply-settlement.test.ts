import { describe, expect, test, vi } from "vitest";
import type { PublishResult } from "../../../../runtime/nats/messages/publish.ts";
import { attemptRecord } from "../../../../runtime/webhooks/records/attempt-records.ts";
import { applySettlement, endUnsent } from "../../../../runtime/webhooks/delivery/apply-settlement.ts";
import type { LaneControl, Work } from "../../../../runtime/webhooks/delivery/delivery-context.ts";
import { deliveryMessage, type DeliveryRecord } from "../../../../runtime/webhooks/records/delivery-record.ts";
import type { Settlement } from "../../../../runtime/webhooks/settlement/settle.ts";
import { createRedeliveryCheck } from "../../../../runtime/webhooks/delivery/in-flight.ts";
import {
  advance,
  answered,
  compiled,
  duplicate,
  firstAttempt,
  type MemoryContext,
  memoryContext,
  pulled,
  quiet,
  refused,
  stored,
  storedAs,
  unexpected,
} from "../memory-context.ts";

const partner = compiled("one");
const delivery: DeliveryRecord = { ...firstAttempt(partner.key, "did"), attempt: 2 };
const laterItem = { ...delivery, attempt: 3 };

function begin(memory: MemoryContext, settlement: Settlement) {
  const { context, clock, done } = memory;
  const lane: LaneControl = {
    current: () => partner,
    prepareRetries: async () => void done.push("retries"),
    disable: () => void done.push("disable"),
    throttle: async () => undefined,
    observe: () => undefined,
    block: (isBlocked) => void done.push(isBlocked ? "block" : "unblock"),
  };
  const message = pulled(done, storedAs(deliveryMessage(delivery, partner.lane, Buffer.from(""))));
  const work: Work = { delivery, redeliveryCheck: createRedeliveryCheck(() => 1), message, sinceMs: clock.nowMs() };
  const startMs = clock.nowMs();
  const end: { atMs?: number; error?: unknown } = {};
  const carried = applySettlement(context, work, partner, lane, settlement).then(
    () => void (end.atMs = clock.nowMs() - startMs),
    (error: unknown) => void (end.error = error),
  );
  return { end, carried };
}

/** Until it ends, from timer to timer. */
async function throughout(memory: MemoryContext, settlement: Settlement): Promise<number | undefined> {
  const { end } = begin(memory, settlement);
  await quiet();
  for (let turn = 0; turn < 50 && end.atMs === undefined; turn += 1)
    await advance(memory.clock, memory.clock.nextInMs ?? 0);
  return end.atMs;
}

const later = (memory: MemoryContext): Settlement => ({
  kind: "retry",
  atMs: memory.clock.wallMs() + 60_000,
  reason: "status_500",
});

describe("a settlement", () => {
  test.each<[string, Settlement, readonly string[]]>([
    ["that is delivered is acknowledged", { kind: "delivered" }, ["ack 5"]],
    [
      "that is rejected leaves a dead letter first",
      { kind: "rejected", reason: "status_404" },
      ["letter: stored", "ack 5"],
    ],
    ["that is dead leaves a dead letter first", { kind: "dead", reason: "status_500" }, ["letter: stored", "ack 5"]],
    [
      "that disables marks the partner, ends its pulls and leaves a dead letter first",
      { kind: "disabled", reason: "status_410" },
      ["mark", "disable", "letter: stored", "ack 5"],
    ],
  ])("%s", async (_sentence, settlement, expected) => {
    const memory = memoryContext();
    expect(await throughout(memory, settlement)).toBe(0);
    expect(memory.done).toEqual(expected);
  });
});

describe("a retry", () => {
  const again = (id: string, seq = 5, passedMs = 0): string =>
    `schedule did:0:${id} after ${seq} in ${60_000 - passedMs}`;
  const live = [storedAs(deliveryMessage(laterItem, partner.lane, Buffer.from("")))];
  test.each<[string, readonly PublishResult[], Partial<MemoryContext["past"]>, number, readonly string[]]>([
    ["is stored in the place of the held message", [stored], {}, 0, [`${again("3:0")}: stored`]],
    [
      "that is refused is stored again after growing pauses, at most a second",
      [refused, refused, refused, refused, refused, refused, refused, stored],
      {},
      50 + 100 + 200 + 400 + 800 + 1_000 + 1_000,
      [0, 50, 150, 350, 750, 1_550, 2_550]
        .map((passedMs) => `${again("3:0", 5, passedMs)}: rejected`)
        .concat(`${again("3:0", 5, 3_550)}: stored`),
    ],
    ["that another pod has stored is left alone", [unexpected], { live }, 0, [`${again("3:0")}: unexpected`]],
    [
      "whose held message the server lost is stored as the only copy",
      [unexpected, stored],
      {},
      0,
      [`${again("3:0")}: unexpected`, `${again("3:0", 0)}: stored`],
    ],
    [
      "whose id was used by a lost message is stored under the next id",
      [duplicate, duplicate, stored],
      {},
      0,
      [`${again("3:0")}: duplicate`, `${again("3:1")}: duplicate`, `${again("3:2")}: stored`],
    ],
  ])("%s", async (_sentence, answers, before, tookMs, expected) => {
    const memory = memoryContext();
    memory.answers.schedule.push(...answers);
    Object.assign(memory.past, before);
    expect(await throughout(memory, later(memory))).toBe(tookMs);
    expect(memory.done).toEqual(["retries", ...expected, "ack 5"]);
  });

  test("is not acknowledged when the process ends while it is refused", async () => {
    const memory = memoryContext();
    memory.answers.schedule.push(refused);
    const { end, carried } = begin(memory, later(memory));
    await quiet();
    memory.ending.abort(new Error("ends"));
    await carried;
    expect(end.error).toEqual(new Error("ends"));
    expect(memory.done.at(-1)).toBe(`${again("3:0")}: rejected`);
    expect(memory.clock.waiting).toBe(0);
  });
});

describe("a dead letter that is refused", () => {
  test("blocks the partner, is retried every five seconds, and unblocks it when the stream accepts it", async () => {
    const memory = memoryContext();
    memory.answers.deadLetter.push(refused, refused, refused);
    expect(await throughout(memory, { kind: "dead", reason: "status_500" })).toBe(10_000 + 5_000);
    expect(memory.done).toEqual([
      "letter: rejected",
      "block",
      "letter: rejected",
      "letter: rejected",
      "letter: stored",
      "unblock",
      "ack 5",
    ]);
  });

  test("unblocks the partner, unacknowledged, when the process ends", async () => {
    const memory = memoryContext();
    memory.answers.deadLetter.push(refused, refused);
    const { carried } = begin(memory, { kind: "dead", reason: "status_500" });
    await quiet();
    memory.ending.abort(new Error("ends"));
    await carried;
    expect(memory.done).toEqual(["letter: rejected", "block", "unblock"]);
  });

  test("holds the attempts that were recorded", async () => {
    const memory = memoryContext();
    const settlement: Settlement = { kind: "dead", reason: "status_500" };
    const record = attemptRecord({
      delivery,
      partner,
      startedAtMs: 0,
      outcome: answered(500),
      settlement,
      pod: "pod-1",
    });
    memory.past.attempts = [
      { ...storedAs(deliveryMessage(delivery, "lane", Buffer.from(""))), data: Buffer.from(JSON.stringify(record)) },
    ];
    await throughout(memory, settlement);
    expect(memory.letters).toHaveLength(1);
    const expected = { state: "dead", reason: "status_500", attempts: [{ number: 2, outcome: { status: 500 } }] };
    expect(JSON.parse(memory.letters[0]?.payload ?? "")).toMatchObject(expected);
  });
});

describe("the counters of a delivery that ended without success", () => {
  const lost = (by: "this call" | "another pod") => ({ kind: "lost", by }) as const;

  test.each<[string, MemoryContext["answers"]["deadLetter"], number]>([
    ["count a dead letter that is stored", [stored], 1],
    ["count one that is stored after it was refused", [refused, stored], 1],
    ["leave out a repeat that finds it stored", [duplicate], 0],
    ["count one whose first response was lost", [lost("this call"), duplicate], 1],
    ["leave out one that another pod stored meanwhile", [lost("another pod"), duplicate], 0],
  ])("%s", async (_sentence, answers, expected) => {
    const memory = memoryContext();
    memory.answers.deadLetter.push(...answers);
    const { end } = begin(memory, { kind: "dead", reason: "status_500" });
    await vi.waitFor(async () => {
      await advance(memory.clock, memory.clock.nextInMs ?? 0);
      expect(end.atMs).toBeDefined();
    });
    expect(await countersOf(memory)).toEqual({ deadLetters: expected, ended: expected });
  });

  test("leave out a repeat of one that ended unsent", async () => {
    const memory = memoryContext();
    const unsent = { delivery, partner, body: Buffer.from("{}"), before: [] };
    const reason = { reason: "backlog_full", detail: "full" } as const;
    memory.answers.deadLetter.push(stored, duplicate);
    await endUnsent(memory.context, unsent, reason);
    await endUnsent(memory.context, unsent, reason);
    expect(await countersOf(memory)).toEqual({ deadLetters: 1, ended: 1 });
  });
});

async function countersOf({ registry }: MemoryContext) {
  const sumOf = async (name: string): Promise<number> => {
    const metric = await registry.getSingleMetric(`heliograph_webhook_${name}`)?.get();
    return (metric?.values ?? []).reduce((sum, { value }) => sum + value, 0);
  };
  return { deadLetters: await sumOf("dead_letters_total"), ended: await sumOf("partner_deliveries_total") };
}
