import { expect, test } from "vitest";
import { IndexColumns } from "../../../../runtime/webhooks/event-index/columns.ts";
import { createPartnerList } from "../../../../runtime/webhooks/history/partner-list.ts";
import { createPartnerOverview } from "../../../../runtime/webhooks/live/partner-overview.ts";
import type { Partner } from "../../../../runtime/webhooks/partners/partner.ts";
import type { DisabledMark } from "../../../../runtime/webhooks/partners/partner-holds.ts";
import type { PartnerOverrides } from "../engine-fixture.ts";
import { compiled } from "../memory-context.ts";

const nowMs = Date.UTC(2026, 0, 2, 12);
const at = "2026-01-02T09:00:00.000Z";
const keyEnds = (days: number): number => nowMs + days * 86_400_000;
const of = (name: string, tenant: string, changes: PartnerOverrides = {}): Partner =>
  compiled(name, { subscriptions: [{ name: "all", types: ["**"], tenants: [tenant], producers: [] }], ...changes });

const partners = [
  of("fine", "a"),
  of("gone", "a", { state: "Paused" }),
  of("open", "a"),
  of("paused", "a", { state: "Paused" }),
  of("shared", "*"),
];
const named = (name: string): Partner => {
  const found = partners.find(({ config }) => config.name === name);
  if (found === undefined) throw new Error(name);
  return found;
};

/** The overview of these partners: one was disabled, and the breaker of another is open. */
function overviewOf() {
  const read: string[] = [];
  const counted: string[] = [];
  const disabled = { list: async () => [{ ...named("gone").config, at } as DisabledMark] };
  const notApplied = () => new Map([["key", { uid: "u", namespace: "default", name: "new", reason: "Invalid" }]]);
  const list = createPartnerList({ partners: () => partners, disabled, notApplied });
  const columns = new IndexColumns();
  const attempt = { tenant: "a", partner: named("fine").label, outcome: "delivered", durationMs: 20 } as const;
  columns.rollups.addAttempt({ ...attempt, atMs: nowMs - 60_000 });
  const pause = { kind: "open", cause: "failures", untilMs: nowMs + 30_000, restMs: 60_000, failures: 5 } as const;
  const overview = createPartnerOverview(list, {
    partners: () => partners,
    index: { read: async () => ({ columns, reachMs: 0, attemptsReachMs: 0, rollupsReachMs: 0 }) },
    disabled,
    holds: {
      keys: async () => new Set([named("open").key]),
      read: async ({ label }) => {
        read.push(label);
        return { ...pause, sinceMs: Date.parse(at) };
      },
    },
    live: {
      backlogs: async (some) => {
        counted.push(...some.map(({ key }) => key));
        return new Map(some.map(({ key }) => [key, 7]));
      },
    },
    configFolder: { path: "/etc/h", program: "heliograph", fileOf: (label) => `${label.split("/")[1] ?? ""}.yaml` },
    now: () => nowMs,
  });
  return { overview, read, counted };
}

const everyone = { tenants: ["*"], skipped: 0, limit: 10 };
const byName = (rows: readonly { readonly partner: string }[]) =>
  Object.fromEntries(rows.map((row) => [row.partner.split("/")[1] ?? "", row]));

test("partners have their health, figures and backlog", async () => {
  const { overview, read } = overviewOf();
  const rows = byName((await overview.page(everyone)).items);
  expect(rows).toMatchObject({
    fine: {
      state: "active",
      health: { kind: "healthy", since: null },
      recent: { attempts: 1, success_rate: 1, last_success_at: "2026-01-02T11:59:00.000Z", complete: true },
      backlog: 7,
    },
    gone: { state: "disabled", health: { kind: "disabled", reason: "status_410", since: at } },
    open: {
      state: "active",
      health: {
        kind: "circuit_open",
        reason: "5 consecutive failures",
        since: at,
        until: "2026-01-02T12:00:30.000Z",
      },
    },
    paused: { state: "paused", health: { kind: "paused" }, recent: { attempts: 0, success_rate: null } },
    new: { state: "rejected", health: { kind: "rejected", reason: "Invalid" }, backlog: null },
  });
  expect(read).toEqual([named("open").label]);
});

test("only rejected partners have the place of their definition, whose path administrators see", async () => {
  const { overview } = overviewOf();
  const placesOf = async (showsInternals: boolean) =>
    (await overview.page({ ...everyone, showsInternals })).items.flatMap(({ managed_by: place }) => place ?? []);
  const place = { source: "folder", program: "heliograph" };
  expect(await placesOf(true)).toEqual([{ ...place, folder: "/etc/h", file: "new.yaml" }]);
  expect(await placesOf(false)).toEqual([{ ...place, folder: null, file: null }]);
});

test("a token without some tenants of a partner sees its health, but not its backlog", async () => {
  const { overview, counted } = overviewOf();
  const rows = byName((await overview.page({ ...everyone, tenants: ["a"] })).items);
  expect(rows).toMatchObject({ shared: { health: { kind: "healthy" }, backlog: null }, fine: { backlog: 7 } });
  expect(counted).not.toContain(named("shared").key);
  expect(rows).not.toHaveProperty("new");
});

test("the next key to expire is the first that has not expired", async () => {
  const keys = [
    { id: "third", secret: "s", notAfterMs: keyEnds(30) },
    { id: "second", secret: "s", notAfterMs: keyEnds(3) },
    { id: "first", secret: "s", notAfterMs: keyEnds(-1) },
    { id: "endless", secret: "s" },
  ];
  const { overview } = overviewOf();
  const summary = (await overview.page(everyone)).items[0];
  const rows = keys.map(({ id, notAfterMs }) => ({
    id,
    not_after: notAfterMs === undefined ? null : new Date(notAfterMs).toISOString(),
  }));
  const withKeys = async (some: typeof rows) => {
    const [shown] = await overview.withFigures(summary === undefined ? [] : [{ ...summary, keys: some }], everyone);
    return shown?.next_key_to_expire;
  };
  expect(await withKeys(rows)).toEqual({ id: "second", not_after: "2026-01-05T12:00:00.000Z" });
  expect(await withKeys(rows.slice(2))).toBeNull();
});

test("a search finds partners by parts of their namespace and name", async () => {
  const { overview } = overviewOf();
  const found = async (...search: string[]) =>
    Object.keys(byName((await overview.page({ ...everyone, search })).items));
  expect(await found("e")).toHaveLength(6);
  expect(await found("aus")).toEqual(["paused"]);
  expect(await found("default", "ne")).toEqual(["fine", "gone", "new"]);
  expect(await found("nothing")).toEqual([]);
});

test("an index that does not respond is an error, since a health without figures may be wrong", async () => {
  const { overview } = overviewOf();
  const silent = createPartnerOverview(overview, {
    partners: () => partners,
    index: { read: () => Promise.reject(new Error("no")) },
    disabled: { list: async () => [] },
    holds: { keys: async () => new Set<string>(), read: async () => undefined },
    live: { backlogs: async () => new Map() },
    now: () => nowMs,
  });
  await expect(silent.page(everyone)).rejects.toMatchObject({ code: "events_unavailable" });
});
