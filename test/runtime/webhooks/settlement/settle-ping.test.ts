import { expect, test } from "vitest";
import type { AttemptOutcome } from "../../../../runtime/webhooks/settlement/outcome.ts";
import { settlePing, type Settlement } from "../../../../runtime/webhooks/settlement/settle.ts";
import { healthOfPing } from "../../../../runtime/webhooks/settlement/circuit-breaker.ts";

const response = (status: number, headers: Readonly<Record<string, string>> = {}): AttemptOutcome => ({
  kind: "response",
  status,
  headers,
  body: "",
  bodyTruncated: false,
  timings: { totalMs: 1 },
});
const noResponse: AttemptOutcome = { kind: "failure", reason: "connect", detail: "", timings: { totalMs: 1 } };
const retry = { kind: "retry", atMs: 15_000 } as const;

test.each<[string, AttemptOutcome, number, Partial<Settlement>]>([
  ["a success", response(204), 1, { kind: "delivered" }],
  ["a success of the retry", response(200), 2, { kind: "delivered" }],
  ["a refusal", response(422), 1, { kind: "rejected", reason: "status_422" }],
  ["a 410, which disables nobody", response(410), 1, { kind: "rejected", reason: "status_410" }],
  ["a first failure", response(500), 1, { ...retry, reason: "status_500" }],
  ["a first failure without a response", noResponse, 1, { ...retry, reason: "connect" }],
  ["a request to wait for an hour", response(503, { "retry-after": "3600" }), 1, retry],
  ["a second failure", response(500), 2, { kind: "dead", reason: "status_500" }],
  ["a second failure that asks to wait", response(429, { "retry-after": "1" }), 2, { kind: "dead" }],
])("%s settles a ping", (_, outcome, attempt, settlement) => {
  expect(settlePing(outcome, { attempt, acceptedAtMs: 9_000 }, 10_000)).toMatchObject(settlement);
});

test("a ping that waited for more than an hour is not retried", () => {
  expect(settlePing(noResponse, { attempt: 1, acceptedAtMs: 0 }, 3_600_000)).toEqual({
    kind: "dead",
    reason: "connect",
  });
});

test("only a success of a ping says something about its partner", () => {
  const settlements: readonly Settlement[] = [
    { kind: "delivered" },
    { kind: "retry", atMs: 1, reason: "connect" },
    { kind: "rejected", reason: "status_404" },
    { kind: "dead", reason: "status_500" },
  ];
  expect(settlements.map(healthOfPing)).toEqual(["healthy", "unknown", "unknown", "unknown"]);
});
