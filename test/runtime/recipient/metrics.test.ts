import { describe, expect, test } from "vitest";
import { createRecipientMetrics, type RecipientMetrics } from "../../../runtime/recipient/metrics.ts";
import type { DeliveryReport } from "../../../runtime/recipient/receive.ts";

function reported(reports: readonly Partial<DeliveryReport>[]): RecipientMetrics {
  const metrics = createRecipientMetrics();
  const common = { outcome: "processed", status: 200, traceId: "t", durationMs: 1 } as const;
  for (const report of reports) metrics.report({ ...common, ...report });
  return metrics;
}

const times = (count: number, report: Partial<DeliveryReport>): readonly Partial<DeliveryReport>[] =>
  Array.from({ length: count }, () => report);

describe("the metrics of a recipient", () => {
  test("give the figures of the seed (Webhook Event Delivery §6)", () => {
    const metrics = reported([
      ...times(5, { handlerMs: 3 }),
      ...times(3, { outcome: "duplicate" }),
      ...times(1, { outcome: "failed", status: 500, handlerMs: 3 }),
      ...times(1, { outcome: "unverified", status: 401, fault: "signature_mismatch" }),
    ]);
    expect(metrics.figures()).toEqual({
      deliveries: 10,
      verifyFailRate: 0.1,
      duplicateRate: 3 / 9,
      serverErrorRate: 0.1,
      handlerP95Ms: expect.closeTo(4.875) as number,
    });
  });

  test("give no rates and no latency before the first delivery", () => {
    expect(createRecipientMetrics().figures()).toEqual({
      deliveries: 0,
      verifyFailRate: 0,
      duplicateRate: 0,
      serverErrorRate: 0,
    });
  });

  test.each([
    ["in the bucket of most handlers", [...times(90, { handlerMs: 2 }), ...times(10, { handlerMs: 200 })], 175],
    ["at the last bound for what lies above it", times(1, { handlerMs: 60_000 }), 30_000],
    ["of a handler that took no time", times(20, { handlerMs: 0 }), 0.95],
  ])("interpolate the 95th percentile %s", (_, reports, ms) => {
    expect(reported(reports).figures().handlerP95Ms).toBeCloseTo(ms);
  });

  test("have Prometheus's text format", () => {
    const lines = reported([{ handlerMs: 3 }, { outcome: "unverified", status: 401, fault: "timestamp_missing" }])
      .text()
      .split("\n");
    expect(lines.filter((line) => !/_bucket/u.test(line))).toEqual([
      "# HELP heliograph_recipient_deliveries_total Deliveries by outcome.",
      "# TYPE heliograph_recipient_deliveries_total counter",
      'heliograph_recipient_deliveries_total{outcome="processed"} 1',
      'heliograph_recipient_deliveries_total{outcome="unverified"} 1',
      "# HELP heliograph_recipient_verify_failures_total Invalid deliveries by fault.",
      "# TYPE heliograph_recipient_verify_failures_total counter",
      'heliograph_recipient_verify_failures_total{fault="timestamp_missing"} 1',
      "# HELP heliograph_recipient_responses_total Responses by class of status.",
      "# TYPE heliograph_recipient_responses_total counter",
      'heliograph_recipient_responses_total{status="2xx"} 1',
      'heliograph_recipient_responses_total{status="4xx"} 1',
      "# HELP heliograph_recipient_handler_seconds Time in the handler.",
      "# TYPE heliograph_recipient_handler_seconds histogram",
      "heliograph_recipient_handler_seconds_sum 0.003",
      "heliograph_recipient_handler_seconds_count 1",
      "",
    ]);
    expect(lines).toContain('heliograph_recipient_handler_seconds_bucket{le="0.0025"} 0');
    expect(lines).toContain('heliograph_recipient_handler_seconds_bucket{le="0.005"} 1');
    expect(lines).toContain('heliograph_recipient_handler_seconds_bucket{le="+Inf"} 1');
  });
});
