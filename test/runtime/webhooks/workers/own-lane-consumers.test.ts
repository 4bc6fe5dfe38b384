import { describe, expect, test } from "vitest";
import type { DeliveriesStream, LaneState } from "../../../../runtime/nats/streams/deliveries-stream.ts";
import { OwnLaneConsumers } from "../../../../runtime/webhooks/workers/own-lane-consumers.ts";
import { compiled } from "../memory-context.ts";

const partner = compiled("one", {});

/** Consumers whose requests to JetStream end when the test says so. */
function consumersOf() {
  const state = Promise.withResolvers<LaneState | undefined>();
  const created = Promise.withResolvers<void>();
  const deliveries = {
    laneState: () => state.promise,
    ensureConsumer: () => created.promise,
  } as unknown as DeliveriesStream;
  const consumers = new OwnLaneConsumers(
    { deliveries },
    () => true,
    () => 0,
  );
  return { state, created, consumers };
}

describe("the consumer of retries", () => {
  test.each<[string, (consumers: OwnLaneConsumers) => void]>([
    ["before it was created", () => undefined],
    ["before it was created, after a stall", (consumers) => consumers.discard(true)],
  ])("is pulled although a look-up %s found none", async (_, meanwhile) => {
    const { state, created, consumers } = consumersOf();
    const looked = consumers.findRetries(partner);
    const creating = consumers.createRetries(partner);
    meanwhile(consumers);
    state.resolve(undefined);
    await looked;
    created.resolve();
    expect([await creating, consumers.queues]).toEqual([true, ["first", "retry"]]);
    await consumers.findRetries(partner);
    expect(consumers.queues).toEqual(["first", "retry"]);
  });

  test("is pulled although such a look-up ends after its creation", async () => {
    const { state, created, consumers } = consumersOf();
    const looked = consumers.findRetries(partner);
    const creating = consumers.createRetries(partner);
    created.resolve();
    await creating;
    state.resolve(undefined);
    await looked;
    expect(consumers.queues).toEqual(["first", "retry"]);
  });
});
