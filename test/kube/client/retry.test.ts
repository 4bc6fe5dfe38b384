import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { backoffMs } from "../../../kube/backoff.ts";
import { KubeError, type KubeErrorKind } from "../../../kube/client/kube-error.ts";
import { retryPolicyDefault, retryWaitMs, singleTry } from "../../../kube/client/retry.ts";

const firstTry = { repeatable: true, tries: 1, elapsedMs: 0 };
const shares = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("the back-off", () => {
  const options = { baseMs: 5, maxMs: 300_000, jitter: 0.2 };

  test("doubles from 5 ms to 5 min and stays there", () => {
    const waits = [1, 2, 3, 16, 17, 18, 1_000, 1e9].map((failures) => backoffMs(failures, options, () => 0));
    expect(waits).toEqual([5, 10, 20, 163_840, 300_000, 300_000, 300_000, 300_000]);
  });

  test("never exceeds its bound and never falls below the share that jitter leaves", () => {
    fc.assert(
      fc.property(fc.nat(), shares, (failures, share) => {
        const full = backoffMs(failures, options, () => 0);
        const waitMs = backoffMs(failures, options, () => share);
        expect(waitMs).toBeLessThanOrEqual(options.maxMs);
        expect(waitMs).toBeGreaterThan(full * 0.8 - 1e-6);
      }),
    );
  });
});

describe("a call", () => {
  test("is tried again only after a transient failure", () => {
    const kinds: readonly KubeErrorKind[] = [
      "conflict",
      "alreadyExists",
      "notFound",
      "gone",
      "forbidden",
      "unauthorized",
      "invalid",
      "aborted",
    ];
    const waits = kinds.map((kind) => retryWaitMs(new KubeError(kind, "x"), firstTry, retryPolicyDefault, Math.random));
    expect(waits).toEqual(kinds.map(() => undefined));
    expect(retryWaitMs(new TypeError("x"), firstTry, retryPolicyDefault, Math.random)).toBeUndefined();
    expect(retryWaitMs(new KubeError("transient", "x"), firstTry, retryPolicyDefault, () => 0)).toBe(100);
  });

  test("never comes back sooner than asked, and never later than its budget", () => {
    const { budgetMs } = retryPolicyDefault;
    fc.assert(
      fc.property(
        fc.nat(60_000),
        fc.integer({ min: 1, max: 4 }),
        fc.nat(40_000),
        shares,
        (retryAfterMs, tries, elapsedMs, share) => {
          const error = new KubeError("transient", "x", { status: 429, retryAfterMs });
          const waitMs = retryWaitMs(error, { repeatable: false, tries, elapsedMs }, retryPolicyDefault, () => share);
          const fullMs = Math.max(
            retryAfterMs,
            backoffMs(tries, retryPolicyDefault.backoff, () => share),
          );
          expect(waitMs).toBe(elapsedMs + fullMs > budgetMs ? undefined : fullMs);
        },
      ),
    );
  });

  test("of a single try is never tried again", () => {
    expect(retryWaitMs(new KubeError("transient", "x"), firstTry, singleTry(1_000), Math.random)).toBeUndefined();
  });
});
