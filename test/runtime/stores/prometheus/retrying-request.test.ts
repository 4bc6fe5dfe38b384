import { describe, expect, test } from "vitest";
import { createRetryBudget } from "../../../../runtime/stores/limits/retry-budget.ts";
import { retryingPost } from "../../../../runtime/stores/prometheus/retrying-request.ts";
import { StoreError } from "../../../../runtime/stores/store-error.ts";
import type { Post } from "../../../../runtime/stores/prometheus/store-http.ts";
import { storeCall } from "../store-call.ts";

const answer = { columns: [], data: "answered", warning: "none" } as const;
const passing = new StoreError("unreachable", "reset", { isPassing: true });

/** Fails with these errors in turn, then answers. */
function posts(...errors: readonly Error[]): { readonly post: Post; readonly sent: () => number } {
  let sent = 0;
  const post: Post = async () => {
    sent += 1;
    const error = errors[sent - 1];
    if (error !== undefined) throw error;
    return answer;
  };
  return { post, sent: () => sent };
}

describe("a request that failed in passing", () => {
  test("is sent once more", async () => {
    const { post, sent } = posts(passing);
    await expect(retryingPost(post, { budget: createRetryBudget() })("query", {}, storeCall())).resolves.toBe(answer);
    expect(sent()).toBe(2);
  });

  test("is not sent a third time", async () => {
    const { post, sent } = posts(passing, passing);
    await expect(retryingPost(post, { budget: createRetryBudget() })("query", {}, storeCall())).rejects.toBe(passing);
    expect(sent()).toBe(2);
  });

  test("is not sent again for a caller who leaves in between", async () => {
    const controller = new AbortController();
    const left = new Error("the caller left");
    const { post, sent } = posts(passing);
    const running = retryingPost(post, { budget: createRetryBudget(), random: () => 0.999 })(
      "query",
      {},
      storeCall({ signal: controller.signal }),
    );
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
  const { post, sent } = posts(error);
  await expect(retryingPost(post, { budget: createRetryBudget() })("query", {}, storeCall())).rejects.toBe(error);
  expect(sent()).toBe(1);
});

describe("the budget of retries", () => {
  test("is ten in a row, and one more for every ten requests", () => {
    const budget = createRetryBudget();
    const spend = (times: number): number => Array.from({ length: times }, () => budget.spend()).filter(Boolean).length;
    expect(spend(20)).toBe(10);
    for (let request = 0; request < 25; request += 1) budget.earn();
    expect(spend(20)).toBe(2);
  });

  test("adds at most a tenth to the load of a store that always fails", async () => {
    const always: Post = () => {
      sent += 1;
      return Promise.reject(passing);
    };
    let sent = 0;
    const post = retryingPost(always, { budget: createRetryBudget(), random: () => 0 });
    await Promise.all(Array.from({ length: 400 }, () => post("query", {}, storeCall()).catch(() => undefined)));
    expect(sent).toBeLessThanOrEqual(400 + 10 + 40);
    expect(sent).toBeGreaterThan(400);
  });
});
