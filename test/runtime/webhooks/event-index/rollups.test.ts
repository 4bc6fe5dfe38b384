import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createEventIndex } from "../../../../runtime/webhooks/event-index/event-index.ts";
import { IndexColumns } from "../../../../runtime/webhooks/event-index/columns.ts";
import {
  bucketOf,
  durationOf,
  rollupCounters,
  Rollups,
  type RolledAttempt,
  type RollupSearch,
} from "../../../../runtime/webhooks/event-index/rollups.ts";
import { readDeliveryStats, type DeliveryStatsQuery } from "../../../../runtime/webhooks/history/delivery-stats.ts";
import { deliveryStatsRoute } from "../../../../runtime/http/routes/partner-stats.ts";
import type { ApiRequest } from "../../../../runtime/http/server/route.ts";
import { pingType } from "../../../../runtime/webhooks/events/envelope.ts";
import { ManualClock } from "../../../support/manual-clock.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const startMs = Date.UTC(2026, 0, 2);

const outcomes = ["delivered", "failed", "retried"] as const;
const made = fc.record({
  tenant: fc.constantFrom("acme", "globex"),
  partner: fc.constantFrom("default/one", "default/two", "shop/one"),
  atMs: fc.integer({ min: startMs, max: startMs + 6 * hourMs - 1 }),
  outcome: fc.constantFrom(...outcomes),
  durationMs: fc.option(fc.integer({ min: 0, max: 120_000 }), { nil: undefined }),
});

function rolled(attempts: readonly RolledAttempt[], slotsMax?: number): Rollups {
  const rollups = new Rollups(slotsMax);
  for (const attempt of attempts) rollups.addAttempt(attempt);
  return rollups;
}

const all: RollupSearch = { isTenant: () => true, isPartner: () => true, fromMs: 0, toMs: Infinity };

/** `tenant partner minute counter`, with its count. */
function countsOf(rollups: Rollups): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  const reading = rollups.read(all, ({ tenant, partner }, atMs, cell, count) => {
    const counter = rollupCounters[cell];
    if (counter !== undefined) counts[`${tenant} ${partner} ${atMs} ${counter}`] = count;
  });
  expect([...reading].every((pause) => pause === undefined)).toBe(true);
  return counts;
}

const rowsOf = async (attempts: readonly RolledAttempt[], query: Partial<DeliveryStatsQuery> = {}) =>
  (await statsOf(attempts, query))?.rows ?? [];
const totalsOf = async (attempts: readonly RolledAttempt[]) => (await statsOf(attempts, { groupBy: "tenant" }))?.totals;
const statsOf = (attempts: readonly RolledAttempt[], query: Partial<DeliveryStatsQuery> = {}) => {
  const columns = new IndexColumns();
  for (const attempt of attempts) columns.rollups.addAttempt(attempt);
  const index = { read: async () => ({ columns, reachMs: 0, attemptsReachMs: 0, rollupsReachMs: 0 }) };
  const window = { fromMs: startMs, toMs: startMs + 6 * hourMs, stepMs: 15 * minuteMs };
  return readDeliveryStats(index, { tenants: ["*"], ...window, ...query });
};

test("every minute has the counts of its attempts", () => {
  fc.assert(
    fc.property(fc.array(made, { maxLength: 300 }), (attempts) => {
      const expected: Record<string, number> = {};
      for (const { tenant, partner, atMs, outcome, durationMs } of attempts) {
        const minute = `${tenant} ${partner} ${Math.floor(atMs / minuteMs) * minuteMs}`;
        const counters = durationMs === undefined ? [outcome] : [outcome, "attempts"];
        for (const counter of counters) expected[`${minute} ${counter}`] = (expected[`${minute} ${counter}`] ?? 0) + 1;
      }
      expect(countsOf(rolled(attempts))).toEqual(expected);
    }),
  );
});

test("a bucket stands for its durations within 5 % or a millisecond", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (durationMs) => {
      const shown = durationOf(bucketOf(durationMs));
      expect(Math.abs(shown - durationMs)).toBeLessThanOrEqual(Math.max(1, 0.05 * durationMs));
      expect(bucketOf(durationMs)).toBeLessThan(248);
    }),
    { examples: [[0], [1], [2], [10], [100], [1_000], [2 ** 32 - 1]] },
  );
});

