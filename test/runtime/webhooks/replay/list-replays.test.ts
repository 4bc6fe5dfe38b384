import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  replaysOfPage,
  requestOf,
  type ReplayPlace,
  type ReplayQuery,
} from "../../../../runtime/webhooks/replay/list-replays.ts";
import {
  mayReadReplay,
  type ReplayCaller,
  noTally,
  type ReplayJob,
  selectedPartnersMax,
  withSelected,
} from "../../../../runtime/webhooks/replay/replay-job.ts";

const admin: ReplayCaller = { client: "admin", tenants: ["*"] };
const filter = { partners: [], types: [], onlyFailed: false };
const dayMs = Date.UTC(2026, 0, 31);

function job(id: string, fields: Partial<ReplayJob> = {}): ReplayJob {
  return {
    id,
    createdAt: new Date(dayMs).toISOString(),
    status: "completed",
    cursor: 0,
    tally: noTally,
    source: { kind: "ids", eventIds: ["e-1", "e-2"] },
    filter,
    ratePerSecond: 100,
    force: false,
    tenants: ["*"],
    ...fields,
  };
}

function idsOfAllPages(jobs: readonly ReplayJob[], limit: number, caller: ReplayCaller): readonly string[] {
  const ids: string[] = [];
  let after: ReplayPlace | undefined;
  do {
    const query: ReplayQuery = after === undefined ? { limit } : { limit, after };
    const page = replaysOfPage(jobs, query, caller);
    expect(page.jobs.length).toBeLessThanOrEqual(limit);
    ids.push(...page.jobs.map(({ id }) => id));
    after = page.next;
  } while (after !== undefined);
  return ids;
}

test("a list for one partner has replays of all partners too", () => {
  const some = { ...filter, partners: ["shop/one", "shop/two"] };
  const jobs = [
    job("all"),
    job("some", { filter: some }),
    job("other", { filter: { ...filter, partners: ["bank/one"] } }),
    job("redriven", { redriven: "shop/one" }),
  ];
  const idsFor = (partner: string) => replaysOfPage(jobs, { limit: 10, partner }, admin).jobs.map(({ id }) => id);
  expect(idsFor("shop/one").toSorted()).toEqual(["all", "redriven", "some"]);
  expect(idsFor("bank/one").toSorted()).toEqual(["all", "other"]);
});

test("a replay without a filter by partner names those that it selected", () => {
  const selected = ["shop/one", "shop/two"];
  expect(requestOf(job("some", { selected }), new Map())).toMatchObject({ selected_partners: selected });
  expect(requestOf(job("earlier"), new Map())).not.toHaveProperty("selected_partners");
  const named = job("named", { selected, filter: { ...filter, partners: ["shop/one"] } });
  expect(requestOf(named, new Map())).not.toHaveProperty("selected_partners");
});

test("the partners that a job selected are each stored once, and are bounded", () => {
  const labels = Array.from({ length: 2 * selectedPartnersMax }, (_, index) => `shop/p${index}`);
  const once = withSelected(job("one"), ["shop/b", "shop/a", "shop/b"]);
  expect(once.selected).toEqual(["shop/a", "shop/b"]);
  expect(withSelected(once, ["shop/a"])).toBe(once);
  expect(withSelected(once, labels).selected).toHaveLength(selectedPartnersMax);
  expect(withSelected(job("none"), [])).not.toHaveProperty("selected");
});

describe("the pages of a list", () => {
  const tenants = fc.subarray(["acme", "vega", "*"], { minLength: 1 });
  const partners = fc.option(fc.subarray(["shop/one", "bank/one"]), { nil: undefined });
  const jobs = fc.uniqueArray(
    fc
      .record({ id: fc.stringMatching(/^[a-z0-9-]{1,6}$/u), second: fc.nat(3), tenants, partners })
      .map(({ id, second, tenants: whose, partners: named }) =>
        job(id, {
          createdAt: new Date(dayMs + second * 1_000).toISOString(),
          tenants: whose,
          ...(named === undefined ? {} : { partners: named }),
        }),
      ),
    { selector: ({ id }) => id, maxLength: 12 },
  );
  const callers = fc
    .record({ tenants, partners })
    .map(({ partners: named, ...one }): ReplayCaller => ({ client: "c", ...one, ...(named && { partners: named }) }));

  test("hold each replay that the caller may read once, the newest first", () => {
    const property = fc.property(jobs, callers, fc.integer({ min: 1, max: 5 }), (all, caller, limit) => {
      const ids = idsOfAllPages(all, limit, caller);
      const readable = all.filter((one) => mayReadReplay(one, caller)).map(({ id }) => id);
      expect(ids.toSorted()).toEqual(readable.toSorted());
      const times = ids.map((id) => all.find((one) => one.id === id)?.createdAt ?? "");
      expect(times).toEqual(times.toSorted().toReversed());
    });
    fc.assert(property, { numRuns: 300 });
  });

  test("go on behind the last replay of a page when that one is gone", () => {
    const all = ["a", "b", "c"].map((id, index) => job(id, { createdAt: new Date(dayMs + index).toISOString() }));
    const { next } = replaysOfPage(all, { limit: 1 }, admin);
    if (next === undefined) throw new Error("no next page");
    const page = replaysOfPage(all.slice(0, 2), { limit: 5, after: next }, admin);
    expect(page.jobs.map(({ id }) => id)).toEqual(["b", "a"]);
  });
});

describe("what a replay was asked to do", () => {
  const window = { kind: "window", fromMs: dayMs, toMs: dayMs + 1 } as const;
  const letters = { kind: "dead_letters", partner: "key", reason: "*", lastSeq: 9 } as const;
  const labels = new Map([["key", "shop/one"]]);

  test.each<[string, Partial<ReplayJob>, object]>([
    ["ids", {}, { kind: "replay", event_ids: 2, window: null, requested_by: null }],
    ["who asked", { requestedBy: "support" }, { requested_by: "support" }],
    [
      "a window",
      { source: window },
      { event_ids: null, window: { from: "2026-01-31T00:00:00.000Z", to: "2026-01-31T00:00:00.001Z" } },
    ],
    ["a window without a beginning", { source: { ...window, fromMs: 0, afterSeq: 7 } }, { window: { from: null } }],
    [
      "a filter",
      { filter: { partners: ["shop/one"], types: ["payout.*"], onlyFailed: true } },
      { filter: { partners: ["shop/one"], types: ["payout.*"], only_failed: true } },
    ],
    ["a filter of nobody", { filter: { ...filter, partners: ["/"] } }, { filter: { partners: [] } }],
    [
      "a redrive of an earlier version, by the key of its partner",
      { source: letters },
      { kind: "redrive", window: null, event_ids: null, filter: { partners: ["shop/one"] } },
    ],
    [
      "a redrive of a partner that is gone, by its stored name",
      { source: { ...letters, partner: "gone", eventIds: ["e-1"] }, redriven: "shop/two" },
      { kind: "redrive", event_ids: 1, filter: { partners: ["shop/two"] } },
    ],
  ])("is shown: %s", (_, fields, expected) => {
    expect(requestOf(job("r-1", fields), labels)).toMatchObject(expected);
  });
});
