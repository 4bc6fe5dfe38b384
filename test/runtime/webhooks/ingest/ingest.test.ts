import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import type { EventsStream, EventToStore } from "../../../../runtime/nats/streams/events-stream.ts";
import type { PublishResult } from "../../../../runtime/nats/messages/publish.ts";
import { NoReplyError } from "../../../../runtime/nats/connection/requests.ts";
import { createDeliveryMetrics } from "../../../../runtime/webhooks/telemetry/delivery-metrics.ts";
import { createDeliverySpans } from "../../../../runtime/webhooks/telemetry/delivery-spans.ts";
import { createIngest, type Ingest } from "../../../../runtime/webhooks/ingest/ingest.ts";
import { eventBytes, testSettings } from "../engine-fixture.ts";
import { stallMsMax } from "../../../support/wait.ts";

const stored: PublishResult = { kind: "stored", seq: 1 };
const unanswered = new NoReplyError("hg.evt", "timeout");
const giveUpAfterMs = 400;
const everyone = { tenants: ["*"] };

interface Script {
  /** The results of the store in order; the last one repeats. */
  readonly store: (event: EventToStore, tries: number) => Promise<PublishResult>;
  /** Headers of the event that is stored under the id. */
  readonly known?: Readonly<Record<string, string>>;
  /** Tenant of the event with the id. @default acme */
  readonly holder?: string;
  /** Number of reads before the event with the id is found. @default 0 */
  readonly unread?: number;
  readonly isConnected?: boolean;
  /** @default 400 */
  readonly giveUpAfterMs?: number;
}

/** An ingest over a scripted stream, for results that a real server returns only by accident. */
function scripted({ store, known = {}, holder = "acme", unread = 0, isConnected = true, ...rest }: Script): {
  readonly ingest: Ingest;
  readonly nonces: string[];
} {
  const nonces: string[] = [];
  let reads = 0;
  const events: Pick<EventsStream, "store" | "read" | "readOfAny"> = {
    store: (event) => {
      nonces.push(event.headers["Hg-Nonce"] ?? "");
      return store(event, nonces.length);
    },
    read: (tenant, idhash) => (tenant === holder ? events.readOfAny(idhash) : Promise.resolve(undefined)),
    readOfAny: (idhash) => {
      reads += 1;
      if (reads <= unread) return Promise.resolve(undefined);
      const headers = { "Hg-Event": "e-1", "Hg-Type": "payout.processed", ...known };
      const subject = `hg.evt.${holder}.${idhash}`;
      return Promise.resolve({ subject, seq: 1, storedAtMs: 0, headers, data: eventBytes("e-1") });
    },
  };
  let count = 0;
  const ingest = createIngest({
    events: events as EventsStream,
    personalData: testSettings.personalData,
    isConnected: () => isConnected,
    nonce: () => `n.${(count += 1)}`,
    metrics: createDeliveryMetrics(new Registry()),
    spans: createDeliverySpans(undefined),
    giveUpAfterMs: rest.giveUpAfterMs ?? giveUpAfterMs,
  });
  return { ingest, nonces };
}

const refusal = (ingest: Ingest, bytes = eventBytes("e-1")): Promise<unknown> =>
  ingest(bytes, everyone).catch((error: unknown) => error);

