import { describe, expect, test } from "vitest";
import { createRetryBudget, retried } from "../../../../runtime/stores/prometheus/store-http.ts";
import { StoreError } from "../../../../runtime/stores/store-error.ts";

const passing = new StoreError("unreachable", "reset", { isPassing: true });
const { signal } = new AbortController();

/** A read that throws these errors in order, then returns a result. */
function reads(...errors: readonly Error[]): { readonly read: () => Promise<string>; readonly sent: () => number } {
  let sent = 0;
  const read = async (): Promise<string> => {
    sent += 1;
    const error = errors[sent - 1];
    if (error !== undefined) throw error;
    return "result";
  };
  return { read, sent: () => sent };
}

describe("a request with a transient failure", () => {
  test("is sent once more", async () => {
    const { read, sent } = reads(passing);
    await expect(retried(read, signal, createRetryBudget())).resolves.toBe("result");
    expect(sent()).toBe(2);
  });

  test("is not sent a third time", async () => {
    const { read, sent } = reads(passing, passing);
    await expect(retried(read, signal, createRetryBudget())).rejects.toBe(passing);
    expect(sent()).toBe(2);
  });

  test("is not sent again when its caller aborts before the retry", async () => {
    const controller = new AbortController();
    const left = new Error("the caller left");
    const { read, sent } = reads(passing);
    const running = retried(read, controller.signal, createRetryBudget());
    controller.abort(left);
    await expect(running).rejects.toBe(left);
    expect(sent()).toBe(1);
  });
});

test.each([
  ["was late", new StoreError("late", "slow")],
  ["was refused", new StoreError("refused", "bad")],
  ["met a bug", new TypeError("bug")],
])("a request that %s is not sent again", async (_how, error) => {
  const { read, sent } = reads(error);
  await expect(retried(read, signal, createRetryBudget())).rejects.toBe(error);
  expect(sent()).toBe(1);
});

describe("the budget of retries", () => {
  test("allows ten consecutive retries, and one more for every ten requests", () => {
    const budget = createRetryBudget();
    const spend = (times: number): number => Array.from({ length: times }, () => budget.spend()).filter(Boolean).length;
    expect(spend(20)).toBe(10);
    for (let request = 0; request < 25; request += 1) budget.earn();
    expect(spend(20)).toBe(2);
  });

  test("adds at most a tenth to the load of a store that always fails", async () => {
    let sent = 0;
    const read = (): Promise<never> => {
      sent += 1;
      return Promise.reject(passing);
    };
    const budget = createRetryBudget();
    await Promise.all(Array.from({ length: 400 }, () => retried(read, signal, budget).catch(() => undefined)));
    expect(sent).toBeLessThanOrEqual(400 + 10 + 40);
    expect(sent).toBeGreaterThan(400);
  });
});
