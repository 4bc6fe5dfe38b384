import { describe, expect, test } from "vitest";
import type { PulledMessage } from "../../../../runtime/nats/messages/pulled-message.ts";
import { createInFlight, type HeldWork } from "../../../../runtime/webhooks/delivery/in-flight.ts";

function message(seq: number, said: string[]): PulledMessage {
  const say = (word: string) => (): void => void said.push(word);
  const identity = { subject: "s", seq, deliveryCount: 1, waiting: 0, storedAtMs: 0 };
  return {
    ...identity,
    headers: {},
    data: new Uint8Array(),
    isHeld: () => true,
    ack: say("ack"),
    working: say("working"),
    release: say("release"),
  };
}

const workOf =
  (sinceMs: number) =>
  (held: PulledMessage): HeldWork => ({ message: held, sinceMs });

describe("work in flight", () => {
  test("replaces the message at a redelivery and does not start twice", async () => {
    const inFlight = createInFlight(() => undefined);
    const [old, young]: [string[], string[]] = [[], []];
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    const run = async (work: HeldWork): Promise<void> => {
      begun += 1;
      await gate.promise;
      work.message.ack();
    };
    inFlight.take(message(7, old), workOf(0), run);
    inFlight.take(message(7, young), workOf(0), run);
    expect(inFlight.size).toBe(1);
    gate.resolve();
    await inFlight.idle(1_000);
    expect({ begun, old, young }).toEqual({ begun: 1, old: [], young: ["ack"] });
  });

  test("starts once when another worker receives the redelivery", async () => {
    const inWork = new Map<number, HeldWork>();
    const [retired, next] = [createInFlight(() => undefined, inWork), createInFlight(() => undefined, inWork)];
    const [old, young]: [string[], string[]] = [[], []];
    const gate = Promise.withResolvers<void>();
    retired.take(message(7, old), workOf(0), async (work) => {
      await gate.promise;
      work.message.ack();
    });
    next.take(message(7, young), workOf(0), () => Promise.reject(new Error("begun again")));
    expect([retired.size, next.size]).toEqual([1, 0]);
    gate.resolve();
    await retired.idle(1_000);
    expect({ old, young, left: inWork.size }).toEqual({ old: [], young: ["ack"], left: 0 });
  });

  test("extends the acknowledgement wait of long work only", () => {
    const inFlight = createInFlight(() => undefined);
    const [long, short]: [string[], string[]] = [[], []];
    const forever = (): Promise<void> => new Promise(() => undefined);
    inFlight.take(message(1, long), workOf(performance.now() - 500), forever);
    inFlight.take(message(2, short), workOf(performance.now()), forever);
    inFlight.keepAlive();
    expect({ long, short }).toEqual({ long: ["working"], short: [] });
  });

  test("that fails is reported and removed", async () => {
    const errors: unknown[] = [];
    const inFlight = createInFlight((error) => errors.push(error));
    inFlight.take(message(1, []), workOf(0), () => Promise.reject(new Error("no")));
    await inFlight.idle(1_000);
    expect(errors).toEqual([new Error("no")]);
    expect(inFlight.size).toBe(0);
  });

  test("is not waited for beyond the bound", async () => {
    const inFlight = createInFlight(() => undefined);
    inFlight.take(message(1, []), workOf(0), () => new Promise(() => undefined));
    await inFlight.idle(20);
    expect(inFlight.size).toBe(1);
  });
});
