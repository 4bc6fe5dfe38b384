import { describe, expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { queryParameters } from "../../../../runtime/http/server/query-string.ts";
import { readEventQuery, readPartnerQuery, readWait } from "../../../../runtime/http/routes/event-query.ts";

const nowMs = Date.UTC(2026, 0, 31, 12);
const dayMs = 86_400_000;
const listed = (query: string) =>
  readEventQuery(queryParameters(`/webhooks/events?${query}`), { tenants: ["acme"] }, nowMs);
const waits = (query: string) => readWait(queryParameters(`/webhooks/events?${query}`));

function refusalOf(read: () => unknown): readonly (string | undefined)[] {
  try {
    read();
    return [];
  } catch (error) {
    return error instanceof ApiError ? [error.code, error.errors[0]?.field] : [String(error)];
  }
}

describe("a list of events", () => {
  test("takes times, counts and filters as they are documented", () => {
    const query =
      "from=2026-01-30T00:00:00Z&to=2026-01-31T00:00:00.000Z&type=payout.*&partner=shop/one&state=dead&cursor=7&" +
      "limit=200";
    expect(listed(query)).toEqual({
      tenants: ["acme"],
      fromMs: Date.UTC(2026, 0, 30),
      toMs: Date.UTC(2026, 0, 31),
      type: "payout.*",
      partner: "shop/one",
      state: "dead",
      afterSeq: 7,
      limit: 200,
    });
  });

  test("takes a status, a class of them or none, and a reason", () => {
    expect(["503", "5xx", "none"].map((status) => listed(`status=${status}`).status)).toEqual([
      { min: 503, max: 503 },
      { min: 500, max: 599 },
      { min: 0, max: 0 },
    ]);
    expect(listed("reason=status_404").reason).toBe("status_404");
  });

  test("takes a cursor as the place before which older events come, with the newest first", () => {
    expect(listed("order=desc&cursor=7")).toMatchObject({ order: "desc", beforeSeq: 7 });
    expect(listed("order=desc")).not.toHaveProperty("beforeSeq");
    expect(listed("order=asc&cursor=7")).toMatchObject({ afterSeq: 7 });
  });

  test("waits for the first event after a cursor, for at most 25 s", () => {
    expect([waits(""), waits("wait=0"), waits("wait=25&cursor=7"), waits("wait=5&cursor=0&order=asc")]).toEqual([
      0, 0, 25_000, 5_000,
    ]);
    for (const query of ["wait=26&cursor=7", "wait=5", "wait=5&cursor=7&order=desc", "wait=1s&cursor=7"])
      expect(refusalOf(() => waits(query))).toEqual(["invalid_request", "wait"]);
  });

  test.each([
    ["now", "", nowMs - dayMs],
    ["the time that it ends before", "to=2026-01-20T00:00:00Z", Date.UTC(2026, 0, 19)],
    ["the beginning, with an id to begin after", "after_id=e-1", 0],
  ])("begins a day before %s when it names no beginning", (_, query, fromMs) => {
    expect(listed(query)).toMatchObject({ fromMs, limit: 50 });
  });

  test.each([
    ["a number for a time", "from=0", "invalid_time", "from"],
    ["a day alone", "from=2026-01-30", "invalid_time", "from"],
    ["a day that does not exist", "to=2026-02-30T00:00:00Z", "invalid_time", "to"],
    ["a time of another zone", "to=2026-01-30T00:00:00%2B01:00", "invalid_time", "to"],
    ["an empty time", "from=", "invalid_time", "from"],
    [
      "a beginning that is not before the end",
      "from=2026-01-30T00:00:00Z&to=2026-01-30T00:00:00Z",
      "invalid_window",
      "from",
    ],
    ["a beginning in the future", "from=2026-02-01T00:00:00Z", "invalid_window", "from"],
    ["a count in another notation", "limit=1e2", "invalid_limit", "limit"],
    ["a count with a sign", "limit=%2B5", "invalid_limit", "limit"],
    ["a count with a leading zero", "limit=05", "invalid_limit", "limit"],
    ["a count beyond the page", "limit=201", "invalid_limit", "limit"],
    ["an empty type", "type=", "invalid_request", "type"],
    ["an empty partner", "partner=", "invalid_request", "partner"],
    ["an empty id", "after_id=", "invalid_request", "after_id"],
    ["a text of any length", `before_id=${"x".repeat(201)}`, "invalid_request", "before_id"],
    ["a status that is none", "status=6xx", "invalid_request", "status"],
    ["a reason of another form", "reason=Not Found", "invalid_request", "reason"],
    ["an order that is none", "order=newest", "invalid_request", "order"],
    ["a state that is none", "state=lost", "invalid_request", "state"],
    ["a parameter twice", "type=a.b&type=a.c", "invalid_request", "type"],
    ["a cursor of its own making", "cursor=-1", "invalid_request", "cursor"],
    ["what is not known", "tenant=acme", "unknown_parameter", "tenant"],
  ])("refuses %s, as queries for metrics do", (_, query, code, field) => {
    expect(refusalOf(() => listed(query))).toEqual([code, field]);
  });
});

describe("a list of partners", () => {
  const listedPartners = (query: string) => readPartnerQuery(queryParameters(`/webhooks/partners?${query}`));

  test("takes a search in any case, whose parts are separated by spaces, and a page", () => {
    expect(listedPartners("")).toEqual({ search: [], skipped: 0, limit: 50 });
    expect(listedPartners("search=+Acme%20%20PAY&cursor=9&limit=2")).toEqual({
      search: ["acme", "pay"],
      skipped: 9,
      limit: 2,
    });
  });

  test.each([
    [`search=${"a".repeat(201)}`, "invalid_request", "search"],
    ["search=a&search=b", "invalid_request", "search"],
    ["find=a", "unknown_parameter", "find"],
  ])("rejects %.20s", (query, code, field) => {
    expect(refusalOf(() => listedPartners(query))).toEqual([code, field]);
  });
});
