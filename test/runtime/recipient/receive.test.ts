import { describe, expect, test } from "vitest";
import { createMemorySeenStore, type SeenStore } from "../../../runtime/recipient/seen-store.ts";
import {
  DeliveryRefusal,
  receive,
  type DeliveryReport,
  type RecipientOptions,
} from "../../../runtime/recipient/receive.ts";
import type { DeliveredEvent } from "../../../runtime/recipient/verify-delivery.ts";
import { event, secret, sentAtMs, signedDelivery } from "./signed-delivery.ts";

interface Bench {
  readonly options: RecipientOptions<undefined>;
  readonly handled: DeliveredEvent[];
  readonly reports: DeliveryReport[];
}

function bench(change: Partial<RecipientOptions<undefined>> = {}): Bench {
  const handled: DeliveredEvent[] = [];
  const reports: DeliveryReport[] = [];
  const options: RecipientOptions<undefined> = {
    keys: () => [{ id: "k1", secret }],
    store: createMemorySeenStore({ now: () => sentAtMs }),
    handle: async (delivered) => void handled.push(delivered),
    handlerVersion: "v1",
    report: (report) => reports.push(report),
    now: () => sentAtMs,
    ...change,
  };
  return { options, handled, reports };
}

describe("receiving", () => {
  test("verifies, handles once, marks and then answers 200 (Webhook Event Delivery §3)", async () => {
    const { options, handled, reports } = bench();
    const answer = await receive(signedDelivery(), options);
    expect(answer).toEqual({
      status: 200,
      headers: { "X-Trace-Id": expect.stringMatching(/^[\da-f]{32}$/u) as string },
    });
    expect(handled).toEqual([event]);
    expect(await options.store.find("evt_1")).toMatchObject({ status: "ok", handlerVersion: "v1" });
    expect(reports).toMatchObject([{ outcome: "processed", status: 200, eventId: "evt_1", keyId: "k1" }]);
  });

  test("hands over the signed bytes, whose integers no parser has rounded", async () => {
    const bodies: string[] = [];
    const { options } = bench({
      handle: async (_event, _transaction, body) => void bodies.push(Buffer.from(body).toString()),
    });
    const delivery = signedDelivery(JSON.stringify(event).replace('"p-1"', "1180000000000000001"));
    await receive(delivery, options);
    expect(bodies.join()).toContain('"payout_id":1180000000000000001');
  });

  test("answers 200 to a repeat without a second effect (Webhook Event Delivery §6)", async () => {
    const { options, handled, reports } = bench();
    const statuses = [
      await receive(signedDelivery(), options),
      await receive(signedDelivery({ ...event, attempt: 2 }), options),
    ];
    expect(statuses.map(({ status }) => status)).toEqual([200, 200]);
    expect(handled).toHaveLength(1);
    expect(reports.map(({ outcome }) => outcome)).toEqual(["processed", "duplicate"]);
  });

  test("answers 401 outside the window, with no detail (Webhook Event Delivery §5, §7)", async () => {
    const { options, handled, reports } = bench({ now: () => sentAtMs + 300_001 });
    const answer = await receive(signedDelivery(), options);
    expect(answer.status).toBe(401);
    expect(answer.body).toEqual({
      error: "invalid_signature",
      error_description: "The signature or its timestamp is not valid",
      trace_id: answer.headers["X-Trace-Id"],
    });
    expect(handled).toEqual([]);
    expect(reports).toMatchObject([{ outcome: "unverified", fault: "timestamp_outside_window" }]);
  });

  test("returns 401 for a wrong signature in the same words (Webhook Event Delivery §7)", async () => {
    const { options, handled } = bench({ keys: () => [{ id: "k2", secret: Buffer.alloc(32) }] });
    const answer = await receive(signedDelivery(), options);
    expect(answer).toMatchObject({ status: 401, body: { error: "invalid_signature" } });
    expect(handled).toEqual([]);
  });

  test("answers 400 to a signed body that is no event", async () => {
    expect(await receive(signedDelivery("[]"), bench().options)).toMatchObject({
      status: 400,
      body: { error: "invalid_event" },
    });
  });

  test("sees a new key with the next delivery (Webhook Event Delivery §5)", async () => {
    const keys = [{ id: "old", secret: Buffer.alloc(32) }];
    const { options } = bench({ keys: () => keys });
    expect(await receive(signedDelivery(), options)).toMatchObject({ status: 401 });
    keys.unshift({ id: "new", secret });
    expect(await receive(signedDelivery(), options)).toMatchObject({ status: 200 });
  });

  test("answers 429 with Retry-After: 1 while a copy is under way", async () => {
    const gate = Promise.withResolvers<void>();
    const { options, reports } = bench({ handle: () => gate.promise });
    const first = receive(signedDelivery(), options);
    const second = await receive(signedDelivery(), options);
    expect(second).toMatchObject({ status: 429, headers: { "Retry-After": "1" }, body: { error: "in_progress" } });
    gate.resolve();
    expect(await first).toMatchObject({ status: 200 });
    expect(reports.map(({ outcome }) => outcome)).toEqual(["in_progress", "processed"]);
  });

  test("answers 503 when the store is full, without an effect", async () => {
    const { options, handled } = bench({ store: createMemorySeenStore({ entriesMax: 0 }) });
    expect(await receive(signedDelivery(), options)).toMatchObject({ status: 503, headers: { "Retry-After": "60" } });
    expect(handled).toEqual([]);
  });

  test("answers what the handler refuses with, in the seed's shape (Webhook Event Delivery §2.4)", async () => {
    const refusal = new DeliveryRefusal(422, "invalid_state", "The payout is closed");
    const { options, reports } = bench({ handle: () => Promise.reject(refusal) });
    const answer = await receive(signedDelivery(), options);
    expect(answer).toMatchObject({
      status: 422,
      body: { error: "invalid_state", error_description: "The payout is closed" },
    });
    expect(reports).toMatchObject([{ outcome: "refused", error: refusal }]);
    expect(await options.store.find("evt_1")).toMatchObject({ status: "error" });
  });

  test("answers 500 to a failure without its words, and takes the next attempt", async () => {
    const failing = { isBroken: true };
    const { options, reports } = bench({
      handle: () => (failing.isBroken ? Promise.reject(new Error("db password")) : Promise.resolve()),
    });
    const answer = await receive(signedDelivery(), options);
    expect(answer).toMatchObject({ status: 500, body: { error: "internal_error" } });
    expect(JSON.stringify(answer)).not.toContain("db password");
    failing.isBroken = false;
    expect(await receive(signedDelivery({ ...event, attempt: 2 }), options)).toMatchObject({ status: 200 });
    expect(reports.map(({ outcome }) => outcome)).toEqual(["failed", "processed"]);
  });

  test("answers 500 when the mark is not kept (Webhook Event Delivery §7)", async () => {
    const store: SeenStore<undefined> = {
      find: async () => undefined,
      once: async (_id, _version, effect) => {
        await effect(undefined);
        throw new Error("commit failed");
      },
    };
    expect(await receive(signedDelivery(), bench({ store }).options)).toMatchObject({ status: 500 });
  });

  test("stays in the trace of the sender", async () => {
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const traced = signedDelivery(event, { traceparent: `00-${traceId}-00f067aa0ba902b7-01` });
    expect((await receive(traced, bench().options)).headers).toEqual({ "X-Trace-Id": traceId });
    const invalid = signedDelivery(event, { traceparent: `00-${"0".repeat(32)}-00f067aa0ba902b7-01` });
    expect((await receive(invalid, bench().options)).headers["X-Trace-Id"]).not.toBe("0".repeat(32));
  });
});
