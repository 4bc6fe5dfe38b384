import { selectionOf } from "../../console/pages/dead-letters-page.tsx";
import { absentText, othersOf } from "../../console/pages/preview-result-page.tsx";
import type { AttemptHistory } from "../../api/histories.ts";
import type { PartnerDetail } from "../../api/partners.ts";
import { describe, expect, test } from "vitest";
import { phasesOf, scaleOf } from "../../console/events/waterfall.tsx";
import { mergedRows } from "../../console/pages/events-page.tsx";
import { stateReasons } from "../../console/partners/state-reasons.ts";
import { tenantsToPing } from "../../console/partners/ping-button.tsx";
import { attemptsIn, statsRangeOf, statsRanges, statsSeries, statsWindow } from "../../console/partners/stats.ts";
import { timelineOf } from "../../console/partners/timeline.ts";
import { formatTime } from "../../console/components/format.ts";
import { replaySelection } from "../../console/pages/replays-page.tsx";
import { mustType } from "../../console/components/confirm-count.tsx";
import type { Replay } from "../../api/replays.ts";
import { progressTotal, selectedBy } from "../../console/replays/progress.tsx";
import { bulkLabel, notesOf, publishedBy } from "../../console/webhooks/start-replay.tsx";

const attempt: AttemptHistory = {
  attempt: 1,
  at: "2026-03-02T12:00:00.000Z",
  status: 200,
  duration_ms: 20,
  phases_ms: { dns: 1.5, connect: 2, tls: null, first_byte: 12 },
  error: null,
  response: null,
  replay_id: null,
  settlement: { kind: "delivered" },
  signed: null,
};

describe("phases of an attempt", () => {
  test("follow each other and end with the rest", () => {
    expect(phasesOf(attempt).map(({ name, startMs, ms }) => [name, startMs, ms])).toEqual([
      ["dns", 0, 1.5],
      ["connect", 1.5, 2],
      ["first_byte", 3.5, 12],
      ["rest", 15.5, 4.5],
    ]);
  });

  test.each([
    ["tls", { connect: 19 }, ["TCP connect 19", "TLS handshake 98"]],
    ["client_certificate", { connect: 2, tls: 8 }, ["TCP connect 2", "TLS handshake 115"]],
    ["first_byte_timeout", {}, ["Waiting (TTFB) 117"]],
    ["reset", { connect: 2 }, ["TCP connect 2", "Waiting (TTFB) 115"]],
    ["connect_timeout", { connect: 116.9 }, ["TCP connect 117"]],
    ["connect_timeout", { connect: 17 }, ["TCP connect 17", "TLS handshake 100"]],
    ["connect_timeout", { dns: 2 }, ["DNS lookup 2", "TCP connect 115"]],
    ["timeout", {}, ["Other 117"]],
  ])("of an attempt that failed with %s end with the one that failed: %j", (reason, measured, expected) => {
    const none = { dns: null, connect: null, tls: null, first_byte: null };
    const failed = { ...attempt, status: null, duration_ms: 117, error: { reason, detail: "" } };
    const found = phasesOf({ ...failed, phases_ms: { ...none, ...measured } });
    expect(found.map(({ label, ms }) => `${label} ${ms}`)).toEqual(expected);
  });

  test("have one scale for all attempts of a delivery", () => {
    expect(scaleOf([attempt, { ...attempt, duration_ms: 90 }])).toBe(90);
    expect(scaleOf([])).toBe(1);
  });
});

describe("a dry run", () => {
  const dryRun = { dry_run: true, matched: 10, in_progress: 3, too_old: 2, missing: 1, complete: true } as const;
  test("counts what would be sent", () => {
    expect(publishedBy(dryRun)).toBe(5);
    expect(notesOf(dryRun)).toHaveLength(3);
  });

  test("starts with a button that names what it does, and a large count is typed", () => {
    expect(bulkLabel("Acknowledge", 1)).toBe("Acknowledge 1 dead letter");
    expect(bulkLabel("Redrive", 1_200)).toBe("Redrive 1,200 dead letters");
    expect(bulkLabel("Replay", 1)).toBe("Replay 1 delivery");
    expect([mustType(9), mustType(10)]).toEqual([false, true]);
    expect(notesOf(dryRun).at(-1)).toBe("1 event is not stored any more.");
    expect(notesOf(dryRun, "Redrive").at(-1)).toBe("1 dead letter left the list: redriven or acknowledged meanwhile.");
  });

  test("says when it does not count all", () => {
    expect(notesOf({ ...dryRun, complete: false }).at(-1)).toContain("more than a dry run counts");
  });
});

