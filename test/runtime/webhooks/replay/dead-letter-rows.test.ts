import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { partnerKey, includesTenant } from "../../../../runtime/webhooks/ids.ts";
import { mayNamePartner } from "../../../../runtime/webhooks/history/history-view.ts";
import {
  countRows,
  createRowFilter,
  DeadLetterKinds,
  rowOf,
  type DeadLetterScope,
} from "../../../../runtime/webhooks/replay/dead-letter-rows.ts";
import type { ReplayCaller } from "../../../../runtime/webhooks/replay/replay-job.ts";

const labels = new Map([
  ["key-one", "shop/one"],
  [partnerKey("shop/one"), "shop/one"],
]);
const keys = ["key-one", partnerKey("shop/one"), partnerKey("shop/gone"), "key-of-nobody"];
const everyone: ReplayCaller = { client: "c", tenants: ["*"] };

const facts = fc.record({
  partner: fc.constantFrom(...keys),
  reason: fc.constantFrom("status_404", "connect", "unreadable"),
  did: fc.constant("did"),
  endedAtMs: fc.integer({ min: 1, max: 9_999 }),
  about: fc.option(
    fc.record({ tenant: fc.constantFrom("acme", "vega"), label: fc.constantFrom("shop/one", "shop/gone") }),
    { nil: undefined },
  ),
});
const callers = fc
  .record({
    tenants: fc.subarray(["acme", "vega", "*"]),
    partners: fc.option(fc.subarray(["shop/one", "shop/gone", "*"]), { nil: undefined }),
  })
  .map(({ tenants, partners }): ReplayCaller => ({ client: "c", tenants, ...(partners && { partners }) }));

describe("counts of dead letters", () => {
  test("are those of the letters that the caller may see, one by one", () => {
    const property = fc.property(fc.array(facts, { maxLength: 30 }), callers, (all, caller) => {
      const kinds = new DeadLetterKinds();
      const rows = all.map((one, index) => {
        const { about, ...head } = one;
        return rowOf({ ...head, seq: index + 1, ...(about === undefined ? {} : { about }) }, kinds);
      });
      const visible = all.flatMap(({ partner, reason, about, endedAtMs }) => {
        if (about === undefined || reason === "unreadable") return [];
        const label = labels.get(partner) ?? (partner === partnerKey(about.label) ? about.label : undefined);
        const isTenant = includesTenant(caller.tenants, about.tenant);
        const isVisible = label !== undefined && mayNamePartner(caller, label) && isTenant;
        return isVisible ? [{ name: `${label} ${reason}`, endedAtMs }] : [];
      });
      const expected = [...Map.groupBy(visible, ({ name }) => name)].map(([name, { length }]) => `${name} ${length}`);
      const { counts } = countRows(rows, { caller, labels });
      expect(counts.map(({ partner, reason, count }) => `${partner} ${reason} ${count}`).toSorted()).toEqual(
        expected.toSorted(),
      );
      expect(counts.map(({ count }) => count)).toEqual(counts.map(({ count }) => count).toSorted((a, b) => b - a));
      for (const { partner, reason, oldest_at: oldest, newest_at: newest } of counts) {
        const times = visible.filter(({ name }) => name === `${partner} ${reason}`).map(({ endedAtMs }) => endedAtMs);
        expect([Date.parse(oldest), Date.parse(newest)]).toEqual([Math.min(...times), Math.max(...times)]);
      }
    });
    fc.assert(property, { numRuns: 300 });
  });

  const old = { key: "key-one", reason: "connect", about: undefined };
  test.each<[string, Partial<DeadLetterScope>, string]>([
    ["of an unknown tenant", {}, "unknown"],
    ["of an unknown tenant and another reason", { reason: "status_404" }, "hidden"],
    ["of an unknown tenant and another partner", { keys: new Set(["key-two"]) }, "hidden"],
    ["to a partner of the token", { caller: { ...everyone, partners: ["shop/one"] } }, "unknown"],
    ["to a partner of another token", { caller: { ...everyone, partners: ["shop/two"] } }, "hidden"],
  ])("take a letter %s for %s", (_, scope, expected) => {
    expect(createRowFilter({ caller: everyone, labels, ...scope })(old)).toBe(expected);
  });

  test("are incomplete as long as a letter that may count is unknown", () => {
    const rows = [{ seq: 1, endedAtMs: 1, kind: old }];
    expect(countRows(rows, { caller: everyone, labels })).toEqual({ counts: [], isComplete: false });
    const other = { ...everyone, partners: ["shop/two"] };
    expect(countRows(rows, { caller: other, labels })).toEqual({ counts: [], isComplete: true });
  });
});
