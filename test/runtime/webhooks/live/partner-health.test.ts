import { expect, test } from "vitest";
import type { DeliveryWait } from "../../../../api/histories.ts";
import { IndexColumns } from "../../../../runtime/webhooks/event-index/columns.ts";
import type { RolledAttempt } from "../../../../runtime/webhooks/event-index/rollups.ts";
import { readPartnerFigures } from "../../../../runtime/webhooks/history/partner-figures.ts";
import { partnerHealth, rejectedHealth } from "../../../../runtime/webhooks/live/partner-overview.ts";

const minuteMs = 60_000;
const nowMs = Date.UTC(2026, 0, 2, 12, 0, 30);
const label = "default/acme";

type Outcome = RolledAttempt["outcome"];

/** Attempts some minutes ago, each with its outcome. */
function made(minutesAgo: number, outcomes: readonly Outcome[], tenant = "a"): readonly RolledAttempt[] {
  const atMs = nowMs - minutesAgo * minuteMs;
  return outcomes.map((outcome) => ({ tenant, partner: label, atMs, outcome, durationMs: 100 }));
}

function several(count: number, outcome: Outcome): readonly Outcome[] {
  return Array.from({ length: count }, () => outcome);
}

async function figuresOf(attempts: readonly RolledAttempt[], tenants: readonly string[] = ["*"], reachMs = 0) {
  const columns = new IndexColumns();
  columns.rollups.advance(nowMs);
  for (const attempt of attempts) columns.rollups.addAttempt(attempt);
  const index = { read: async () => ({ columns, reachMs: 0, attemptsReachMs: 0, rollupsReachMs: reachMs }) };
  const figures = (await readPartnerFigures(index, { tenants, partners: new Set([label]), nowMs })).get(label);
  if (figures === undefined) throw new Error("no figures");
  return figures;
}

const healthAfter = async (attempts: readonly RolledAttempt[], tenants?: readonly string[]) =>
  partnerHealth({ block: undefined, figures: await figuresOf(attempts, tenants) });

test.each<[string, readonly RolledAttempt[], string | null]>([
  ["has no attempts", [], null],
  ["failed twice, which is too few", made(1, several(2, "retried")), null],
  ["failed three times in 15 minutes", made(1, several(3, "retried")), "3 of 3 attempts failed in the last 15 min"],
  [
    "failed in half of its attempts, rejections included",
    made(14, ["delivered", "delivered", "failed", "retried"]),
    "2 of 4 attempts failed in the last 15 min",
  ],
  [
    "failed again after a success",
    [...made(9, several(3, "retried")), ...made(7, ["delivered"]), ...made(5, ["retried"])],
    "4 of 5 attempts failed in the last 15 min",
  ],
  ["failed in less than half of its attempts", made(14, [...several(4, "delivered"), ...several(3, "retried")]), null],
  ["failed 17 minutes ago and succeeds since", [...made(17, several(9, "retried")), ...made(2, ["delivered"])], null],
  [
    "gets little traffic, and failed three times in a day since its last success",
    [...made(600, ["delivered"]), ...made(500, ["retried"]), ...made(300, ["retried"]), ...made(40, ["failed"])],
    "3 attempts failed since the last success, none succeeded",
  ],
  ["gets little traffic, and failed twice", [...made(500, ["retried"]), ...made(300, ["retried"])], null],
  ["failed before its last success only", [...made(500, several(9, "retried")), ...made(300, ["delivered"])], null],
  ["failed three times, but longer than a day ago", made(1_450, several(5, "failed")), null],
])("a partner that %s", async (_, attempts, reason) => {
  const health = await healthAfter(attempts);
  expect([health.kind, health.reason]).toEqual(reason === null ? ["healthy", null] : ["failing", reason]);
  expect(health.since === null).toBe(reason === null);
});

test("a partner that failed for minutes and then got everything by a redrive says so", async () => {
  const redriven = [...made(7, ["delivered"]), ...made(5, several(39, "delivered"))];
  expect(await healthAfter([...made(9, several(40, "retried")), ...redriven])).toMatchObject({
    kind: "failing",
    reason: "40 of 80 attempts failed in the last 15 min; the last 40 succeeded",
  });
});

