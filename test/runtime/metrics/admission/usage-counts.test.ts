import { type Arbitrary, array, assert, constantFrom, integer, nat, property, record, tuple } from "fast-check";
import { describe, expect, test } from "vitest";
import { queryClasses } from "../../../../crds/config.ts";
import {
  divided,
  hourMs,
  UsageCounts,
  type UsageKey,
  UsageRows,
  usageSums,
  type UsageSums,
} from "../../../../runtime/metrics/admission/usage-counts.ts";

const name = constantFrom("a", "b", "c", "d", "e", "f");
const anyKey = record({ client: name, tenant: name, metric: name, queryClass: constantFrom(...queryClasses) });
const anySums = record(
  Object.fromEntries(usageSums.map((one) => [one, nat()])) as Record<keyof UsageSums, Arbitrary<number>>,
);

function total(rows: Iterable<UsageSums>): UsageSums {
  const sums = { requests: 0, points: 0, cachedPoints: 0, bytes: 0, estimate: 0, cost: 0 };
  for (const row of rows) for (const one of usageSums) sums[one] += row[one];
  return sums;
}

describe("rows of usage", () => {
  test("are at most as many as their bound, and lose nothing of what is added", () => {
    assert(
      property(array(tuple(anyKey, anySums), { maxLength: 400 }), integer({ min: 30, max: 300 }), (all, max) => {
        const rows = new UsageRows();
        for (const [key, sums] of all) rows.add(key, sums, max);
        expect(rows.size).toBeLessThanOrEqual(max);
        expect(total(rows.values())).toEqual(total(all.map(([, sums]) => sums)));
      }),
    );
  });

  test("keep tenant and class of others as long as there is room for them", () => {
    const rows = new UsageRows();
    const key = (index: number): UsageKey => ({ client: `c${index}`, tenant: "acme", metric: "lag", queryClass: "A" });
    for (let index = 0; index < 300; index += 1) rows.add(key(index), { requests: 1 }, 200);
    const others = [...rows.values()].filter(({ client }) => client === "");
    expect(others).toMatchObject([{ tenant: "acme", metric: "", queryClass: "A", requests: 300 - (200 - 2 - 3) }]);
  });
});

describe("counts of usage", () => {
  const key: UsageKey = { client: "a", tenant: "acme", metric: "lag", queryClass: "A" };

  test("belong to the hour in which they are added", () => {
    let nowMs = 10 * hourMs - 1;
    const counts = new UsageCounts(() => nowMs);
    counts.add(key, { requests: 1 });
    nowMs += 1;
    counts.add(key, { requests: 2 });
    const { hours } = counts.take();
    expect([...hours].map(([hour, rows]) => [hour, total(rows.values()).requests])).toEqual([
      [9, 1],
      [10, 2],
    ]);
    expect(counts.take().hours.size).toBe(0);
  });

  test("of a clock that steps through many hours are bounded, and what is dropped is counted", () => {
    let nowMs = 0;
    const counts = new UsageCounts(() => nowMs);
    for (let hour = 0; hour < 10; hour += 1) {
      nowMs = hour * hourMs;
      counts.add(key, { requests: 1 });
    }
    const { hours, dropped } = counts.take();
    expect({ hours: hours.size, dropped }).toEqual({ hours: 4, dropped: 6 });
  });
});

test("a divided number has the same sum, in parts that differ by at most one", () => {
  assert(
    property(nat(), integer({ min: 1, max: 60 }), (sum, count) => {
      const parts = divided(sum, count);
      expect(parts.reduce((one, other) => one + other, 0)).toBe(sum);
      expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1);
    }),
  );
  expect(divided(7, 0)).toEqual([]);
});
