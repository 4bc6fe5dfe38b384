import { describe, expect, test } from "vitest";
import {
  answerOnce,
  callbackKey,
  type CallbackAnswer,
  type CallbackRequest,
} from "../../../runtime/recipient/callbacks.ts";
import { createMemorySeenStore, type SeenStore } from "../../../runtime/recipient/seen-store.ts";
import { DeliveryRefusal } from "../../../runtime/recipient/receive.ts";

const key = callbackKey({ event_id: "evt_1" }, "refund");

function request(change: Partial<CallbackRequest> = {}): CallbackRequest {
  const body = Buffer.from('{"amount":1}');
  return { caller: "acme", method: "POST", target: "/refunds", headers: { "idempotency-key": key }, body, ...change };
}

/** An API that counts its refunds. */
function api(store: SeenStore<undefined> = createMemorySeenStore()) {
  const refunds: number[] = [];
  const refund = async (): Promise<CallbackAnswer> => ({ status: 201, body: { refund: refunds.push(1) } });
  const options = { store, handlerVersion: "v1" };
  return {
    refunds,
    options,
    call: (change?: Partial<CallbackRequest>) => answerOnce(request(change), options, refund),
  };
}

describe("a callback with an Idempotency-Key", () => {
  test("has its effect once; a repeat gets the stored answer (Webhook Event Delivery §5.5)", async () => {
    const { call, refunds } = api();
    const [first, second] = [await call(), await call()];
    expect(first).toEqual({
      status: 201,
      body: { refund: 1 },
      headers: { "X-Trace-Id": expect.any(String) as string },
    });
    expect(second).toMatchObject({ status: 201, body: { refund: 1 }, headers: { "Idempotency-Replayed": "true" } });
    expect(refunds).toEqual([1]);
  });

  test("has its effect once for many requests at the same time", async () => {
    const { options } = api();
    const gate = Promise.withResolvers<CallbackAnswer>();
    let effects = 0;
    const all = Array.from({ length: 20 }, () =>
      answerOnce(request(), options, () => {
        effects += 1;
        return gate.promise;
      }),
    );
    const others = await Promise.all(all.slice(1));
    expect(others).toEqual(
      others.map(() =>
        expect.objectContaining({
          status: 409,
          body: expect.objectContaining({ error: "idempotency_key_in_use" }) as object,
        }),
      ),
    );
    expect(others[0]?.headers).toMatchObject({ "Retry-After": "1" });
    gate.resolve({ status: 201 });
    expect(await all[0]).toMatchObject({ status: 201 });
    expect(effects).toBe(1);
  });

  test("gets the answer of a copy that finished while it waited in the store", async () => {
    const inner = createMemorySeenStore();
    const { call, refunds } = api(inner);
    let finds = 0;
    const late: SeenStore<undefined> = {
      find: async (id) => ((finds += 1) === 1 ? undefined : inner.find(id)),
      once: (...given) => inner.once(...given),
    };
    await call();
    expect(await api(late).call()).toMatchObject({ status: 201, headers: { "Idempotency-Replayed": "true" } });
    expect(refunds).toEqual([1]);
  });

  test.each([
    ["another caller", { caller: "other" }],
    ["another path", { target: "/credits" }],
    ["another method", { method: "PATCH" }],
    ["another key", { headers: { "idempotency-key": callbackKey({ event_id: "evt_1" }, "credit") } }],
  ])("meets no request of %s", async (_, change) => {
    const { call, refunds } = api();
    await call();
    expect(await call(change)).toMatchObject({ status: 201, body: { refund: 2 } });
    expect(refunds).toHaveLength(2);
  });

  test("refuses another body under the same key", async () => {
    const { call, refunds } = api();
    await call();
    const answer = await call({ body: Buffer.from('{"amount":2}') });
    expect(answer).toMatchObject({ status: 422, body: { error: "idempotency_key_reused" } });
    expect(refunds).toEqual([1]);
  });

  test.each([{}, { "idempotency-key": "" }, { "idempotency-key": "a b" }, { "idempotency-key": "x".repeat(256) }])(
    "refuses the headers %j",
    async (headers) => {
      const { call, refunds } = api();
      expect(await call({ headers })).toMatchObject({ status: 400, body: { error: "idempotency_key_invalid" } });
      expect(refunds).toEqual([]);
    },
  );

  test("may be repeated with its key when the effect throws", async () => {
    const { options, call } = api();
    const refusal = new DeliveryRefusal(503, "maintenance", "Come again", 5);
    expect(await answerOnce(request(), options, () => Promise.reject(refusal))).toMatchObject({
      status: 503,
      headers: { "Retry-After": "5" },
    });
    await expect(answerOnce(request(), options, () => Promise.reject(new Error("disk")))).rejects.toThrow("disk");
    expect(await call()).toMatchObject({ status: 201, body: { refund: 1 } });
  });

  test("has no effect when the answer is too long to keep", async () => {
    const { options } = api();
    const long = async (): Promise<CallbackAnswer> => ({ status: 200, body: { text: "x".repeat(65_536) } });
    await expect(answerOnce(request(), options, long)).rejects.toThrow(RangeError);
    expect(await answerOnce(request(), options, async () => ({ status: 204 }))).toMatchObject({ status: 204 });
  });

  test("shares the store of events without meeting them", async () => {
    const store = createMemorySeenStore();
    const { call } = api(store);
    await store.once(key, "v1", async () => undefined);
    expect(await call()).toMatchObject({ status: 201 });
  });

  test("is refused by a full store", async () => {
    expect(await api(createMemorySeenStore({ entriesMax: 0 })).call()).toMatchObject({ status: 503 });
  });
});

describe("the key of a callback", () => {
  test("is the same for each attempt of an event, and another for each purpose", () => {
    expect([key, callbackKey({ event_id: "evt_1" }, "refund")]).toEqual(["evt_1:refund", "evt_1:refund"]);
    expect(() => callbackKey({ event_id: "evt 1" }, "refund")).toThrow(RangeError);
  });
});
