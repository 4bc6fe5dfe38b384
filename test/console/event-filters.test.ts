import type { EventPage } from "../../api/histories.ts";
import { describe, expect, test } from "vitest";
import type { ApiResponse, ApiClient } from "../../console/api/client.ts";
import {
  eventsPath,
  filtersOf,
  filterWords,
  followPath,
  meansFailed,
  rangeText,
  windowOf,
  type EventFilters,
} from "../../console/events/event-filters.ts";
import { replayBody } from "../../console/pages/events-page.tsx";

const nowMs = Date.parse("2026-03-02T12:00:00Z");
const day = { from: "2026-03-01T12:00:00.000Z", to: "2026-03-02T12:00:00.000Z" };
const event = { type: "payout.created", tenant: "lumen", accepted_at: day.from, routed_at: null, deliveries: [] };
const { signal } = new AbortController();

describe("a replay of what filters select", () => {
  const rows: readonly (readonly [title: string, filters: EventFilters, body: object])[] = [
    ["takes the last day without filters", {}, day],
    [
      "takes the window, the type and the partner of the filters",
      { from: "2026-03-01T00:00:00Z", to: "2026-03-01T06:00:00Z", type: "payout.*", partner: "default/acme" },
      {
        from: "2026-03-01T00:00:00Z",
        to: "2026-03-01T06:00:00.000Z",
        types: ["payout.*"],
        partners: ["default/acme"],
      },
    ],
    ["ends now when the filters end later", { to: "2026-03-09T00:00:00Z" }, day],
    [
      "names the ids of events by status, only failed ones",
      { status: "503" },
      { event_ids: ["a", "b"], only_failed: true },
    ],
    [
      "takes the window for failed deliveries, which a replay can select",
      { state: "failed", partner: "default/acme" },
      { ...day, partners: ["default/acme"], only_failed: true },
    ],
    ["names the ids of delivered events, delivered ones too", { state: "delivered" }, { event_ids: ["a", "b"] }],
  ];
  test.each(rows)("%s", async (_title, filters, body) => {
    const paths: string[] = [];
    expect(await replayBody(apiOf([["a"], ["b"]], paths), filters, nowMs, signal)).toEqual(body);
    // The end of the window is fixed, so that the pages belong together.
    for (const path of paths) expect(path).toContain("to=2026-03-02T12%3A00%3A00.000Z");
  });

  test("refuses more events than one replay takes", async () => {
    const pages = Array.from({ length: 6 }, (_, page) => Array.from({ length: 200 }, (_one, at) => `${page}-${at}`));
    await expect(replayBody(apiOf(pages, []), { status: "5xx" }, nowMs, signal)).rejects.toThrow("shorter time");
  });

  test("refuses filters that nothing matches", async () => {
    await expect(replayBody(apiOf([[]], []), { reason: "dns" }, nowMs, signal)).rejects.toThrow("No event matches");
  });
});

test.each([
  [{}, false],
  [{ state: "dead" }, true],
  [{ state: "failed" }, true],
  [{ state: "delivered", reason: "dns" }, false],
  [{ status: "5xx" }, true],
  [{ status: "none" }, true],
  [{ status: "204" }, false],
  [{ reason: "timeout" }, true],
])("filters %j mean only failed deliveries: %s", (filters, isMeant) => {
  expect(meansFailed(filters)).toBe(isMeant);
});

test.each([
  ["", {}, "Last 24 h"],
  ["range=24h&state=dead", { state: "dead" }, "Last 24 h"],
  ["range=1h", { from: "2026-03-02T11:00:00.000Z" }, "Last 1 h"],
  ["range=15m&cursor=7&open=e-1", { from: "2026-03-02T11:45:00.000Z" }, "Last 15 min"],
  ["range=1h&from=2026-03-02T10:00:00.000Z", { from: "2026-03-02T10:00:00.000Z" }, "Since 2026-03-02T10:00:00.000Z"],
  ["from=2026-03-02T12:00:00%2B02:00", { from: "2026-03-02T10:00:00.000Z" }, "Since 2026-03-02T10:00:00.000Z"],
  ["from=2026-03-02T12:00:00+02:00", { from: "2026-03-02T10:00:00.000Z" }, "Since 2026-03-02T10:00:00.000Z"],
  ["from=now-1h", { from: "2026-03-02T11:00:00.000Z" }, "Since 2026-03-02T11:00:00.000Z"],
  ["from=yesterday", { from: "yesterday" }, "Not a time: yesterday"],
  [
    "to=2026-03-02T10:00:00.000Z",
    { to: "2026-03-02T10:00:00.000Z" },
    `${day.from.replace("T12", "T10")} to 2026-03-02T10:00:00.000Z`,
  ],
])("the address %j has the filters %j", (query, filters, range) => {
  expect(filtersOf(new URLSearchParams(query), nowMs)).toEqual(filters);
  expect(rangeText(new URLSearchParams(query), nowMs, (at) => at)).toBe(range);
});

test("paths encode what readers type", () => {
  expect(eventsPath({ type: "a&limit=1#x" }, "")).toBe("/webhooks/events?order=desc&limit=50&type=a%26limit%3D1%23x");
  expect(followPath({ to: "2026-03-01T00:00:00Z", state: "dead" }, "7")).toBe(
    "/webhooks/events?order=asc&wait=25&state=dead&cursor=7",
  );
});

test("filters are said in words", () => {
  expect(windowOf({}, nowMs)).toEqual(day);
  expect(filterWords({ status: "none", partner: "default/acme" }, nowMs)).toEqual([
    "accepted from 2026-03-01 12:00:00 UTC to 2026-03-02 12:00:00 UTC",
    "to default/acme",
    "without a response",
  ]);
});

/** An API that has these pages of event ids. @param paths gets the paths that are read */
function apiOf(pages: readonly (readonly string[])[], paths: string[]): Pick<ApiClient, "read"> {
  const read = (path: string): Promise<ApiResponse<EventPage>> => {
    paths.push(path);
    const page = Number(new URL(path, "http://console").searchParams.get("cursor") ?? "0");
    const data = (pages[page] ?? []).map((id) => ({ ...event, event_id: id }));
    const body = { data, meta: { cursor: page + 1 < pages.length ? String(page + 1) : null } };
    return Promise.resolve({ status: 200, body, headers: new Headers(), atMs: nowMs });
  };
  return { read: read as ApiClient["read"] };
}