describe("an event without a response of the store", () => {
  test("is stored again with the same nonce, and is not a duplicate of itself", async () => {
    const { ingest, nonces } = scripted({
      store: (_event, tries) => (tries === 1 ? Promise.reject(unanswered) : Promise.resolve({ kind: "unexpected" })),
      known: { "Hg-Nonce": "n.1" },
    });
    expect(await ingest(eventBytes("e-1"), everyone)).toEqual({ eventId: "e-1", tenant: "acme", duplicate: false });
    expect(nonces).toEqual(["n.1", "n.1"]);
  });

  test("is a duplicate when another request stored it", async () => {
    const { ingest } = scripted({
      store: () => Promise.resolve({ kind: "unexpected" }),
      known: { "Hg-Nonce": "other.7" },
    });
    expect(await ingest(eventBytes("e-1"), everyone)).toMatchObject({ duplicate: true });
  });

  test("is read again while the event with its id is being replicated", async () => {
    const { ingest, nonces } = scripted({ store: () => Promise.resolve({ kind: "unexpected" }), unread: 3 });
    expect(await ingest(eventBytes("e-1"), everyone)).toMatchObject({ duplicate: true });
    expect(nonces.length).toBeGreaterThan(1);
  });

  test("is refused with 503 when the event with its id is not found", async () => {
    const { ingest } = scripted({
      store: () => Promise.resolve({ kind: "unexpected" }),
      unread: Number.POSITIVE_INFINITY,
    });
    expect(await refusal(ingest)).toMatchObject({ code: "events_unavailable", retryAfterSeconds: 1 });
  });

  test("is rejected when another tenant has its id, also with equal bytes", async () => {
    const { ingest } = scripted({ store: () => Promise.resolve({ kind: "unexpected" }), holder: "zeta" });
    const refused = await refusal(ingest);
    expect(refused).toMatchObject({ code: "event_id_reused", errors: [{ field: "event_id" }] });
    expect((refused as Error).message).not.toContain("zeta");
  });

  test("is refused with 503 within the time limit", async () => {
    const { ingest, nonces } = scripted({ store: () => Promise.reject(unanswered) });
    const startedAt = performance.now();
    expect(await refusal(ingest)).toMatchObject({
      code: "events_unavailable",
      retryAfterSeconds: 1,
      cause: unanswered,
    });
    expect(performance.now() - startedAt).toBeLessThan(giveUpAfterMs + stallMsMax);
    expect(nonces.length).toBeGreaterThan(2);
  });
});

describe("events that wait for the store", () => {
  test("are refused without a connection", async () => {
    const { ingest, nonces } = scripted({ store: () => Promise.resolve(stored), isConnected: false });
    expect(await refusal(ingest)).toMatchObject({ code: "events_unavailable" });
    expect(nonces).toEqual([]);
  });

  test("are limited in number", async () => {
    const gate = Promise.withResolvers<PublishResult>();
    const { ingest } = scripted({ store: () => gate.promise });
    const under = Array.from({ length: 2_048 }, () => ingest(eventBytes("e-1"), everyone));
    expect(await refusal(ingest)).toMatchObject({ code: "events_unavailable", message: "Too many concurrent events" });
    gate.resolve(stored);
    expect(await Promise.all(under)).toHaveLength(2_048);
    expect(await ingest(eventBytes("e-1"), everyone)).toMatchObject({ duplicate: false });
  });

  test("are limited in bytes", async () => {
    const gate = Promise.withResolvers<PublishResult>();
    const { ingest } = scripted({ store: () => gate.promise });
    const large = eventBytes("e-1", { data: { pad: "x".repeat(250_000) } });
    const under = Array.from({ length: 268 }, () => ingest(large, everyone));
    expect(await refusal(ingest, large)).toMatchObject({ message: "Too many concurrent events" });
    gate.resolve(stored);
    expect(await Promise.all(under)).toHaveLength(268);
  });

  test("are one probe while the store does not answer; all others are refused at once", async () => {
    let isSilent = true;
    const { ingest, nonces } = scripted({
      store: () => (isSilent ? Promise.reject(unanswered) : Promise.resolve(stored)),
      // Longer than a busy machine takes for a hundred refusals.
      giveUpAfterMs: 2_500,
    });
    await refusal(ingest);
    const probe = refusal(ingest);
    const others = await Promise.all(Array.from({ length: 100 }, () => refusal(ingest)));
    // The store got the first event and the probe.
    expect(new Set(nonces).size).toBe(2);
    expect(others[0]).toMatchObject({ code: "events_unavailable" });
    isSilent = false;
    expect(await probe).toMatchObject({ duplicate: false });
    const answers = await Promise.all([1, 2, 3].map(() => ingest(eventBytes("e-1"), everyone)));
    expect(answers).toHaveLength(3);
  });
});
