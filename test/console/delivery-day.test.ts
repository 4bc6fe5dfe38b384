import type { DeliveryStats } from "../../api/delivery-stats.ts";
import { expect, test } from "vitest";
import { backlogText } from "../../console/home/deliveries-section.tsx";
import { deliveryDay, twoDays } from "../../console/home/delivery-day.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;
const nowMs = Date.UTC(2026, 0, 31, 12, 7);

const statsOf = (
  window: { from: string; to: string },
  delivered: number,
  completeFrom = window.from,
): DeliveryStats => {
  const figures = { accepted: 0, attempts: 30, delivered, failed: 0, retried: 0, p50_ms: 1 };
  const data = Array.from({ length: 96 }, (_, step) => ({
    at: new Date(Date.parse(window.from) + step * 15 * minuteMs).toISOString(),
    partner: null,
    tenant: null,
    ...figures,
    p95_ms: step,
  }));
  const meta = { ...window, step_seconds: 900, group_by: null, complete: completeFrom === window.from };
  return { data, totals: { ...figures, p95_ms: 77 }, meta: { ...meta, complete_from: completeFrom } };
};

test("the days end with the interval of now, and stay the same within it", () => {
  expect(twoDays(nowMs)).toEqual({
    today: { from: "2026-01-30T12:15:00.000Z", to: "2026-01-31T12:15:00.000Z" },
    before: { from: "2026-01-29T12:15:00.000Z", to: "2026-01-30T12:15:00.000Z" },
  });
  expect(twoDays(nowMs + 8 * minuteMs)).toEqual(twoDays(nowMs));
  expect(twoDays(nowMs + 9 * minuteMs)).not.toEqual(twoDays(nowMs));
});

test("the day before is drawn beneath the last 24 hours, and the interval under way by its minutes", () => {
  const { today, before } = twoDays(nowMs);
  const day = deliveryDay(statsOf(today, 15), statsOf(before, 30), nowMs);
  expect([day.today, day.before]).toEqual([
    { attempts: 2_880, delivered: 1_440, failed: 1_440, successRate: 0.5, p95Ms: 77 },
    { attempts: 2_880, delivered: 2_880, failed: 0, successRate: 1, p95Ms: 77 },
  ]);
  const [points = [], earlier = []] = day.throughput.map((series) => series.points);
  expect(earlier.map(([atMs]) => atMs)).toEqual(points.map(([atMs]) => atMs));
  expect([points[0], earlier[0], points[95]?.[1]]).toEqual([
    [nowMs - dayMs + 8 * minuteMs, 2],
    [nowMs - dayMs + 8 * minuteMs, 2],
    30 / 7,
  ]);
  expect(day.completeFrom).toBeUndefined();
});

test("hours without figures are a gap, and a day that lacks some has no totals to compare with", () => {
  const { today, before } = twoDays(nowMs);
  const begin = "2026-01-30T20:20:00.000Z";
  const day = deliveryDay(statsOf(today, 30, begin), statsOf(before, 0, before.to), nowMs);
  const [points = [], earlier = []] = day.failed.map((series) => series.points);
  expect(points.findIndex(([, value]) => value !== null)).toBe(33);
  expect(earlier.filter(([, value]) => value !== null)).toEqual([]);
  expect([day.before, day.completeFrom]).toEqual([undefined, begin]);
  const { totals: _, ...older } = statsOf(today, 30);
  expect(deliveryDay(older, undefined, nowMs)).toMatchObject({ today: { attempts: 2_880, p95Ms: null } });
});

test("the backlog counts what waits for partners that get nothing at present", () => {
  const partnerOf = (kind: "healthy" | "held" | "circuit_open" | "paused", backlog: number | null) => ({
    state: "active" as const,
    backlog,
    health: { kind, since: null, reason: null, until: null },
  });
  const some = [
    partnerOf("healthy", 474),
    partnerOf("held", 300),
    partnerOf("paused", 0),
    partnerOf("circuit_open", 38),
  ];
  expect(backlogText(some)).toBe(
    "Backlog: 812 waiting deliveries, of which 338 to 2 partners that are disabled, held, paused or behind an open breaker.",
  );
  expect(backlogText([partnerOf("healthy", 1), partnerOf("healthy", null)])).toBe(
    "Backlog: 1 waiting delivery to 1 partner; that of 1 partner is unknown.",
  );
  expect(backlogText([])).toBe("Backlog unknown.");
});
