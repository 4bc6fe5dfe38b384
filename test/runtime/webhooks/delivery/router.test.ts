import { describe, expect, test } from "vitest";
import { deliveryMessage } from "../../../../runtime/webhooks/records/delivery-record.ts";
import { deliveryId } from "../../../../runtime/webhooks/ids.ts";
import type { Partner } from "../../../../runtime/webhooks/partners/partner.ts";
import { createRouter, type Router } from "../../../../runtime/webhooks/delivery/router.ts";
import { createRoutingTable } from "../../../../runtime/webhooks/partners/routing-table.ts";
import {
  advance,
  compiled,
  duplicate,
  firstAttempt,
  memoryContext,
  pulled,
  quiet,
  refused,
  storedAs,
  unexpected,
  type MemoryContext,
} from "../memory-context.ts";

const [one, two] = [compiled("one"), compiled("two")] as const;
const idOf = ({ config }: Partner): string => deliveryId("acme", "e-1", config.uid);
const event = { subject: "t.evt.acme.hash", headers: { "Hg-Event": "e-1", "Hg-Type": "payout.processed" } };

/** A router that has begun to pull and has routed enough to believe what the server counts. */
async function started(memory: MemoryContext, partners: readonly Partner[]): Promise<Router> {
  const router = createRouter(memory.context);
  router.use(createRoutingTable([]));
  await router.start();
  // Everything is looked up until more than can be in flight has left no trace.
  for (let seq = 1_000; seq <= 1_256; seq += 1) memory.pulls[0]?.onMessage(pulled([], event, 1, seq));
  await quiet();
  router.use(createRoutingTable(partners));
  memory.done.length = 0;
  return router;
}

async function route(memory: MemoryContext, deliveryCount = 1): Promise<void> {
  memory.pulls[0]?.onMessage(pulled(memory.done, event, deliveryCount));
  await quiet();
}

/** A live message of the delivery to a partner. */
function liveOf(partner: Partner) {
  const delivery = firstAttempt(partner.key, idOf(partner));
  return storedAs(deliveryMessage(delivery, "x", Buffer.from("")));
}

describe("an event", () => {
  test("becomes one delivery for each partner and is acknowledged after the last", async () => {
    const memory = memoryContext();
    await started(memory, [one, two]);
    await route(memory);
    expect(memory.done).toEqual([`first ${idOf(one)}:0:1:0: stored`, `first ${idOf(two)}:0:1:0: stored`, "ack 5"]);
  });

  test("without a subscriber leaves a note and no delivery", async () => {
    const memory = memoryContext();
    await started(memory, []);
    await route(memory);
    expect(memory.done).toEqual(["record routed", "ack 5"]);
  });

  test("whose delivery is refused is stored again after growing pauses, and acknowledged only then", async () => {
    const memory = memoryContext();
    await started(memory, [one]);
    memory.answers.publishFirst.push(refused, refused, refused);
    await route(memory);
    const tries = (): number => memory.done.filter((line) => line.endsWith("refused")).length;
    for (const [pauseMs, before] of [
      [50, 1],
      [100, 2],
      [200, 3],
    ] as const) {
      await advance(memory.clock, pauseMs - 1);
      expect([tries(), memory.done.includes("ack 5")]).toEqual([before, false]);
      await advance(memory.clock, 1);
    }
    expect(memory.done.slice(-2)).toEqual([`first ${idOf(one)}:0:1:0: stored`, "ack 5"]);
  });

  test("whose delivery is stored is not stored again", async () => {
    const memory = memoryContext();
    await started(memory, [one]);
    memory.answers.publishFirst.push(unexpected);
    memory.past.live = [liveOf(one)];
    await route(memory);
    expect(memory.done).toEqual([`first ${idOf(one)}:0:1:0: unexpected`, "ack 5"]);
  });

  test("whose delivery id was used by a lost message gets the next id", async () => {
    const memory = memoryContext();
    await started(memory, [one]);
    memory.answers.publishFirst.push(duplicate);
    await route(memory);
    expect(memory.done).toEqual([`first ${idOf(one)}:0:1:0: duplicate`, `first ${idOf(one)}:0:1:1: stored`, "ack 5"]);
  });

  test("that is redelivered is looked up first", async () => {
    const memory = memoryContext();
    await started(memory, [one]);
    memory.past.live = [liveOf(one)];
    await route(memory, 2);
    expect(memory.done).toEqual(["ack 5"]);
  });

  test("is not acknowledged when the process ends while its delivery is refused", async () => {
    const memory = memoryContext();
    const router = await started(memory, [one]);
    memory.answers.publishFirst.push(refused);
    await route(memory);
    memory.ending.abort(new Error("ends"));
    await quiet();
    await router.stop(0);
    expect(memory.done).toEqual([`first ${idOf(one)}:0:1:0: refused`]);
    expect(memory.clock.waiting).toBe(0);
  });

  test("that takes long has its acknowledgement wait extended", async () => {
    const memory = memoryContext();
    const router = await started(memory, [one]);
    memory.answers.publishFirst.push(...Array.from({ length: 9 }, () => refused));
    await route(memory);
    router.keepAlive();
    expect(memory.done).not.toContain("working 5");
    await advance(memory.clock, 251);
    router.keepAlive();
    expect(memory.done).toContain("working 5");
  });
});

test("a held router requests no messages and requests them at once after the hold", async () => {
  const memory = memoryContext();
  const router = await started(memory, [one]);
  const [pull] = memory.pulls;
  expect(pull?.credit()).toBe(128);
  router.hold(true);
  expect([pull?.credit(), pull?.topUps]).toEqual([0, 1]);
  router.hold(false);
  expect([pull?.credit(), pull?.topUps]).toEqual([128, 2]);
  await router.stop(0);
  expect(memory.running()).toEqual([]);
});
