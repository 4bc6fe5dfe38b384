import { describe, expect, test } from "vitest";
import type { AttemptRecord } from "../../../../runtime/webhooks/records/attempt-records.ts";
import {
  decideReplay,
  type DeliveryState,
  type ReplayCandidate,
} from "../../../../runtime/webhooks/replay/decide-replay.ts";
import type { Settlement } from "../../../../runtime/webhooks/settlement/settle.ts";

const nowMs = Date.UTC(2026, 0, 10);
const candidate: ReplayCandidate = {
  replayId: "r-2",
  onlyFailed: false,
  force: false,
  acceptedAtMs: nowMs - 1_000,
  idempotencyMs: 86_400_000,
  nowMs,
};
const delivery = { did: "d", generation: 0, attempt: 1, hop: 0 };
const dead: Settlement = { kind: "dead", reason: "status_503" };
const state: DeliveryState = { attempts: [], live: [], handled: [] };

function record(settlement: Settlement, fields: Partial<AttemptRecord> = {}): AttemptRecord {
  const what = {
    eventId: "e",
    tenant: "t",
    partner: { uid: "u", namespace: "n", name: "p" },
    number: 1,
    at: "2026-01-09T00:00:00.000Z",
  };
  const how = {
    durationMs: 1,
    timings: { totalMs: 1 },
    outcome: { kind: "failure", reason: "dns", detail: "" },
    pod: "a",
  } as const;
  return { ...delivery, ...what, ...how, settlement, ...fields };
}

const live = { ...delivery, partner: "p", tenant: "t", eventId: "e", type: "a.b", acceptedAtMs: 0, attemptsBefore: 0 };
const note = { kind: "handled", did: "d", generation: 0, at: "2026-01-09T00:00:00.000Z", by: "support" } as const;

describe("a replay of a delivery", () => {
  test.each<[string, Partial<ReplayCandidate>, Partial<DeliveryState>, object]>([
    ["that was never attempted is its first generation", {}, {}, { kind: "publish", generation: 1, attemptsBefore: 0 }],
    [
      "is the next generation, and its attempt numbers continue",
      {},
      { attempts: [record(dead, { generation: 1, number: 5 }), record(dead, { generation: 2, number: 9 })] },
      { kind: "publish", generation: 3, attemptsBefore: 9 },
    ],
    [
      "continues the numbers of its dead letter after the attempts have expired",
      { deadLetterGeneration: 4, deadLetterNumber: 17 },
      {},
      { kind: "publish", generation: 5, attemptsBefore: 17 },
    ],
    ["that is in progress is skipped", {}, { live: [live] }, { kind: "in_progress" }],
    ["that this replay published is done", {}, { live: [{ ...live, replayId: "r-2" }] }, { kind: "done" }],
    [
      "that this replay has ended is done",
      { onlyFailed: true },
      { attempts: [record({ kind: "delivered" }, { replayId: "r-2" })] },
      { kind: "done" },
    ],
    ["that another replay published is skipped", {}, { live: [{ ...live, replayId: "r-1" }] }, { kind: "in_progress" }],
    ["older than the partner remembers is not repeated", { acceptedAtMs: nowMs - 86_400_001 }, {}, { kind: "too_old" }],
    ["as old as the partner remembers is repeated", { acceptedAtMs: nowMs - 86_400_000 }, {}, { kind: "publish" }],
    ["that is too old is forced", { acceptedAtMs: 0, force: true }, {}, { kind: "publish" }],
    [
      "of failed deliveries includes a dead one",
      { onlyFailed: true },
      { attempts: [record(dead)] },
      { kind: "publish" },
    ],
    [
      "of failed deliveries includes a rejected one",
      { onlyFailed: true },
      { attempts: [record({ kind: "rejected", reason: "status_404" })] },
      { kind: "publish" },
    ],
    [
      "of failed deliveries excludes a delivered one",
      { onlyFailed: true },
      { attempts: [record({ kind: "delivered" })] },
      { kind: "unmatched" },
    ],
    [
      "of failed deliveries excludes one handled by hand",
      { onlyFailed: true },
      { attempts: [record(dead)], handled: [note] },
      { kind: "unmatched" },
    ],
    [
      "of failed deliveries includes one that failed again after it was handled",
      { onlyFailed: true },
      { attempts: [record(dead), record(dead, { generation: 1 })], handled: [note] },
      { kind: "publish", generation: 2 },
    ],
    [
      "of failed deliveries excludes one that waits for a retry",
      { onlyFailed: true },
      { attempts: [record({ kind: "retry", atMs: 0, reason: "dns" })], live: [live] },
      { kind: "unmatched" },
    ],
  ])("%s", (_sentence, asked, stored, expected) => {
    expect(decideReplay({ ...candidate, ...asked }, { ...state, ...stored })).toMatchObject(expected);
  });
});
