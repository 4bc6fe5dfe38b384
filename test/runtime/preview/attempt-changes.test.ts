import { describe, expect, test } from "vitest";
import type { PartnerConfig } from "../../../crds/config.ts";
import { createAttemptChanges, noAttempts, type PartnerAttempts } from "../../../runtime/preview/attempt-changes.ts";
import type { AttemptRecord } from "../../../runtime/webhooks/records/attempt-records.ts";
import type { Settlement } from "../../../runtime/webhooks/settlement/settle.ts";
import { configOf, partnerConfig } from "../webhooks/engine-fixture.ts";

const acceptedAtMs = Date.parse("2026-01-01T00:00:00.000Z");
const retry = { scheduleSeconds: [1, 2, 4], maxAgeSeconds: 3_600, jitterPercent: 0 };
const before = partnerConfig("one", "https://one.example/hooks", { retry });
const label = "default/one";
const stays = { before: [label], after: [label], gained: [], lost: [] };

interface Step {
  /** Seconds after the event. */
  readonly at: number;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly generation?: number;
  readonly settlement?: Settlement;
}

function recordsOf(...steps: readonly Step[]): readonly AttemptRecord[] {
  return steps.map(({ at, status, headers = {}, generation = 0, settlement }, index) => {
    const reason = `status_${status}` as const;
    const ended: Settlement = status < 300 ? { kind: "delivered" } : { kind: "retry", atMs: 0, reason };
    return {
      did: "d",
      generation,
      attempt: index + 1,
      hop: 0,
      eventId: "e",
      tenant: "acme",
      partner: { uid: before.uid, namespace: "default", name: "one" },
      number: index + 1,
      at: new Date(acceptedAtMs + at * 1_000).toISOString(),
      durationMs: 10,
      timings: { totalMs: 10 },
      outcome: { kind: "response", status, headers, body: "", bodyTruncated: false },
      settlement: settlement ?? ended,
      pod: "p",
    };
  });
}

function judged(edit: Partial<PartnerConfig>, records: readonly AttemptRecord[]): PartnerAttempts | undefined {
  const changes = createAttemptChanges(configOf(before), configOf({ ...before, ...edit }));
  const tally = noAttempts();
  changes.add(tally, stays, records, acceptedAtMs);
  return tally.partners[label];
}

const failing = recordsOf(
  { at: 0, status: 500 },
  { at: 1, status: 500 },
  { at: 3, status: 500 },
  { at: 7, status: 200 },
);
const none = { exact: 0, moved: 0, gone: 0, wouldRetry: 0, wouldEnd: 0 };
const throttled = recordsOf({ at: 0, status: 503, headers: { "retry-after": "9" } }, { at: 4, status: 200 });
const dead = recordsOf(
  { at: 0, status: 500 },
  { at: 3_600, status: 500, settlement: { kind: "dead", reason: "status_500" } },
);

describe("recorded attempts after an edit", () => {
  test.each([
    ["another third wait moves what follows it", { retry: { ...retry, scheduleSeconds: [1, 2, 8] } }, failing, [3, 1]],
    ["another first wait moves all retries", { retry: { ...retry, scheduleSeconds: [9, 2, 4] } }, failing, [1, 3]],
    [
      "a longer schedule moves nothing before its end",
      { retry: { ...retry, scheduleSeconds: [1, 2, 4, 4] } },
      failing,
      [4, 0],
    ],
    ["other jitter moves all retries", { retry: { ...retry, jitterPercent: 10 } }, failing, [1, 3]],
    ["another endpoint leaves no attempt sure", { endpoint: { ...before.endpoint, timeoutMs: 9 } }, failing, [0, 4]],
    ["another rate leaves no attempt sure", { delivery: { maxInFlight: 1 } }, failing, [0, 4]],
    [
      "a longer longest wait moves what a Retry-After waits for",
      { retry: { ...retry, scheduleSeconds: [1, 2, 8] } },
      throttled,
      [1, 1],
    ],
  ])("%s", (_, edit, records, [exact, moved]) => {
    expect(judged(edit, records)).toEqual({ ...none, exact, moved });
  });

  test("a longer life retries what ended by its age", () => {
    const schedule = { ...retry, scheduleSeconds: [1, 3_000] };
    const changes = createAttemptChanges(
      configOf({ ...before, retry: schedule }),
      configOf({ ...before, retry: { ...schedule, maxAgeSeconds: 86_400 } }),
    );
    const tally = noAttempts();
    changes.add(tally, stays, dead, acceptedAtMs);
    expect(tally.partners[label]).toEqual({ ...none, exact: 2, wouldRetry: 1 });
  });

  test("a shorter life ends what was retried", () => {
    expect(judged({ retry: { ...retry, maxAgeSeconds: 4 } }, failing)).toEqual({
      ...none,
      exact: 3,
      moved: 1,
      wouldEnd: 1,
    });
  });

  test("attempts for events that the partner loses are gone, and unaffected partners are not counted", () => {
    const changes = createAttemptChanges(configOf(before), configOf(before));
    const tally = noAttempts();
    expect(changes.isAffected(stays)).toBe(false);
    changes.add(tally, stays, failing, acceptedAtMs);
    expect(tally.partners).toEqual({});
    const lost = { before: [label], after: [], gained: [], lost: [label] };
    expect(changes.isAffected(lost)).toBe(true);
    changes.add(tally, lost, failing, acceptedAtMs);
    expect(tally.partners[label]).toEqual({ ...none, gone: 4 });
  });

  test("a replayed delivery is sure only up to its first retry when its age counts", () => {
    const replayed = failing.map((record) => ({ ...record, generation: 1 }));
    expect(judged({ retry: { ...retry, maxAgeSeconds: 86_400 } }, replayed)).toEqual({ ...none, exact: 1, moved: 3 });
  });
});
