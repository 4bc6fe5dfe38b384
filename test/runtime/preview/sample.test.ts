import type { PreviewedSimulation } from "../../../api/previews.ts";
import { expect, test } from "vitest";
import type { PartnerConfig } from "../../../crds/config.ts";
import { createAttemptChanges, noAttempts } from "../../../runtime/preview/attempt-changes.ts";
import { createSample } from "../../../runtime/preview/sample.ts";
import type { AttemptRecord } from "../../../runtime/webhooks/records/attempt-records.ts";
import type { Settlement } from "../../../runtime/webhooks/settlement/settle.ts";
import { configOf, partnerConfig } from "../webhooks/engine-fixture.ts";

const acceptedAtMs = Date.parse("2026-01-01T00:00:00.000Z");
const retry = { scheduleSeconds: [10, 20], maxAgeSeconds: 60, jitterPercent: 0 };
const before = partnerConfig("one", "https://one.example/hooks", { retry });
const label = "default/one";
const stays = { before: [label], after: [label], gained: [], lost: [] };
const dead: Settlement = { kind: "dead", reason: "status_500" };
const retried: Settlement = { kind: "retry", atMs: 0, reason: "status_500" };

/** Attempts of one delivery at these seconds; each takes no time. */
function recordsOf(did: string, ...steps: readonly (readonly [at: number, status: number, settlement: Settlement])[]) {
  return steps.map(([at, status, settlement], index): AttemptRecord => {
    return {
      did,
      generation: 0,
      attempt: index + 1,
      hop: 0,
      eventId: did,
      tenant: "acme",
      partner: { uid: before.uid, namespace: "default", name: "one" },
      number: index + 1,
      at: new Date(acceptedAtMs + at * 1_000).toISOString(),
      durationMs: 0,
      timings: { totalMs: 0 },
      outcome: { kind: "response", status, headers: {}, body: "secret", bodyTruncated: false },
      settlement,
      pod: "p",
    };
  });
}

const failed = recordsOf("a", [0, 500, retried], [10, 500, retried], [30, 500, dead]);
const delivered = recordsOf("b", [35, 200, { kind: "delivered" }]);

function effectOf(
  edit: Partial<PartnerConfig>,
  ...deliveries: readonly (readonly AttemptRecord[])[]
): Promise<PreviewedSimulation> {
  const sample = createSample();
  const changes = createAttemptChanges(configOf(before), configOf({ ...before, ...edit }), (one) => sample.add(one));
  const tally = noAttempts();
  for (const records of deliveries) changes.add(tally, stays, records, acceptedAtMs);
  return sample.effect(acceptedAtMs + 3_600_000, () => Promise.resolve());
}

test("a further retry delivers a dead letter, by the answer that another delivery got", async () => {
  const effect = await effectOf({ retry: { ...retry, scheduleSeconds: [10, 20, 10] } }, failed, delivered);
  expect(effect).toEqual({
    complete: true,
    left_out: 0,
    not_simulated: [],
    partners: [
      {
        partner: label,
        deliveries: 2,
        estimated: 1,
        farthest_ms: 5_000,
        would_live: 1,
        would_die: 0,
        recorded: { delivered: 1, dead_letters: 1, pending: 0, backlog: 2, in_flight: 0, p95_ms: 35_000 },
        simulated: { delivered: 2, dead_letters: 0, pending: 0, backlog: 2, in_flight: 0, p95_ms: 40_000 },
      },
    ],
  });
});

test("a shorter life makes a dead letter of a delivery", async () => {
  const late = recordsOf("c", [0, 500, retried], [10, 500, retried], [30, 200, { kind: "delivered" }]);
  const { partners } = await effectOf({ retry: { ...retry, maxAgeSeconds: 20 } }, late);
  expect(partners[0]).toMatchObject({ would_live: 0, would_die: 1, simulated: { delivered: 0, dead_letters: 1 } });
});

test("a delivery that ended without a request stays as it was", async () => {
  const full = recordsOf("d", [0, 500, retried], [10, 500, dead]);
  const { partners } = await effectOf({ retry: { ...retry, scheduleSeconds: [10, 30] } }, full);
  expect(partners[0]).toMatchObject({ estimated: 0, would_live: 0, simulated: { dead_letters: 1 } });
});

test("a delivery without its first attempts, and a partner with another endpoint, are left out", async () => {
  const longer = { retry: { ...retry, scheduleSeconds: [30, 60] } };
  expect(await effectOf(longer, failed.slice(1))).toMatchObject({ complete: false, left_out: 1, partners: [] });
  const other = { endpoint: { ...before.endpoint, timeoutMs: 9 } };
  expect(await effectOf(other, failed)).toMatchObject({ left_out: 0, not_simulated: [label], partners: [] });
});

test("an attempt that two pods made counts once", async () => {
  const [first, second, third] = failed;
  if (first === undefined || second === undefined || third === undefined) throw new Error("no attempts");
  const twice = [first, { ...first, pod: "q" }, second, third];
  const { partners } = await effectOf({ retry: { ...retry, scheduleSeconds: [10, 20, 10] } }, twice, delivered);
  expect(partners[0]).toMatchObject({ deliveries: 2, estimated: 1, would_live: 1 });
});
