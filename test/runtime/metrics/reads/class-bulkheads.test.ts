import { describe, expect, test } from "vitest";
import { bulkheadSizes, createClassBulkheads } from "../../../../runtime/metrics/reads/store-middleware.ts";
import { createByteBudget } from "../../../../runtime/stores/limits/fan-out.ts";
import type { PrometheusClient } from "../../../../runtime/stores/prometheus/prometheus-client.ts";
import type { Store, Stores } from "../../../../runtime/stores/store.ts";
import { settle } from "../../../support/manual-clock.ts";

/** Stores that answer when the test lets them. */
function stores() {
  const sent: { readonly store: string; readonly answer: (error?: Error) => void }[] = [];
  const storeOf = (key: string): Store => {
    const client: Partial<PrometheusClient> = {
      single: () =>
        new Promise<undefined>((resolve, reject) => {
          sent.push({ store: key, answer: (error) => (error === undefined ? resolve(undefined) : reject(error)) });
        }),
    };
    return { client } as Store;
  };
  const set: Stores = { get: storeOf, list: () => [] };
  return { sent, set };
}

const ask = (set: Stores, key = "eu", { signal } = new AbortController()): Promise<unknown> =>
  set.get(key).client.single("q", 0, { signal, tenant: undefined, bytes: createByteBudget() });

describe("the requests of a class to one store", () => {
  test.each(["B", "C"] as const)(
    "of class %s are bounded over all of its queries, and the others wait their turn",
    async (name) => {
      const { sent, set } = stores();
      const bulkheads = createClassBulkheads();
      const asked = Array.from({ length: 20 }, () => ask(bulkheads.of(name, set)));
      await settle();
      expect(sent).toHaveLength(bulkheadSizes[name]);
      for (let turn = 0; turn < 20; turn += 1) {
        sent[turn]?.answer();
        await settle();
        expect(sent).toHaveLength(Math.min(20, bulkheadSizes[name] + turn + 1));
      }
      await Promise.all(asked);
    },
  );

  test("leave connections to class A, which never waits, and to other stores", async () => {
    const { sent, set } = stores();
    const bulkheads = createClassBulkheads();
    const asked = [
      ...Array.from({ length: 20 }, () => ask(bulkheads.of("C", set))),
      ...Array.from({ length: 20 }, () => ask(bulkheads.of("B", set))),
    ];
    await settle();
    expect(sent.length).toBeLessThan(16);
    asked.push(...Array.from({ length: 20 }, () => ask(bulkheads.of("A", set))), ask(bulkheads.of("C", set), "latam"));
    await settle();
    expect(sent).toHaveLength(bulkheadSizes.B + bulkheadSizes.C + 21);
    for (let turn = 0; turn < 61; turn += 1) {
      sent[turn]?.answer();
      await settle();
    }
    await Promise.all(asked);
  });

  test("leave the queue when their time is over", async () => {
    const { sent, set } = stores();
    const bulkheads = createClassBulkheads();
    const controller = new AbortController();
    const asked = Array.from({ length: bulkheadSizes.C }, () => ask(bulkheads.of("C", set)));
    const late = ask(bulkheads.of("C", set), "eu", controller);
    const last = ask(bulkheads.of("C", set));
    await settle();
    controller.abort(new Error("late"));
    await expect(late).rejects.toThrow("late");
    sent[0]?.answer();
    await settle();
    expect(sent).toHaveLength(bulkheadSizes.C + 1);
    for (const { answer } of sent) answer();
    await Promise.all([...asked, last]);
  });

  test("release their place when they fail", async () => {
    const { sent, set } = stores();
    const bulkheads = createClassBulkheads();
    const asked = Array.from({ length: bulkheadSizes.C + 1 }, () => ask(bulkheads.of("C", set)));
    await settle();
    sent[0]?.answer(new Error("down"));
    await expect(asked[0]).rejects.toThrow("down");
    await settle();
    expect(sent).toHaveLength(bulkheadSizes.C + 1);
    for (const { answer } of sent) answer();
    await Promise.all(asked.slice(1));
  });
});
