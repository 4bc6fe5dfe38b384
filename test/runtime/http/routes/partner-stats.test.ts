import { expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { queryParameters } from "../../../../runtime/http/server/query-string.ts";
import { readStatsWindow } from "../../../../runtime/http/routes/partner-stats.ts";

const nowMs = Date.UTC(2026, 0, 31, 12, 0, 30);
const minuteMs = 60_000;
const dayMs = 86_400_000;
const windowOf = (query: string) => readStatsWindow(queryParameters(`/stats?${query}`), nowMs);

test("the figures of a partner are those of a day in steps that fit, unless the request says otherwise", () => {
  expect(windowOf("")).toEqual({ fromMs: Date.UTC(2026, 0, 30, 12), toMs: nowMs, stepMs: 5 * minuteMs });
  expect(windowOf("from=2026-01-31T11:07:00Z&to=2026-01-31T11:30:00Z&step=10m")).toEqual({
    fromMs: Date.UTC(2026, 0, 31, 11),
    toMs: Date.UTC(2026, 0, 31, 11, 30),
    stepMs: 10 * minuteMs,
  });
  expect(windowOf("from=2020-01-01T00:00:00Z").stepMs % dayMs).toBe(0);
});

test.each([
  ["too many steps", "step=1m", "invalid_step", "step"],
  ["a step that is no duration", "step=60", "invalid_step", "step"],
  ["a beginning in the future", "from=2027-01-01T00:00:00Z", "invalid_window", "from"],
  ["a time that is none", "to=yesterday", "invalid_time", "to"],
  ["another parameter", "tenant=acme", "unknown_parameter", "tenant"],
])("%s is refused by its name", (_, query, code, field) => {
  expect(refusalOf(query)).toEqual([code, field]);
});

function refusalOf(query: string): readonly (string | undefined)[] {
  try {
    windowOf(query);
    return [];
  } catch (error) {
    return error instanceof ApiError ? [error.code, error.errors[0]?.field] : [String(error)];
  }
}
