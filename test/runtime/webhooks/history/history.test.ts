import { describe, expect, test } from "vitest";
import type { StoredMessage } from "../../../../runtime/nats/messages/stored-messages.ts";
import type { AttemptRecord, RecordedOutcome } from "../../../../runtime/webhooks/records/attempt-records.ts";
import { standingsOf } from "../../../../runtime/webhooks/history/history.ts";
import { deliveryHistories, type Waiting } from "../../../../runtime/webhooks/history/delivery-histories.ts";
import type { Settlement } from "../../../../runtime/webhooks/settlement/settle.ts";

const refused: RecordedOutcome = { kind: "failure", reason: "connect", detail: "ECONNREFUSED 192.0.2.1:443" };
const answered = (status: number): RecordedOutcome => ({
  kind: "response",
  status,
  headers: { "x-trace-id": "t-1" },
  body: "text",
  bodyTruncated: true,
});
const nowMs = Date.UTC(2026, 0, 1, 1);
const unnoted = { handled: [], denied: [], nowMs };
const retry: Settlement = { kind: "retry", atMs: Date.UTC(2026, 0, 2), reason: "status_503" };

function record(attempt: number, settlement: Settlement, fields: Partial<AttemptRecord> = {}): AttemptRecord {
  return {
    did: "did-1",
    generation: 0,
    attempt,
    hop: 0,
    eventId: "e-1",
    tenant: "acme",
    partner: { uid: "u", namespace: "shop", name: "one" },
    number: attempt,
    at: `2026-01-01T00:00:0${attempt}.000Z`,
    durationMs: 12,
    timings: { totalMs: 12 },
    outcome: answered(503),
    settlement,
    pod: "pod-1",
    ...fields,
  };
}