test("hours older than 48 hours go, and idle series first when there is no room", () => {
  const attempt = { tenant: "acme", partner: "default/one", outcome: "delivered", durationMs: 5 } as const;
  const hours = Array.from({ length: 60 }, (_, hour) => ({ ...attempt, atMs: startMs + hour * hourMs }));
  const rollups = rolled(hours);
  rollups.advance(startMs + 59.5 * hourMs);
  const kept = Object.keys(countsOf(rollups)).filter((key) => key.endsWith("attempts"));
  expect([kept.length, rollups.droppedMs]).toEqual([49, 0]);
  rollups.addAttempt({ ...attempt, atMs: startMs });
  expect(Object.keys(countsOf(rollups)).filter((key) => key.endsWith("attempts"))).toEqual(kept);

  const idle = { ...attempt, partner: "default/idle", atMs: startMs + 10 * hourMs };
  const small = rolled([idle, ...hours.slice(20, 30)], 11 * 80 - 1);
  expect(Object.keys(countsOf(small)).some((key) => key.includes("idle"))).toBe(false);
  expect([small.droppedMs, small.bytes]).toEqual([idle.atMs + 1, 10 * 80 * 6]);
});

test("rows of groups sum up to the rows of all, and percentiles are those of all attempts", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(made, { minLength: 1, maxLength: 200 }), async (attempts) => {
      const rows = await rowsOf(attempts);
      expect(rows).toHaveLength(24);
      for (const groupBy of ["partner", "tenant"] as const) {
        const grouped = await rowsOf(attempts, { groupBy });
        for (const row of rows)
          for (const counter of ["attempts", ...outcomes] as const) {
            const parts = grouped.filter(({ at }) => at === row.at).map((part) => part[counter]);
            expect(parts.reduce((sum, count) => sum + count, 0)).toBe(row[counter]);
          }
      }
      const [whole] = await rowsOf(attempts, { stepMs: 6 * hourMs });
      expect(whole).toMatchObject({ ...(await totalsOf(attempts)) });
      const durations = attempts.flatMap(({ durationMs }) => durationMs ?? []).toSorted((a, b) => a - b);
      const exact = durations[Math.ceil(0.95 * durations.length) - 1];
      expect(whole?.p95_ms === null).toBe(exact === undefined);
      expect(Math.abs((whole?.p95_ms ?? 0) - (exact ?? 0))).toBeLessThanOrEqual(Math.max(1, 0.05 * (exact ?? 0)));
    }),
    { numRuns: 50 },
  );
});

test("a caller sees its tenants and partners, and accepted events only if it sees all partners", async () => {
  const attempts = ["acme", "globex"].flatMap((tenant) =>
    ["default/one", "default/two"].map(
      (partner) => ({ tenant, partner, atMs: startMs, outcome: "delivered", durationMs: 5 }) as const,
    ),
  );
  const partnersSeen = async (query: Partial<DeliveryStatsQuery>) =>
    (await rowsOf(attempts, { groupBy: "partner", ...query })).map(({ partner, attempts: count }) => [partner, count]);
  expect(await partnersSeen({ tenants: ["acme"], partners: ["default/two"] })).toEqual([["default/two", 1]]);
  expect(await partnersSeen({ tenants: ["acme"], tenant: "globex" })).toEqual([]);
  expect(await partnersSeen({ partners: ["default/two"], partner: "default/one" })).toEqual([]);
  const accepted = async (query: Partial<DeliveryStatsQuery>) => (await rowsOf(attempts, query))[0]?.accepted;
  expect([await accepted({}), await accepted({ partners: ["*"] })]).toEqual([0, 0]);
  expect([await accepted({ partners: ["default/two"] }), await accepted({ partner: "default/two" })]).toEqual([
    null,
    null,
  ]);
});

