import { createServer } from "node:http";
import { request } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { createMemorySeenStore } from "../../../runtime/recipient/seen-store.ts";
import { deliveryBytesMax, type EndpointOptions } from "../../../runtime/recipient/endpoints.ts";
import { createRecipient } from "../../../runtime/recipient/recipient.ts";
import type { DeliveredEvent } from "../../../runtime/recipient/verify-delivery.ts";
import { deliveryHeaders, spliceAttempt } from "../../../runtime/webhooks/signing/signed-request.ts";
import type { AttemptOutcome } from "../../../runtime/webhooks/settlement/outcome.ts";
import { createSender } from "../../../runtime/webhooks/sending/send.ts";
import { listenOnLoopback } from "../../support/loopback.ts";
import { secret } from "./signed-delivery.ts";

const closers: (() => Promise<void>)[] = [];
const stored = Buffer.from(
  '{ "event_id": "evt/1", "type": "payout.processed", "version": "2026-01-01", "ts": "2026-01-02T03:04:05.678Z" }',
);

afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

/** A recipient on a port of its own, and what it handled. */
async function startRecipient(
  handle?: () => Promise<void>,
  mayReadStatus: EndpointOptions<undefined>["mayReadStatus"] = () => true,
): Promise<{ readonly url: string; readonly handled: DeliveredEvent[] }> {
  const handled: DeliveredEvent[] = [];
  const recipient = createRecipient({
    keys: () => [
      { id: "old", secret: Buffer.alloc(32) },
      { id: "new", secret },
    ],
    store: createMemorySeenStore(),
    handle: handle ?? (async (event) => void handled.push(event)),
    handlerVersion: "1.0.0",
    mayReadStatus,
  });
  const server = await listenOnLoopback(createServer(recipient));
  closers.push(() => server.close());
  return { url: `http://127.0.0.1:${server.port}`, handled };
}

/** One attempt, signed and sent as the product does it. */
async function deliver(address: string, attempt: number, key: Uint8Array = secret): Promise<AttemptOutcome> {
  const sender = createSender();
  closers.push(() => sender.close());
  const url = new URL(address);
  const body = spliceAttempt(stored, attempt);
  const headers = deliveryHeaders("HmacV1", {
    keys: [{ algorithm: "hmac-sha256", secret: key }],
    url,
    body,
    eventId: "evt/1",
    attempt,
    producer: "payments",
    sentAtMs: Date.now(),
    version: "0.0.0",
    endpointHeaders: {},
  });
  const networks = { allowCidrs: ["127.0.0.1/32"], allowPlaintext: true };
  return await sender.send({ url, headers, body, timeoutMs: 5_000, networks });
}

async function get(url: string): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await request(url);
  return { status: response.statusCode, body: await response.body.json() };
}

describe("a recipient behind a real sender", () => {
  test("takes an event once, however often it comes (Webhook Event Delivery §1, §6)", async () => {
    const { url, handled } = await startRecipient();
    const first = await deliver(`${url}/webhooks/v1/payout`, 1);
    const second = await deliver(`${url}/webhooks/v1/payout`, 2);
    expect([first, second]).toMatchObject([{ status: 200 }, { status: 200 }]);
    expect(handled).toMatchObject([{ event_id: "evt/1", attempt: 1 }]);
  });

  test("refuses what another key signed", async () => {
    const { url, handled } = await startRecipient();
    const outcome = await deliver(`${url}/webhooks/v1/payout`, 1, Buffer.alloc(32, 9));
    expect(outcome).toMatchObject({ status: 401, headers: { "x-trace-id": expect.any(String) as string } });
    expect(handled).toEqual([]);
  });

  test("takes a delivery on a path with escapes", async () => {
    const { url } = await startRecipient();
    expect(await deliver(`${url}/webhooks/v1/päy%20out`, 1)).toMatchObject({ status: 200 });
  });
});

describe("a recipient over HTTP", () => {
  test("returns the status of an event (Webhook Event Delivery §2.3, §4.3)", async () => {
    const { url } = await startRecipient();
    expect(await get(`${url}/webhooks/status/evt%2F1`)).toEqual({ status: 200, body: { seen: false } });
    await deliver(`${url}/webhooks/v1/payout`, 1);
    const { body } = await get(`${url}/webhooks/status/evt%2F1`);
    expect(body).toEqual({
      seen: true,
      processed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/u) as string,
      handler_version: "1.0.0",
    });
  });

  test("does not call an event seen whose processing failed (Webhook Event Delivery §2.2)", async () => {
    const { url } = await startRecipient(() => Promise.reject(new Error("no")));
    expect(await deliver(`${url}/webhooks/v1/payout`, 1)).toMatchObject({ status: 500 });
    expect(await get(`${url}/webhooks/status/evt%2F1`)).toMatchObject({
      status: 200,
      body: { seen: false, handler_version: "1.0.0" },
    });
  });

  test.each([
    ["another path", "GET", "/other", 404, "not_found"],
    ["a status that is not read", "DELETE", "/webhooks/status/e1", 405, "method_not_allowed"],
    ["an id that is not well escaped", "GET", "/webhooks/status/%ff", 400, "invalid_event_id"],
    ["an unsigned delivery", "POST", "/webhooks/v1/payout", 401, "invalid_signature"],
  ] as const)(
    "answers %s in the seed's error shape (Webhook Event Delivery §2.4)",
    async (_, method, path, status, error) => {
      const { url } = await startRecipient();
      const response = await request(url + path, { method });
      const body: unknown = await response.body.json();
      expect([response.statusCode, response.headers["content-type"]]).toEqual([status, "application/json"]);
      expect(body).toEqual({
        error,
        error_description: expect.any(String) as string,
        trace_id: response.headers["x-trace-id"],
      });
    },
  );

  test("reads a body no further than its bound", async () => {
    const { url, handled } = await startRecipient();
    const body = Buffer.alloc(deliveryBytesMax + 1, "x");
    const response = await request(`${url}/webhooks/v1/payout`, { method: "POST", body });
    expect(response.statusCode).toBe(413);
    expect(await response.body.json()).toMatchObject({ error: "body_too_large" });
    expect(handled).toEqual([]);
  });
});