test.each<[string, readonly RolledAttempt[], string]>([
  [
    "failed for a minute and recovered within 5 minutes",
    [...made(60, several(9, "delivered")), ...made(6, several(5, "retried")), ...made(4, several(4, "delivered"))],
    "2026-01-02T11:54:00.000Z",
  ],
  [
    "failed for minutes and recovered later",
    [...made(13, several(5, "retried")), ...made(12, several(5, "retried")), ...made(2, several(9, "delivered"))],
    "2026-01-02T11:47:00.000Z",
  ],
  [
    "failed once more after it recovered",
    [...made(9, several(9, "retried")), ...made(2, [...several(5, "delivered"), "retried"])],
    "2026-01-02T11:51:00.000Z",
  ],
])("a failing partner that %s is failing since its failures", async (_case, attempts, since) => {
  expect(await healthAfter(attempts)).toMatchObject({ kind: "failing", since });
});

test("it is failing since the first failure after the last 5 minutes in which most attempts succeeded", async () => {
  const attempts = [
    ...made(180, several(9, "retried")),
    ...made(61, [...several(6, "delivered"), "retried"]),
    ...made(50, several(5, "retried")),
    ...made(20, [...several(5, "retried"), "delivered"]),
    ...made(3, several(3, "retried")),
  ];
  expect((await healthAfter(attempts)).since).toBe("2026-01-02T11:10:00.000Z");
  // 11:53 is within the 5 minutes in which most attempts succeeded.
  const recent = [...made(9, several(9, "delivered")), ...made(7, several(3, "retried"))];
  const since = await healthAfter([...recent, ...made(3, several(9, "retried"))]);
  expect(since.since).toBe("2026-01-02T11:53:00.000Z");
});

test("attempts for other tenants than those of the token do not count", async () => {
  const attempts = [...made(2, several(5, "retried"), "b"), ...made(1, several(3, "delivered"), "a")];
  expect((await healthAfter(attempts, ["*"])).kind).toBe("failing");
  expect((await healthAfter(attempts, ["b"])).kind).toBe("failing");
  expect((await healthAfter(attempts, ["a"])).kind).toBe("healthy");
  const { recent } = await figuresOf(attempts, ["b"]);
  expect(recent).toMatchObject({ attempts: 5, success_rate: 0, last_success_at: null });
});

test("the figures are those of 24 hours, and the last success may be older", async () => {
  const attempts = [...made(1_500, ["delivered"]), ...made(60, ["retried", "failed"]), ...made(30, ["retried"])];
  expect((await figuresOf(attempts)).recent).toEqual({
    attempts: 3,
    success_rate: 0,
    p95_ms: expect.closeTo(100, -1),
    last_success_at: new Date(nowMs - 1_500 * minuteMs).toISOString(),
    complete: true,
  });
  expect((await figuresOf(attempts, ["*"], nowMs)).recent.complete).toBe(false);
  expect((await figuresOf([])).recent).toMatchObject({ attempts: 0, success_rate: null, p95_ms: null });
});

const times = { since: "2026-01-02T10:00:00.000Z", until: null };

test.each<[DeliveryWait["kind"], string]>([
  ["held", "held"],
  ["paused", "paused"],
  ["disabled", "disabled"],
  ["circuit_open", "circuit_open"],
  ["rate_limited", "rate_limited"],
  ["keyless", "held"],
  ["turn", "failing"],
])("a partner whose deliveries wait because of %s is %s, even if attempts failed", async (kind, expected) => {
  const figures = await figuresOf(made(1, several(3, "retried")));
  const health = partnerHealth({ block: { kind, reason: "why", ...times }, figures });
  const shown =
    expected === "failing" ? { reason: "3 of 3 attempts failed in the last 15 min" } : { reason: "why", ...times };
  expect(health).toMatchObject({ kind: expected, ...shown });
});

test("a partner whose definition was never applied is rejected, with the message if the caller may read it", () => {
  const reasonOf = (message: string | null) => rejectedHealth({ rejected: { reason: "Invalid", message } });
  expect(reasonOf("the key is unknown")).toEqual({
    kind: "rejected",
    reason: "Invalid: the key is unknown",
    since: null,
    until: null,
  });
  expect(reasonOf(null).reason).toBe("Invalid");
});