test("too many rows are an error that names the step", async () => {
  const attempts = Array.from({ length: 3_001 }, (_, at) => {
    return { tenant: "acme", partner: `default/p${at}`, atMs: startMs, outcome: "delivered", durationMs: 5 } as const;
  });
  expect(await statsOf(attempts, { groupBy: "partner" })).toBeUndefined();
  expect((await statsOf(attempts.slice(1), { groupBy: "partner" }))?.rows).toHaveLength(3_000);
  const route = deliveryStatsRoute({ history: { deliveryStats: async () => undefined } });
  const request = { query: new Map(), caller: { tenants: ["*"] }, nowMs: startMs } as unknown as ApiRequest;
  await expect(route.handle(request)).rejects.toMatchObject({
    code: "invalid_step",
    message: expect.stringContaining("more than 3000 rows; use a longer step"),
    errors: [{ field: "step" }],
  });
});

test("pings and repeated records are not counted", () => {
  const columns = new IndexColumns();
  const event = { seq: 1, atMs: startMs, high: 1, low: 7, tenant: "acme", type: "a.b", producer: "", about: "" };
  columns.addEvent(event);
  columns.addEvent({ ...event, seq: 2, low: 9, type: pingType });
  const row = { ...event, partner: "default/one", status: 200, reason: "", durationMs: 5, generation: 0, attempt: 1 };
  columns.addAttempt({ ...row, kind: "delivered" });
  columns.addAttempt({ ...row, kind: "delivered" });
  columns.addAttempt({ ...row, low: 9, kind: "delivered" });
  columns.addAttempt({ ...row, kind: "dead", reason: "held_expired", attempt: 2 });
  columns.addAttempt({ ...row, kind: "handled", partner: "" });
  expect(countsOf(columns.rollups)).toEqual({
    [`acme  ${startMs} accepted`]: 1,
    [`acme default/one ${startMs} delivered`]: 1,
    [`acme default/one ${startMs} attempts`]: 1,
    [`acme default/one ${startMs} failed`]: 1,
  });
  const lastOf = (tenant: string) =>
    columns
      .lastFailed({ isTenant: (one) => one === tenant, isPartner: (one) => one === row.partner })
      .get("default/one");
  expect(lastOf("acme")).toBeUndefined();
  columns.addAttempt({ ...row, kind: "retry", reason: "tls", status: 0, attempt: 3, atMs: startMs + 9 });
  columns.addAttempt({ ...row, kind: "retry", reason: "dns", status: 0, attempt: 2, atMs: startMs + 5 });
  columns.addAttempt({ ...row, kind: "dead", reason: "held_expired", attempt: 4, atMs: startMs + 20 });
  expect(lastOf("acme")).toMatchObject({ high: 1, low: 7, atMs: startMs + 9 });
  expect(columns.seqOf({ high: 1, low: 7 })).toBe(1);
  expect(lastOf("other")).toBeUndefined();
});

test("figures may be missing while there is no index", async () => {
  const stream = { state: async () => undefined, open: async () => Promise.reject(new Error("no stream")) };
  const index = createEventIndex({ stream, attempts: { lastSeq: async () => 0 }, clock: new ManualClock() });
  const window = { fromMs: startMs, toMs: startMs + hourMs, stepMs: hourMs };
  expect(await readDeliveryStats(index, { tenants: ["*"], ...window })).toMatchObject({
    isComplete: false,
    completeFromMs: window.toMs,
  });
});

test("totals have the percentiles of the whole window", async () => {
  const durations = [10, 10, 10, 800];
  const attempts = durations.map(
    (durationMs, hour) =>
      ({
        tenant: "acme",
        partner: `a/${hour}`,
        atMs: startMs + hour * hourMs,
        outcome: "retried",
        durationMs,
      }) as const,
  );
  const totals = await totalsOf(attempts);
  expect(totals).toMatchObject({ attempts: 4, retried: 4, delivered: 0, p50_ms: 10 });
  expect(totals?.p95_ms).toBeGreaterThan(700);
});

test("figures are complete from where the rollups begin", async () => {
  const begin = async (rollupsReachMs: number) => {
    const read = async () => ({ columns: new IndexColumns(), reachMs: 0, attemptsReachMs: 0, rollupsReachMs });
    const window = { fromMs: startMs, toMs: startMs + hourMs, stepMs: hourMs };
    const found = await readDeliveryStats({ read }, { tenants: ["*"], ...window });
    return [found?.isComplete, (found?.completeFromMs ?? 0) - startMs];
  };
  expect(await begin(0)).toEqual([true, 0]);
  expect(await begin(startMs + 7 * minuteMs)).toEqual([false, 7 * minuteMs]);
});