describe("the history of a delivery", () => {
  test.each([
    [
      "whose partner has not been asked yet",
      [],
      ["shop/one"],
      { state: "in_delivery", reason: null, next_attempt_at: null },
    ],
    [
      "that waits for a retry",
      [record(1, retry)],
      [],
      { state: "in_delivery", reason: "status_503", next_attempt_at: "2026-01-02T00:00:00.000Z" },
    ],
    [
      "that succeeded at last",
      [record(1, retry), record(2, { kind: "delivered" })],
      [],
      { state: "delivered", reason: null },
    ],
    [
      "that was refused",
      [record(1, { kind: "rejected", reason: "status_404" })],
      [],
      { state: "rejected", reason: "status_404" },
    ],
    [
      "that was answered 410",
      [record(1, { kind: "disabled", reason: "status_410" })],
      [],
      { state: "rejected", reason: "status_410" },
    ],
    [
      "that was given up",
      [record(1, retry), record(2, { kind: "dead", reason: "status_500" })],
      [],
      { state: "dead", reason: "status_500" },
    ],
    [
      "that is replayed after it was dead",
      [record(1, { kind: "dead", reason: "status_500" }), record(1, retry, { generation: 1, number: 2 })],
      [],
      { state: "in_delivery" },
    ],
    [
      "that two pods attempted, of which one succeeded",
      [record(1, { kind: "delivered" }), record(1, retry, { pod: "pod-2", at: "2026-01-01T00:00:09.000Z" })],
      [],
      { state: "delivered" },
    ],
  ] as const)("%s", (_sentence, attempts, waiting, expected) => {
    const histories = deliveryHistories(attempts, new Map(waiting.map((label) => [label, { generation: 0 }])), unnoted);
    expect(histories).toHaveLength(1);
    expect(histories[0]).toMatchObject({ partner: "shop/one", ...expected });
  });

  test("lists attempts by generation and number, for every order in the stream", () => {
    const attempts = [record(1, retry, { generation: 1, number: 3 }), record(2, retry), record(1, retry)];
    expect(deliveryHistories(attempts, new Map(), unnoted)[0]?.attempts.map(({ attempt }) => attempt)).toEqual([
      1, 2, 3,
    ]);
  });

  test("shows the outcome of an attempt", () => {
    const timings = { dnsMs: 1, connectMs: 2.31, firstByteMs: 4, totalMs: 12 };
    const warnings = ["x-note: folded over several lines"];
    const attempts = [record(1, retry, { outcome: refused }), record(2, retry, { timings, warnings })];
    const none = { dns: null, connect: null, tls: null, first_byte: null };
    expect(deliveryHistories(attempts, new Map(), unnoted)[0]?.attempts).toEqual([
      {
        attempt: 1,
        at: "2026-01-01T00:00:01.000Z",
        status: null,
        duration_ms: 12,
        phases_ms: none,
        error: { reason: "connect", detail: "ECONNREFUSED 192.0.2.1:443" },
        response: null,
        replay_id: null,
        settlement: { kind: "retry", at: "2026-01-02T00:00:00.000Z" },
        signed: null,
        pod: "pod-1",
      },
      {
        attempt: 2,
        at: "2026-01-01T00:00:02.000Z",
        status: 503,
        duration_ms: 12,
        phases_ms: { dns: 1, connect: 2.3, tls: null, first_byte: 4 },
        error: null,
        response: { headers: { "x-trace-id": "t-1" }, body: "text", body_truncated: true },
        warnings: ["x-note: folded over several lines"],
        replay_id: null,
        settlement: { kind: "retry", at: "2026-01-02T00:00:00.000Z" },
        signed: null,
        pod: "pod-1",
      },
    ]);
  });

  test.each([
    ["waits for a replay that was not attempted yet", 1, [], { state: "in_delivery", reason: null, handled: null }],
    ["stays what it was while its last message is still there", 0, [], { state: "dead", handled: null }],
    ["was handled by hand", undefined, [0], { state: "delivered", reason: null, handled: "manual" }],
    ["was handled in a generation before", undefined, [-1], { state: "dead", handled: null }],
  ])("%s", (_sentence, waiting, handled, expected) => {
    const notes = handled.map(
      (generation) =>
        ({ kind: "handled", did: "did-1", generation, at: "2026-01-02T00:00:00.000Z", by: "support" }) as const,
    );
    const attempts = [record(1, { kind: "dead", reason: "status_503" })];
    const live: Waiting = new Map(waiting === undefined ? [] : [["shop/one", { generation: waiting }]]);
    expect(deliveryHistories(attempts, live, { ...unnoted, handled: notes })).toMatchObject([expected]);
  });

  test.each([
    [true, "support", { at: "2026-01-02T00:00:00.000Z", by: "support", note: "booked by hand" }],
    [true, "", { at: "2026-01-02T00:00:00.000Z", by: null, note: "booked by hand" }],
    [false, "support", { at: "2026-01-02T00:00:00.000Z", by: null, note: "booked by hand" }],
  ])("has its acknowledgement, with its client if %s: %s", (showsClients, by, acknowledged) => {
    const base = { kind: "handled", did: "did-1", generation: 0, at: "2026-01-02T00:00:00.000Z" } as const;
    const attempts = [record(1, { kind: "dead", reason: "status_503" })];
    const notes = { ...unnoted, showsClients, handled: [{ ...base, by, note: "booked by hand" }] };
    expect(deliveryHistories(attempts, new Map(), notes)).toMatchObject([{ acknowledged }]);
    expect(deliveryHistories(attempts, new Map(), unnoted)[0]).not.toHaveProperty("acknowledged");
  });

  test.each<[string, readonly AttemptRecord[], Waiting, readonly string[], object]>([
    [
      "that was never attempted to a partner that is held",
      [],
      new Map([["shop/one", { generation: 0, held: "unresolved" }]]),
      [],
      { state: "held", reason: "unresolved" },
    ],
    [
      "that failed before its partner was held",
      [record(1, retry)],
      new Map([["shop/one", { generation: 0, held: "conflicted" }]]),
      [],
      { state: "held", reason: "conflicted" },
    ],
    [
      "that ended before its partner was held",
      [record(1, { kind: "delivered" })],
      new Map([["shop/one", { generation: 0, held: "unresolved" }]]),
      [],
      { state: "delivered" },
    ],
    ["that a withdrawn right prevented", [], new Map(), ["shop/one"], { state: "not_routed", reason: "not_permitted" }],
    [
      "that was replayed after its right was given back",
      [record(1, { kind: "delivered" }, { generation: 1 })],
      new Map(),
      ["shop/one"],
      { state: "delivered" },
    ],
    [
      "whose retry is overdue",
      [record(1, { ...retry, atMs: nowMs })],
      new Map(),
      [],
      { state: "in_delivery", reason: "status_503" },
    ],
  ])("%s says so, and promises no time", (_sentence, attempts, waiting, unrouted, expected) => {
    const found = deliveryHistories(attempts, waiting, { ...unnoted, denied: unrouted });
    expect(found).toMatchObject([{ partner: "shop/one", next_attempt_at: null, ...expected }]);
  });

  test("shows the routing of an event without partners, by its first note", () => {
    const note = (at: string, routedBy?: string) =>
      ({
        data: Buffer.from(JSON.stringify({ kind: "routed", at, deliveries: 0, refused: [], routedBy })),
      }) as unknown as StoredMessage;
    const at = "2026-01-01T00:00:01.000Z";
    const stored = [note(at, "c=0f"), note("2026-01-01T00:00:02.000Z", "c=ff")];
    const by = { configuration: "0f" };
    expect(standingsOf(stored, new Map(), nowMs)).toEqual({ routed_at: at, routed_by: by, deliveries: [] });
    expect(standingsOf([note(at)], new Map(), nowMs)).toEqual({ routed_at: at, routed_by: null, deliveries: [] });
    expect(standingsOf([], new Map(), nowMs)).toEqual({ routed_at: null, routed_by: null, deliveries: [] });
    const narrowed = standingsOf(stored, new Map(), nowMs, { partners: ["shop/one"] });
    expect(narrowed).toMatchObject({ routed_at: null, routed_by: null });
  });

  test("shows the configuration of the first routing, from an attempt or from the live message", () => {
    const by = (attempts: readonly AttemptRecord[], routedBy?: string) =>
      deliveryHistories(
        attempts,
        new Map([["shop/one", { generation: 0, ...(routedBy && { routedBy }) }]]),
        unnoted,
      ).map(({ routed_by: found }) => found);
    expect(by([], "c=0a;g=3;e=later")).toEqual([{ configuration: "0a", generation: 3 }]);
    // The second attempt is of a pod of an earlier version, and the third of a repeated routing.
    const made = [
      record(1, retry, { routedBy: "c=0b;g=4" }),
      record(2, retry),
      record(3, retry, { routedBy: "c=0c;g=5" }),
    ];
    expect(by(made, "c=0c;g=5")).toEqual([{ configuration: "0b", generation: 4 }]);
    expect([by([record(1, retry)]), by([], "anything")]).toEqual([[null], [null]]);
  });

  test("is one per partner, by name", () => {
    const other = record(1, retry, { did: "did-2", partner: { uid: "v", namespace: "shop", name: "another" } });
    const labels = deliveryHistories(
      [record(1, retry), other],
      new Map([["shop/third", { generation: 0 }]]),
      unnoted,
    ).map(({ partner }) => partner);
    expect(labels).toEqual(["shop/another", "shop/one", "shop/third"]);
  });
});
