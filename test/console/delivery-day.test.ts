import type { DeliveryStatsRow } from "../../api/delivery-stats.ts";
import { expect, test } from "vitest";
import { deliveryDay, twoDays } from "../../console/home/delivery-day.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;
const nowMs = Date.UTC(2026, 0, 31, 12, 7);

const rows = (): readonly DeliveryStatsRow[] => {
  const fromMs = Date.parse(twoDays(nowMs).from);
  return Array.from({ length: 192 }, (_, step) => ({
    at: new Date(fromMs + step * 15 * minuteMs).toISOString(),
    partner: null,
    tenant: null,
    accepted: 0,
    attempts: step < 96 ? 30 : 14,
    delivered: step < 96 ? 30 : 7,
    failed: 0,
    retried: 0,
    p50_ms: 1,
    p95_ms: step === 191 ? null : step,
  }));
};

test("two days end with the interval of now, and stay the same within it", () => {
  expect(twoDays(nowMs)).toEqual({ from: "2026-01-29T12:15:00.000Z", to: "2026-01-31T12:15:00.000Z" });
  expect(twoDays(nowMs + 8 * minuteMs)).toEqual(twoDays(nowMs));
  expect(twoDays(nowMs + 9 * minuteMs)).not.toEqual(twoDays(nowMs));
});

test("the day before is drawn beneath the last 24 hours, and the interval under way by its minutes", () => {
  const day = deliveryDay(rows(), nowMs);
  expect([day.today, day.before]).toEqual([
    { attempts: 1_344, delivered: 672, failed: 672, successRate: 0.5 },
    { attempts: 2_880, delivered: 2_880, failed: 0, successRate: 1 },
  ]);
  const [today = [], before = []] = day.throughput.map(({ points }) => points);
  expect(before.map(([atMs]) => atMs)).toEqual(today.map(([atMs]) => atMs));
  expect([today[0], before[0]]).toEqual([
    [nowMs - dayMs + 8 * minuteMs, 14 / 15],
    [nowMs - dayMs + 8 * minuteMs, 2],
  ]);
  expect([today[95]?.[1], day.latestP95Ms]).toEqual([2, 190]);
});
