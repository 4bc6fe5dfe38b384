import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { MetricConfig } from "../../../../crds/config.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import { everyone } from "../oracle/universe.ts";
import { ask, askNatively, selector, nativeOf, requestOf, start } from "./selector-stores.ts";

/** Whatever rights there are, leaves are refused when one of them is, or the native query over all of them. */

const regions = ["eu", "latam"] as const;
const ids = ["lag", "payouts"] as const;
const some = <T>(all: readonly T[]) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<readonly T[]>(["*" as T]) },
    { weight: 1, arbitrary: fc.subarray([...all], { minLength: 1 }) },
  );
const callers = fc.record({
  tenants: some(["brand-a", "brand-b"]),
  regions: some(regions),
  environments: some(["prod", "dev"]),
  metrics: some(ids),
  roles: fc.subarray(["finance-reader"]),
});
const region = fc.constantFrom(undefined, undefined, ...regions);
const asks = fc.record({ caller: callers, of: fc.tuple(region, region) });
const settings = fc.record({
  sensitive: fc.subarray([...ids], { maxLength: 1 }),
  scopes: fc.tuple(fc.subarray([...regions], { minLength: 1 }), fc.subarray([...regions], { minLength: 1 })),
  asks: fc.array(asks, { minLength: 30, maxLength: 30 }),
});

async function codeOf(answer: Promise<unknown>): Promise<string | undefined> {
  return answer.then(
    () => undefined,
    (error: unknown) => (error instanceof ApiError ? error.code : Promise.reject(error)),
  );
}

const named = (one: string | undefined) => (one === undefined ? [] : [["filter[region]", one] as const]);

test(
  "leaves are refused exactly when a native query of one, or over all of them, is",
  { timeout: 60_000 },
  async () => {
    const counts = { answered: 0, byLeaf: 0, byUnion: 0 };
    await fc.assert(
      fc.asyncProperty(settings, async ({ sensitive, scopes, asks: all }) => {
        const metrics = ids.map((id, index): [string, Partial<MetricConfig>] => [
          id,
          {
            complianceScope: { regions: scopes[index] ?? [] },
            ...(sensitive.includes(id) ? { sensitivity: "finance", requiredRole: "finance-reader" } : {}),
          },
        ]);
        const started = await start({ metrics: Object.fromEntries(metrics) });
        try {
          for (const { caller, of } of all) {
            const own: Caller = { ...everyone, ...caller };
            const selectors = ids.map((id, index) =>
              selector(id, {
                filters: new Map([
                  ...(of[index] === undefined ? [] : [["region", [of[index]]] as const]),
                  ["tenant", ["brand-a"]],
                ]),
              }),
            );
            const ofLeaves = await Promise.all(
              ids.map((id, index) => codeOf(askNatively(started, [...nativeOf(id), ...named(of[index])], own))),
            );
            const common = of[0] === of[1] ? named(of[0]) : [];
            const ofUnion = await codeOf(askNatively(started, [...nativeOf(...ids), ...common], own));
            const code = await codeOf(ask(started, requestOf(selectors), own));
            const isByLeaf = ofLeaves.some((one) => one !== undefined);
            counts[isByLeaf ? "byLeaf" : ofUnion === undefined ? "answered" : "byUnion"] += 1;
            expect(code !== undefined).toBe(isByLeaf || ofUnion !== undefined);
            expect([...ofLeaves, ofUnion]).toContain(code);
          }
        } finally {
          await started.stop();
        }
      }),
      { seed: 19, numRuns: 8 },
    );
    // Else nothing was tried.
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(10);
  },
);
