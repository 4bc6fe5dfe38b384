import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RetryConfig } from "../../../../crds/config.ts";
import { failureReasons, outcomeCode, type AttemptOutcome } from "../../../../runtime/webhooks/settlement/outcome.ts";
import { retryAfterMsMax, settle, type Settlement } from "../../../../runtime/webhooks/settlement/settle.ts";

const acceptedAtMs = Date.UTC(2026, 10, 1);
const nowMs = acceptedAtMs + 60_000;
const policy: RetryConfig = {
  scheduleSeconds: [5, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400],
  maxAgeSeconds: 7 * 86_400,
  jitterPercent: 20,
};
const timings = { totalMs: 12 };

function answered(status: number, headers: Readonly<Record<string, string>> = {}): AttemptOutcome {
  return { kind: "response", status, headers, body: "", bodyTruncated: false, timings };
}

function settled(outcome: AttemptOutcome, attempt = 1, random = 0): Settlement {
  return settle(outcome, policy, { attempt, acceptedAtMs }, nowMs, () => random);
}

/** The whole of seed §7 as one function of the status, written without looking at the code. */
function expectedKind(status: number): Settlement["kind"] {
  if (status >= 200 && status < 300) return "delivered";
  if (status === 410) return "disabled";
  return [400, 401, 403, 404, 422].includes(status) ? "rejected" : "retry";
}

describe("settling a response", () => {
  test("follows the table of statuses from 100 to 599 (Webhook Event Delivery §3, §7)", () => {
    const statuses = Array.from({ length: 500 }, (_, index) => 100 + index);
    const kinds = statuses.map((status) => [status, settled(answered(status)).kind]);
    expect(kinds).toEqual(statuses.map((status) => [status, expectedKind(status)]));
  });

  test.each([
    ["a 200 stops the retries", 200, { kind: "delivered" }],
    ["a 204 stops the retries", 204, { kind: "delivered" }],
    [
      "a redirect is never followed and is tried again",
      302,
      { kind: "retry", atMs: nowMs + 5_000, reason: "status_302" },
    ],
    ["a 304 is no delivery", 304, { kind: "retry", atMs: nowMs + 5_000, reason: "status_304" }],
    ["a 400 is an explicit no", 400, { kind: "rejected", reason: "status_400" }],
    ["a 401 is an explicit no", 401, { kind: "rejected", reason: "status_401" }],
    ["a 403 is an explicit no", 403, { kind: "rejected", reason: "status_403" }],
    ["a 404 is an explicit no", 404, { kind: "rejected", reason: "status_404" }],
    ["a 405 may be repaired", 405, { kind: "retry", atMs: nowMs + 5_000, reason: "status_405" }],
    ["a 408 is tried again", 408, { kind: "retry", atMs: nowMs + 5_000, reason: "status_408" }],
    ["a 409 is tried again", 409, { kind: "retry", atMs: nowMs + 5_000, reason: "status_409" }],
    ["a 410 disables the partner", 410, { kind: "disabled", reason: "status_410" }],
    ["a 413 may be repaired", 413, { kind: "retry", atMs: nowMs + 5_000, reason: "status_413" }],
    ["a 422 is an explicit no", 422, { kind: "rejected", reason: "status_422" }],
    ["a 429 without a hint follows the schedule", 429, { kind: "retry", atMs: nowMs + 5_000, reason: "status_429" }],
    ["a 500 follows the schedule", 500, { kind: "retry", atMs: nowMs + 5_000, reason: "status_500" }],
    ["a status outside HTTP is tried again", 999, { kind: "retry", atMs: nowMs + 5_000, reason: "status_999" }],
  ] satisfies readonly (readonly [string, number, Settlement])[])(
    "%s (Webhook Event Delivery §7)",
    (_, status, expected) => {
      expect(settled(answered(status))).toEqual(expected);
    },
  );
});

describe("settling a failure", () => {
  test.each(failureReasons)("retries after %s (Webhook Event Delivery §7)", (reason) => {
    const failure: AttemptOutcome = { kind: "failure", reason, detail: "", timings };
    expect(settled(failure)).toEqual({ kind: "retry", atMs: nowMs + 5_000, reason });
  });
});

