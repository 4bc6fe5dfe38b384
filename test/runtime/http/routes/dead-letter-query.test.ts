import { describe, expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { readCountsQuery, readDeadLetterQuery } from "../../../../runtime/http/routes/dead-letter-query.ts";
import { readReplayQuery, replayCursor } from "../../../../runtime/http/routes/event-query.ts";
import { queryParameters } from "../../../../runtime/http/server/query-string.ts";

const parameters = (query: string) => queryParameters(`/?${query}`);

function refusalOf(read: () => unknown): readonly (string | undefined)[] {
  try {
    read();
    return [];
  } catch (error) {
    return error instanceof ApiError ? [error.code, error.errors[0]?.field] : [String(error)];
  }
}

describe("a list of dead letters", () => {
  test.each([
    [
      "partner=shop/one&reason=status_404&limit=1",
      { partner: "shop/one", reason: "status_404", isNewestFirst: false, afterSeq: 0, limit: 1 },
    ],
    ["order=desc&cursor=7", { isNewestFirst: true, afterSeq: 7, limit: 50 }],
    ["order=asc", { isNewestFirst: false, afterSeq: 0, limit: 50 }],
  ])("takes %s", (query, expected) => {
    expect(readDeadLetterQuery(parameters(query))).toEqual(expected);
  });

  test.each([
    ["an empty reason", "partner=shop/one&reason=", "invalid_request", "reason"],
    ["a reason that would widen the subject", "partner=shop/one&reason=*", "invalid_request", "reason"],
    ["a count in another notation", "partner=shop/one&limit=1e2", "invalid_limit", "limit"],
    ["another order", "order=newest", "invalid_request", "order"],
    ["a cursor of another list", "cursor=17-a", "invalid_request", "cursor"],
  ])("refuses %s", (_, query, code, field) => {
    expect(refusalOf(() => readDeadLetterQuery(parameters(query)))).toEqual([code, field]);
  });

  test("counts take the same filters, and a member to group by", () => {
    const fromMs = Date.UTC(2026, 0, 1);
    expect(readCountsQuery(parameters("group_by=reason&type=payout.*&tenant=acme&from=2026-01-01T00:00:00Z"))).toEqual({
      filter: { type: "payout.*", tenant: "acme", fromMs },
      groupBy: "reason",
    });
    expect(readCountsQuery(parameters(""))).toEqual({ filter: {}, groupBy: undefined });
    expect(refusalOf(() => readCountsQuery(parameters("group_by=status")))).toEqual(["invalid_request", "group_by"]);
    expect(refusalOf(() => readCountsQuery(parameters("order=desc")))[0]).toBe("unknown_parameter");
    const turned = "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z";
    expect(refusalOf(() => readCountsQuery(parameters(turned)))).toEqual(["invalid_window", "from"]);
  });
});

describe("a list of replays", () => {
  test("takes its own cursor", () => {
    const after = { createdAtMs: 1_769_817_600_000, id: "0-a_B" };
    expect(readReplayQuery(parameters(`cursor=${replayCursor(after)}&limit=3`))).toEqual({ after, limit: 3 });
    expect(readReplayQuery(parameters(""))).toEqual({ limit: 50 });
  });

  test.each(["7", "-", "1-", "x-1", `1-${"a".repeat(65)}`, "1-a b"])("refuses the cursor %s", (cursor) => {
    const query = new URLSearchParams({ cursor }).toString();
    expect(refusalOf(() => readReplayQuery(parameters(query)))).toEqual(["invalid_request", "cursor"]);
  });
});
