import { describe, expect, test } from "vitest";
import {
  assessSlo,
  burnTiers,
  type CountsByWindow,
  type SloStatus,
  windowsOf,
} from "../../../../runtime/metrics/slo/slo-status.ts";
import { loginSlo } from "./login-slo.ts";

const slo = loginSlo;
const hour = 3_600;
const stepMin = 60;

/** Events of every window: 10,000, of which so many per cent are bad; some windows otherwise. */
function counts(badPercent: number, others: Readonly<Record<number, number>> = {}, total = 10_000): CountsByWindow {
  return new Map(
    windowsOf(slo, stepMin).map((seconds) => [
      seconds,
      { total, good: total * (1 - (others[seconds] ?? badPercent) / 100) },
    ]),
  );
}

describe("the windows of an objective", () => {
  test("are those of 30 days, and shrink with the objective's own", () => {
    const windows = (windowDays: number): readonly (readonly [number, number])[] =>
      burnTiers({ ...slo, windowDays }, stepMin).map(({ longSeconds, shortSeconds }) => [
        longSeconds / 60,
        shortSeconds / 60,
      ]);
    expect(windows(30)).toEqual([
      [60, 5],
      [360, 30],
      [1_440, 120],
      [4_320, 360],
    ]);
    expect(windows(3)).toEqual([
      [6, 1],
      [36, 3],
      [144, 12],
      [432, 36],
    ]);
  });

  test("are each read once", () => {
    expect(windowsOf(slo, stepMin).map((seconds) => seconds / hour)).toEqual([5 / 60, 0.5, 1, 2, 6, 24, 72, 720]);
  });
});

describe("the status of an objective without some stores", () => {
  const few = counts(0, {}, 99);
  test.each([
    ["late with too few events", few, "late", "late"],
    ["failed with too few events", few, "failed", "failed"],
    ["late without events", new Map(), "late", "late"],
    ["that of the events when there are enough", counts(0.1), "failed", "ok"],
    ["insufficient_data only if no store is missing", few, undefined, "insufficient_data"],
  ] as const)("is %s", (_sentence, counted, missing, status) => {
    expect(assessSlo(slo, counted, stepMin, { missing }).status).toBe(status);
  });
});

describe("the status of an objective (Operational Metrics API §2.5)", () => {
  const rows: readonly (readonly [sentence: string, counted: CountsByWindow, status: SloStatus])[] = [
    ["ok when hardly anything is bad", counts(0.1), "ok"],
    ["critical when the fastest tier burns in both windows", counts(0.1, { [hour]: 20, [hour / 12]: 20 }), "critical"],
    ["critical when the budget is spent", counts(0.1, { [720 * hour]: 1.5 }), "critical"],
    [
      "increasing when only a slow tier burns in both windows",
      counts(0.1, { [72 * hour]: 2, [6 * hour]: 2 }),
      "increasing",
    ],
    [
      "recovering when the long window still burns and the short one does not",
      counts(0.1, { [hour]: 20 }),
      "recovering",
    ],
    ["not known without enough events", counts(50, {}, 99), "insufficient_data"],
    ["not known without any", new Map(), "insufficient_data"],
  ];
  test.each(rows)("is %s", (_sentence, counted, status) => {
    expect(assessSlo(slo, counted, stepMin).status).toBe(status);
  });

  test("comes with the spent and the remaining budget", () => {
    const { sli, budget, burns } = assessSlo(slo, counts(0.25), stepMin);
    expect(sli).toBeCloseTo(0.9975, 12);
    expect(budget.total).toBe(0.01);
    expect([budget.spent, budget.remaining].map((share) => share?.toFixed(6))).toEqual(["0.002500", "0.007500"]);
    expect(burns[0]?.longRate).toBeCloseTo(0.25, 9);
  });

  test("ignores a window with too few events", () => {
    const few = new Map([...counts(0.1), [hour, { total: 10, good: 0 }], [hour / 12, { total: 10, good: 0 }]]);
    expect(assessSlo(slo, few, stepMin).status).toBe("ok");
  });
});

describe("the time until the budget is spent", () => {
  const day = 86_400;
  test.each<readonly [string, number, Readonly<Record<number, number>>, number | undefined]>([
    ["is that of the budget that is left, at the rate of an hour", 0.5, { [hour]: 10 }, (0.5 * 30 * day) / 10],
    ["follows the rate of an hour, not that of five minutes", 0.5, { [hour]: 2, 300: 50 }, (0.5 * 30 * day) / 2],
    ["is 0 for a budget that is spent", 1.5, {}, 0],
    ["is unknown if what is bad now leaves the window before", 0.5, { [hour]: 0.4 }, undefined],
    ["is the window itself, at most", 0.5, { [hour]: 0.5 }, 30 * day],
    ["is unknown without bad events", 0, {}, undefined],
  ])("%s", (_name, badPercent, others, seconds) => {
    const found = assessSlo(slo, counts(badPercent, others), stepMin).exhaustionSeconds;
    // Rounded down to a second.
    expect(found ?? -1).toBeCloseTo(seconds ?? -1, -1);
  });

  test("is unknown with too few events in an hour", () => {
    const few = new Map([...counts(0.5, { [hour]: 10 }), [hour, { total: 99, good: 50 }]]);
    expect(assessSlo(slo, few, stepMin).exhaustionSeconds).toBeUndefined();
  });
});

describe("a correction that is active", () => {
  test("keeps tiers from firing", () => {
    const burning = counts(0.1, { 300: 20, [hour]: 20 });
    expect(assessSlo(slo, burning, stepMin).status).toBe("critical");
    expect(assessSlo(slo, burning, stepMin, { isSilenced: true }).status).toBe("recovering");
  });

  test("does not hide a spent budget", () => {
    expect(assessSlo(slo, counts(2), stepMin, { isSilenced: true }).status).toBe("critical");
  });
});
