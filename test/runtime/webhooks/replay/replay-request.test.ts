import { eventIdsMax } from "../../../../api/replays.ts";
import { describe, expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { parseAckRequest, parseReplayRequest, parseSelection } from "../../../../runtime/webhooks/replay/parse-body.ts";

const bytes = (body: unknown): Uint8Array => Buffer.from(typeof body === "string" ? body : JSON.stringify(body));

/** Code of the refusal and the invalid fields. */
async function refusal(step: () => Promise<unknown>): Promise<readonly string[]> {
  try {
    await step();
  } catch (error) {
    if (error instanceof ApiError) return [error.code, ...error.errors.map(({ field, code }) => `${field}: ${code}`)];
    throw error;
  }
  return [];
}

test("a selection has each of its filters", async () => {
  const filters = { partner: "a/b", reason: "status_404", tenant: "acme", event_ids: ["e-1"], note: "by hand" };
  const from = { from: "2026-01-01T00:00:00Z", dead_letter_ids: ["7-abcdefgh"] };
  expect(await parseSelection("acknowledge", bytes({ ...filters, ...from }))).toEqual({
    partner: "a/b",
    reason: "status_404",
    tenant: "acme",
    eventIds: ["e-1"],
    letterIds: ["7-abcdefgh"],
    note: "by hand",
    fromMs: Date.UTC(2026, 0, 1),
    types: [],
    dryRun: false,
    ratePerSecond: 100,
  });
  expect(await parseSelection("redrive", bytes({ all: true }))).toEqual({
    types: [],
    dryRun: false,
    ratePerSecond: 100,
  });
});

describe("a request for a replay", () => {
  test("has defaults", async () => {
    const rest = { partners: [], types: [], onlyFailed: false, dryRun: false, ratePerSecond: 100, force: false };
    expect(await parseReplayRequest(bytes({ event_ids: ["e-1"] }))).toEqual({ ...rest, eventIds: ["e-1"] });
    expect(await parseReplayRequest(bytes({ from: "2026-01-01T00:00:00Z" }))).toEqual({
      ...rest,
      fromMs: Date.UTC(2026, 0, 1),
    });
  });

  test.each<[string, unknown, readonly string[]]>([
    ["is no JSON", "{", ["invalid_json"]],
    ["is no object", [], ["invalid_request"]],
    ["says nothing", {}, ["invalid_request", "from: required"]],
    [
      "names ids and a window",
      { event_ids: ["a"], to: "2026-01-01T00:00:00Z" },
      ["invalid_request", "event_ids: conflict"],
    ],
    ["is a window without a beginning", { to: "2026-01-01T00:00:00Z" }, ["invalid_request", "from: required"]],
    [
      "ends before it begins",
      { from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z" },
      ["invalid_request", "to: invalid"],
    ],
    ["has no ids", { event_ids: [] }, ["invalid_request", "event_ids: invalid"]],
    [
      "has too many ids",
      { event_ids: Array.from({ length: eventIdsMax + 1 }, (_, index) => `e-${index}`) },
      ["invalid_request", "event_ids: invalid"],
    ],
    ["has an id with a space", { event_ids: ["a b"] }, ["invalid_request", "event_ids: invalid"]],
    ["has a field of another name", { event_ids: ["a"], evnt: 1 }, ["invalid_request", "evnt: unknown"]],
    [
      "has a rate of nothing",
      { event_ids: ["a"], rate_per_second: 0 },
      ["invalid_request", "rate_per_second: invalid"],
    ],
    [
      "has everything wrong",
      { after_id: 1, dry_run: "yes", types: "a.b" },
      ["invalid_request", "after_id: invalid", "types: invalid", "dry_run: invalid"],
    ],
  ])("that %s is refused", async (_what, body, expected) => {
    expect((await refusal(() => parseReplayRequest(bytes(body)))).toSorted()).toEqual(expected.toSorted());
  });
});

test.each<[string, () => Promise<unknown>, readonly string[]]>([
  [
    "a redrive without a filter",
    () => parseSelection("redrive", bytes({ dry_run: true })),
    ["invalid_request", "partner: required"],
  ],
  [
    "a redrive of a reason with a wildcard",
    () => parseSelection("redrive", bytes({ partner: "a/b", reason: "*" })),
    ["invalid_request", "reason: invalid"],
  ],
  [
    "an acknowledgement of everything but not quite",
    () => parseSelection("acknowledge", bytes({ all: false })),
    ["invalid_request", "all: invalid"],
  ],
  [
    "a selection that ends before it begins",
    () => parseSelection("acknowledge", bytes({ from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z" })),
    ["invalid_request", "to: invalid"],
  ],
  [
    "a selection by ids of another list",
    () => parseSelection("redrive", bytes({ dead_letter_ids: ["e-1"] })),
    ["invalid_request", "dead_letter_ids: invalid"],
  ],
  [
    "an acknowledgement of nothing",
    () => parseAckRequest(bytes({ partner: "a/b" })),
    ["invalid_request", "event_id: required"],
  ],
  [
    "an acknowledgement with a long note",
    () => parseAckRequest(bytes({ event_id: "e", partner: "a/b", note: "n".repeat(1_025) })),
    ["invalid_request", "note: invalid"],
  ],
])("%s is refused", async (_what, step, expected) => {
  expect(await refusal(step)).toEqual(expected);
});
