import { expect, test } from "vitest";
import { queryParameters } from "../../../../runtime/http/server/query-string.ts";
import { readDeliveryStatsQuery } from "../../../../runtime/http/routes/partner-stats.ts";

const nowMs = Date.UTC(2026, 0, 3, 12, 7, 30);
const queryOf = (query: string) => readDeliveryStatsQuery(queryParameters(`/stats?${query}`), nowMs);

test("the window starts with a whole step and ends with a whole minute", () => {
  expect(queryOf("")).toMatchObject({
    fromMs: Date.UTC(2026, 0, 2, 12, 5),
    toMs: Date.UTC(2026, 0, 3, 12, 8),
    stepMs: 300_000,
    groupBy: undefined,
  });
  expect(queryOf("from=2026-01-01T12:07:30Z&step=1h&group_by=tenant")).toMatchObject({
    fromMs: Date.UTC(2026, 0, 1, 12),
    stepMs: 3_600_000,
    groupBy: "tenant",
  });
  expect(queryOf("from=2026-01-01T12:07:00Z&step=1m")).toMatchObject({ stepMs: 60_000 });
});

test.each([
  ["from=2026-01-01T12:06:00Z", "invalid_window", "from"],
  ["from=2026-01-03T12:00:00Z&to=2026-01-03T12:00:00Z", "invalid_window", "from"],
  ["step=2m", "invalid_step", "step"],
  ["group_by=type", "invalid_request", "group_by"],
  ["limit=3", "unknown_parameter", "limit"],
])("%s is rejected", (query, code, field) => {
  expect(() => queryOf(query)).toThrow(expect.objectContaining({ code, errors: [expect.objectContaining({ field })] }));
});