describe("the partner's Retry-After", () => {
  const at = (text: string): Readonly<Record<string, string>> => ({ "retry-after": text });

  test.each([
    ["is honoured on a 429", 429, at("60"), 60_000],
    ["is honoured on a 503", 503, at("60"), 60_000],
    ["is not read on a 500", 500, at("60"), 5_000],
    ["never makes an attempt earlier than the schedule", 429, at("1"), 5_000],
    ["of zero leaves the schedule", 429, at("0"), 5_000],
    ["is capped at a day", 429, at("99999999999999999999"), retryAfterMsMax],
    ["that cannot be read leaves the schedule", 429, at("soon"), 5_000],
    ["may be a date", 503, at("Sun, 01 Nov 2026 00:03:00 GMT"), 120_000],
    ["in the past leaves the schedule", 503, at("Sat, 31 Oct 2026 00:00:00 GMT"), 5_000],
    [
      "is judged by the partner's own clock",
      503,
      { "retry-after": "Mon, 01 Jan 2024 00:10:00 GMT", date: "Mon, 01 Jan 2024 00:00:00 GMT" },
      600_000,
    ],
  ] as const)("%s (Webhook Event Delivery §3, §7)", (_, status, headers, waitMs) => {
    expect(settled(answered(status, headers))).toEqual({
      kind: "retry",
      atMs: nowMs + waitMs,
      reason: `status_${status}`,
    });
  });

  test.each([
    [
      "counts up to the longest step of the schedule",
      { scheduleSeconds: [1, 2, 300], maxAgeSeconds: 86_400 },
      nowMs + 300_000,
    ],
    [
      "beyond the age of the delivery leaves an attempt in its last moment",
      { scheduleSeconds: [1, 3_600], maxAgeSeconds: 600 },
      acceptedAtMs + 600_000,
    ],
    [
      "leaves that attempt even where the schedule would not",
      { scheduleSeconds: [3_600], maxAgeSeconds: 600 },
      acceptedAtMs + 600_000,
    ],
  ])("%s", (_, own, atMs) => {
    const outcome = answered(429, at("604800"));
    const given = { ...policy, ...own };
    expect(settle(outcome, given, { attempt: 1, acceptedAtMs }, nowMs, () => 0.5)).toMatchObject({ kind: "retry" });
    expect(settle(outcome, given, { attempt: 1, acceptedAtMs }, nowMs, () => 0)).toEqual({
      kind: "retry",
      atMs,
      reason: "status_429",
    });
    expect(
      settle(outcome, given, { attempt: 2, acceptedAtMs }, acceptedAtMs + own.maxAgeSeconds * 1_000, () => 0).kind,
    ).toBe("dead");
  });

  test("never ends a delivery before its age, whatever is asked, on every attempt", () => {
    const anyCase = fc.record({
      scheduleSeconds: fc.array(fc.integer({ min: 1, max: 604_800 }), { minLength: 1, maxLength: 13 }),
      maxAgeSeconds: fc.integer({ min: 1, max: 30 * 86_400 }),
      asked: fc.oneof(fc.integer({ min: 0, max: 10 ** 9 }).map(String), fc.constant("9".repeat(30))),
      attempt: fc.integer({ min: 1, max: 30 }),
      left: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(anyCase, ({ scheduleSeconds, maxAgeSeconds, asked, attempt, left }) => {
        const endMs = acceptedAtMs + maxAgeSeconds * 1_000;
        const atMs = endMs - Math.ceil(left * maxAgeSeconds * 1_000);
        const result = settle(
          answered(503, at(asked)),
          { scheduleSeconds, maxAgeSeconds, jitterPercent: 0 },
          { attempt, acceptedAtMs },
          atMs,
          () => 0,
        );
        const longestMs = Math.max(...scheduleSeconds, scheduleSeconds[attempt - 1] ?? 86_400) * 1_000;
        expect(result.kind).toBe(atMs < endMs ? "retry" : "dead");
        expect(result.kind === "retry" && result.atMs > Math.min(endMs, atMs + longestMs)).toBe(false);
      }),
    );
  });
});

describe("the end of the retries", () => {
  const endMs = acceptedAtMs + policy.maxAgeSeconds * 1_000;
  const late = (atMs: number, random = 0): Settlement =>
    settle(answered(500), policy, { attempt: 1, acceptedAtMs }, atMs, () => random);

  test("comes when the next attempt would pass the maximum age (Webhook Event Delivery §3)", () => {
    expect(late(endMs - 4_999)).toEqual({ kind: "dead", reason: "status_500" });
  });

  test("leaves an attempt that falls on the last moment", () => {
    expect(late(endMs - 5_000)).toEqual({ kind: "retry", atMs: endMs, reason: "status_500" });
  });

  test("is not brought forward by jitter", () => {
    expect(late(endMs - 5_000, 0.999)).toEqual({ kind: "retry", atMs: endMs, reason: "status_500" });
  });

  test("never changes the settlement of a rejection or a success", () => {
    const after = (status: number) =>
      settle(answered(status), policy, { attempt: 20, acceptedAtMs }, endMs * 2, () => 0);
    expect([200, 404, 410].map((status) => after(status).kind)).toEqual(["delivered", "rejected", "disabled"]);
  });

  test("is reached by a partner that always fails, after the schedule and then daily", () => {
    const waits: number[] = [];
    const steady = { ...policy, jitterPercent: 0 };
    let atMs = acceptedAtMs;
    let next = settle(answered(500), steady, { attempt: 1, acceptedAtMs }, atMs, () => 0);
    while (next.kind === "retry") {
      waits.push((next.atMs - atMs) / 1_000);
      atMs = next.atMs;
      next = settle(answered(500), steady, { attempt: waits.length + 1, acceptedAtMs }, atMs, () => 0);
    }
    expect(next).toEqual({ kind: "dead", reason: "status_500" });
    // The schedule takes 46 h 48 min 50 s; five daily waits more fit into 7 days.
    const daily = [86_400, 86_400, 86_400, 86_400, 86_400];
    expect(waits).toEqual([...policy.scheduleSeconds, ...daily]);
  });
});

describe("the time of a retry", () => {
  const anyPolicy = fc.record({
    scheduleSeconds: fc.array(fc.integer({ min: 1, max: 86_400 }), { minLength: 1, maxLength: 13 }),
    maxAgeSeconds: fc.integer({ min: 60, max: 30 * 86_400 }),
    jitterPercent: fc.integer({ min: 0, max: 100 }),
  });

  test("is never earlier than the schedule or the partner asks, and later by jitter at most", () => {
    const anyCase = fc.tuple(
      anyPolicy,
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 0, max: 86_400 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.integer({ min: 0, max: 30 * 86_400_000 }),
    );
    fc.assert(
      fc.property(anyCase, ([given, attempt, askedSeconds, random, ageMs]) => {
        const atMs = acceptedAtMs + ageMs;
        const outcome = answered(429, { "retry-after": String(askedSeconds) });
        const result = settle(outcome, given, { attempt, acceptedAtMs }, atMs, () => random);
        const askedAtMost = Math.min(askedSeconds, Math.max(...given.scheduleSeconds));
        const waitMs = Math.max(given.scheduleSeconds[attempt - 1] ?? 86_400, askedAtMost) * 1_000;
        const endMs = acceptedAtMs + given.maxAgeSeconds * 1_000;
        const latestMs = Math.min(endMs, atMs + waitMs * (1 + given.jitterPercent / 100));
        const isInTime =
          result.kind === "retry" && result.atMs >= Math.min(endMs, atMs + waitMs) && result.atMs <= latestMs;
        const isTooLate = result.kind === "dead" && atMs >= endMs;
        expect(isInTime || isTooLate).toBe(true);
      }),
    );
  });
});

describe("the code of an outcome", () => {
  test("is one token of a subject", () => {
    const outcomes: readonly AttemptOutcome[] = [
      answered(503),
      ...failureReasons.map((reason): AttemptOutcome => ({ kind: "failure", reason, detail: "", timings })),
    ];
    expect(outcomes.map(outcomeCode).filter((code) => !/^[a-z0-9_]+$/u.test(code))).toEqual([]);
    expect(outcomeCode(answered(503))).toBe("status_503");
  });
});