test("a row that came while following takes the state of the list", () => {
  const row = (id: string, state: "in_delivery" | "delivered") => ({
    event_id: id,
    type: "a.b",
    tenant: "t1",
    accepted_at: attempt.at,
    routed_at: null,
    deliveries: [{ partner: "default/acme", state, reason: null, status: null, attempts: 0, waiting: null }],
  });
  const rows = mergedRows(
    [row("new", "in_delivery"), row("b", "in_delivery")],
    [row("b", "delivered"), row("a", "delivered")],
  );
  expect(rows.map(({ event_id: id, deliveries: [first] }) => [id, first?.state])).toEqual([
    ["new", "in_delivery"],
    ["b", "delivered"],
    ["a", "delivered"],
  ]);
});

describe("figures of a partner", () => {
  test("have at most 300 points in each range, and one path within a step", () => {
    for (const range of statsRanges) {
      const { from, to } = statsWindow(range, Date.parse("2026-03-02T12:00:01Z"));
      expect(statsWindow(range, Date.parse("2026-03-02T12:00:40Z"))).toEqual({ from, to });
      expect(Date.parse(to) - Date.parse(from)).toBe(range.seconds * 1_000);
    }
    expect(statsRangeOf("unknown").name).toBe("1h");
  });

  test("keep gaps as gaps", () => {
    const answers = { "2xx": 0, "3xx": 0, "4xx": 0, "5xx": 0, none: 0 };
    const point = {
      at: attempt.at,
      delivered: 0,
      rejected: 0,
      dead: 0,
      retried: 0,
      answers,
      p50_ms: null,
      p95_ms: null,
    };
    expect(statsSeries([point]).durations[0]?.points).toEqual([[Date.parse(attempt.at), null]]);
    expect(attemptsIn([point, { ...point, answers: { ...answers, "5xx": 2, none: 1 } }])).toBe(3);
  });
});

const partner: PartnerDetail = {
  partner: "default/acme",
  state: "active",
  reason: null,
  missing: null,
  rejected: null,
  subscriptions: [{ name: "all", types: ["*"], tenants: ["t2", "t1"] }],
  keys: [{ id: "k1", not_after: "2026-04-01T00:00:00Z" }],
  signing: { scheme: "hmac" },
  retry: { schedule_seconds: [], max_age_seconds: 60, jitter_percent: 0 },
  delivery: { max_in_flight: 1, rate_per_second: null, max_backlog: null },
  live: {
    known: true,
    hidden: false,
    as_of: "2026-03-02T12:00:00Z",
    age_seconds: 0,
    breaker: "open",
    breaker_until: "2026-03-02T12:01:00Z",
    backlog: 1,
    in_flight: 0,
    oldest_due_at: "2026-03-02T11:00:00Z",
  },
};

test("a timeline has the latest first", () => {
  const count = {
    partner: "default/acme",
    reason: "status_404",
    count: 2,
    oldest_at: attempt.at,
    newest_at: attempt.at,
  };
  expect(timelineOf(partner, [count]).map(({ state }) => state)).toEqual(["key", "open", "dead", "dead", "late"]);
});

test("a timeline has no probe of a circuit breaker if nothing waits for it", () => {
  const idle = { ...partner, live: { ...partner.live, backlog: 0 } };
  expect(timelineOf(idle, []).map(({ state }) => state)).toEqual(["key", "late"]);
});

test("a timeline has since when the circuit breaker is open", () => {
  const health = { kind: "circuit_open", reason: "9 failures", since: attempt.at, until: null } as const;
  expect(timelineOf({ ...partner, health }, [])).toContainEqual({
    at: attempt.at,
    state: "circuit_open",
    text: "The circuit breaker opened",
  });
});

const missing = "SecretNotFound: default/acme";
const rejected = { reason: "SecretNotFound", message: "the Secret default/acme does not exist" };

test.each<[string, Partial<PartnerDetail>, readonly string[]]>([
  ["that is active", {}, []],
  ["that is held", { state: "held", reason: "unresolved", missing }, ["The Secret default/acme is missing"]],
  [
    "that is held since it was created, for one fault only",
    { state: "held", reason: "unresolved", missing, rejected },
    ["The Secret default/acme is missing"],
  ],
  [
    "that is held and has another fault",
    { state: "held", reason: "unresolved", missing, rejected: { reason: "Invalid", message: null } },
    ["The Secret default/acme is missing", "Last edit rejected: Invalid"],
  ],
  ["whose edit was rejected", { rejected }, [`Last edit rejected (SecretNotFound): ${rejected.message}`]],
  ["that is disabled", { state: "disabled" }, ["The endpoint responded with status 410 (Gone)."]],
])("a partner %s has the reasons of its state", (_, changes, expected) => {
  expect(stateReasons({ ...partner, ...changes })).toEqual(expected);
});

