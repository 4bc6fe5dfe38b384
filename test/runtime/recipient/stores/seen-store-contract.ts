import { expect, test } from "vitest";
import { answerOnce, callbackKey } from "../../../../runtime/recipient/callbacks.ts";
import type { RecipientAnswer } from "../../../../runtime/recipient/receive.ts";
import type { SeenStore } from "../../../../runtime/recipient/seen-store.ts";
import type { Claim } from "../../../../runtime/recipient/stores/claim.ts";
import { waitFor } from "../../../support/wait.ts";

const nothing = async (): Promise<void> => {};

/** Tests that hold for every store of seen events. `store` is called inside each test. */
export function testSeenStore<Transaction>(store: () => SeenStore<Transaction>): void {
  test("runs an effect once and then knows the event (Webhook Event Delivery §2.2, §6)", async () => {
    let effects = 0;
    const effect = async (): Promise<void> => {
      effects += 1;
    };
    const startedAtMs = Date.now();
    expect(await store().find("once")).toBeUndefined();
    expect(await store().once("once", "v1", effect)).toBe("processed");
    expect(await store().once("once", "v2", effect)).toBe("seen");
    const record = await store().find("once");
    expect(record).toEqual({ status: "ok", processedAtMs: expect.any(Number), handlerVersion: "v1" });
    // The clock of the database runs on this machine, and some keep whole milliseconds only.
    expect(record?.processedAtMs).toBeGreaterThanOrEqual(startedAtMs - 1);
    expect(record?.processedAtMs).toBeLessThanOrEqual(Date.now() + 1);
    expect(effects).toBe(1);
  });

  test("keeps a failure as an error, which the next attempt overwrites", async () => {
    await expect(store().once("failed", "v1", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await store().find("failed")).toMatchObject({ status: "error", handlerVersion: "v1" });
    await expect(store().once("failed", "v2", () => Promise.reject(new Error("again")))).rejects.toThrow("again");
    expect(await store().find("failed")).toMatchObject({ status: "error", handlerVersion: "v2" });
    expect(await store().once("failed", "v3", nothing)).toBe("processed");
    expect(await store().find("failed")).toMatchObject({ status: "ok", handlerVersion: "v3" });
    expect(await store().once("failed", "v4", nothing)).toBe("seen");
  });

  test("runs one of two copies that come together", async () => {
    const hasBegun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const first = store().once("copies", "v1", () => {
      hasBegun.resolve();
      return gate.promise;
    });
    await hasBegun.promise;
    expect(await store().once("copies", "v1", nothing)).toBe("busy");
    expect((await store().find("copies"))?.status).not.toBe("ok");
    expect(await store().once("another", "v1", nothing)).toBe("processed");
    gate.resolve();
    expect(await first).toBe("processed");
    expect(await store().once("copies", "v1", nothing)).toBe("seen");
  });

  test("gives one effect and one answer to many callbacks with one key (Webhook Event Delivery §5.5)", async () => {
    let effects = 0;
    const headers = { "idempotency-key": callbackKey({ event_id: "crowd" }, "refund") };
    const request = { caller: "acme", method: "POST", target: "/refunds", headers, body: Buffer.from("{}") };
    const call = (): Promise<RecipientAnswer> =>
      answerOnce(request, { store: store(), handlerVersion: "v1" }, async () => {
        effects += 1;
        return { status: 201, body: { refund: effects } };
      });
    const answers = await Promise.all(Array.from({ length: 12 }, call));
    expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
    expect(await call()).toMatchObject({
      status: 201,
      body: { refund: 1 },
      headers: { "Idempotency-Replayed": "true" },
    });
    expect(effects).toBe(1);
  });

  test("runs one of many copies that come together", async () => {
    let effects = 0;
    const copies = Array.from({ length: 8 }, () =>
      store().once("crowd", "v1", async () => {
        effects += 1;
      }),
    );
    const results = await Promise.all(copies);
    expect(results.filter((result) => result === "processed")).toHaveLength(1);
    expect(results.every((result) => ["processed", "seen", "busy"].includes(result))).toBe(true);
    expect(effects).toBe(1);
  });

  test("keeps the text that an effect returned, and not that of an earlier failure", async () => {
    expect(await store().once("outcome", "v1", async () => 'paid "17"\n€')).toBe("processed");
    expect(await store().find("outcome")).toMatchObject({ status: "ok", outcome: 'paid "17"\n€' });
  });

  test("takes event ids with any characters", async () => {
    const ids = ["a b", "a:b", "a.b", "ü/€", "*", ">", "a'b\"c%d", "x".repeat(200)];
    for (const id of ids) expect(await store().once(id, "v1", nothing)).toBe("processed");
    for (const id of ids) expect(await store().find(id)).toMatchObject({ status: "ok" });
  });
}

/** Tests that hold for every store that claims events, since it has no transactions. */
export function testClaims(open: (leaseSeconds: number) => Promise<SeenStore<Claim>>): void {
  test("gives each claim of an event a higher number, also after a failure", async () => {
    const store = await open(60);
    const numbers: number[] = [];
    const failing = ({ fencingToken }: Claim): Promise<void> => {
      numbers.push(fencingToken);
      return Promise.reject(new Error("no"));
    };
    for (let turn = 0; turn < 3; turn += 1) await expect(store.once("numbers", "v1", failing)).rejects.toThrow("no");
    expect(numbers).toHaveLength(3);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  });

  test("lets another copy run after the lease, and tells the slow one that it lost its claim", async () => {
    const store = await open(1);
    const gate = Promise.withResolvers<void>();
    const tokens: number[] = [];
    const slow = store.once("slow", "slow", ({ fencingToken }) => {
      tokens.push(fencingToken);
      return gate.promise;
    });
    const effect = async ({ fencingToken }: Claim): Promise<void> => void tokens.push(fencingToken);
    const again = async (): Promise<boolean> => (await store.once("slow", "fast", effect)) === "processed";
    await waitFor(again, { timeoutMs: 20_000, what: "the end of the lease" });
    gate.resolve();
    await expect(slow).rejects.toThrow(
      "The effect of idempotency:event:slow took longer than its claim held; raise leaseSeconds",
    );
    expect(tokens).toHaveLength(2);
    expect(tokens[1]).toBeGreaterThan(tokens[0] ?? Infinity);
    expect(await store.find("slow")).toMatchObject({ status: "ok", handlerVersion: "fast" });
  });

  test("refuses a lease of less than a second and one of more than an hour", async () => {
    for (const leaseSeconds of [0.5, 3_601, Number.NaN])
      await expect(open(leaseSeconds)).rejects.toThrow(`leaseSeconds is ${leaseSeconds}; give 1 to 3600 seconds`);
  });
}