test.each([
  [["*"], ["t1", "t2"]],
  [["t2", "t9"], ["t2"]],
  [["t9"], []],
])("a token for tenants %j can ping for %j", (own, tenants) => {
  expect(tenantsToPing(partner, own)).toEqual(tenants);
});

test("the selection of a replay in words, with times in the chosen zone", () => {
  const filter = { partners: ["default/acme"], types: ["payout.*"], only_failed: true };
  const counts = { matched: 0, in_progress: 0, too_old: 0, missing: 0, published: 0, delivered: 0, failed: 0 };
  const common = {
    replay_id: "r",
    status: "queued",
    created_at: attempt.at,
    detail: null,
    requested_by: null,
  } as const;
  const window = { from: null, to: "2026-03-02T12:00:00Z" };
  expect(
    replaySelection({ ...counts, ...common, kind: "replay", filter, window, event_ids: null }, (at) => formatTime(at)),
  ).toBe("deliveries until 2026-03-02 12:00:00 UTC to default/acme of type payout.* only failed ones");
  const redrive = { ...counts, ...common, kind: "redrive", filter, window: null, event_ids: 1 } as const;
  expect(replaySelection(redrive, (at) => formatTime(at))).toBe(
    "dead letters of 1 event to default/acme of type payout.*",
  );
  const selected = ["a", "b", "c", "d", "e"].map((name) => `shop/${name}`);
  const byIds = { ...redrive, filter: { partners: [], types: [], only_failed: false }, event_ids: 5 } as const;
  const ofPartners = (count: number): string =>
    replaySelection({ ...byIds, selected_partners: selected.slice(0, count) }, (at) => formatTime(at));
  expect(ofPartners(3)).toBe("dead letters of 5 events to shop/a, shop/b, shop/c");
  expect(ofPartners(5)).toBe("dead letters of 5 events to shop/a, shop/b, shop/c, 2 more");
});

test("a selection names its times as the page does", () => {
  const shown = (at: string): string => `shown ${at}`;
  const { body, what } = selectionOf(new Set(), { reason: "timeout", from: "2026-01-31T10:00:00.000Z" }, shown);
  expect(what).toBe("Dead letters with reason timeout, from shown 2026-01-31T10:00:00.000Z");
  expect(body).toEqual({ reason: "timeout", from: "2026-01-31T10:00:00.000Z" });
});

const stays = { added: [], changed: [], refused: [], unchanged: 18 };

test("objects that an edit does not name are among the unchanged ones, unless they are removed", () => {
  const names = ["WebhookPartner/default/a", "WebhookPartner/default/b"];
  expect(othersOf({ ...stays, unnamed: names, removed: [] })).toBe("18 unchanged, of which the edit does not name 2.");
  expect(othersOf({ ...stays, unnamed: names, removed: names })).toBe("18 unchanged.");
  expect(othersOf({ ...stays, unchanged: 0, unnamed: names, removed: [] })).toBe("2 not in the edit.");
});

test.each([
  ["of an entry that the edit removes", { field: "metrics[lag]", before: "{}" }, "after", "removed"],
  ["of an entry that the edit adds", { field: "metrics[lag]", after: "{}" }, "before", "not set"],
  ["of a field that the edit unsets", { field: "retry.jitter", before: "1" }, "after", "not set"],
  ["that the server lists as hidden", { field: "x", after: "1", hidden: ["before" as const] }, "before", "hidden"],
  ["that a server of an earlier version hides", { field: "headers.x" }, "before", "hidden"],
] as const)("the preview states why a value is absent %s", (_title, change, side, text) => {
  expect(absentText(change, side)).toBe(text);
});

test("a replay that still reads its matches shows all that were counted", () => {
  const replay = (status: "running" | "completed", more: object) =>
    ({ status, matched: 23, published: 10, delivered: 9, failed: 0, ...more }) as Replay;
  expect(progressTotal(replay("running", { expected: 45 }))).toBe(45);
  expect(selectedBy(replay("running", { expected: 45 }))).toBe(45);
  // It was not counted, or more came.
  expect(progressTotal(replay("running", {}))).toBe(23);
  expect(selectedBy(replay("running", { expected: 20 }))).toBe(23);
  expect(progressTotal(replay("completed", { expected: 45 }))).toBe(10);
  expect(progressTotal(replay("completed", { expected: 45, acknowledged: 40 }))).toBe(45);
});
