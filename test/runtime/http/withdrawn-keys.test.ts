import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { defaultSettings } from "../../../runtime/config/settings/settings-schema.ts";
import { createAuthenticate } from "../../../runtime/http/authentication/authenticate.ts";
import { KeySource, keySourceTimes } from "../../../runtime/http/authentication/key-source.ts";
import { makeIssuer, nothingShown, signToken, type TestIssuer } from "../../support/tokens.ts";

const { refreshMs, cooldownMs } = keySourceTimes;
const startMs = Date.UTC(2026, 0, 1);
const name = "https://id.example";

let issuers: readonly TestIssuer[];
let tokens: readonly string[];

beforeAll(async () => {
  issuers = await Promise.all(["k0", "k1", "k2"].map((kid) => makeIssuer(name, kid)));
  const exp = startMs / 1000 + 30 * 86_400;
  tokens = await Promise.all(
    issuers.map((issuer) => signToken(issuer, { iss: name, aud: "heliograph", sub: "s", exp })),
  );
});

const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant("use" as const), key: fc.nat(2) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("wait" as const),
        ms: fc.constantFrom(1000, 9000, 11_000, 5 * 60_000, refreshMs, refreshMs + cooldownMs, 3 * 3_600_000),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("publish" as const), keys: fc.subarray([0, 1, 2]) }) },
  ),
  { minLength: 5, maxLength: 40 },
);

/** Which keys the issuer published since when; the last entry is in force. */
interface Published {
  readonly sinceMs: number;
  readonly keys: readonly number[];
}

/** Whether the key was among those published at some time from `fromMs` on. */
function wasPublished(history: readonly Published[], key: number, fromMs: number): boolean {
  return history.some(
    ({ keys }, index) => keys.includes(key) && (history[index + 1]?.sinceMs ?? Number.POSITIVE_INFINITY) >= fromMs,
  );
}

/** Since when the key has been published without a break; undefined when it is not. */
function publishedSince(history: readonly Published[], key: number): number | undefined {
  const lastWithout = history.findLastIndex(({ keys }) => !keys.includes(key));
  return history[lastWithout + 1]?.sinceMs;
}

describe("whatever keys are withdrawn and published while tokens are in use", () => {
  test("a token is believed no longer than ten minutes and ten seconds after its key is gone, and ten seconds after it is there", async () => {
    const counts = { believed: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        let nowMs = startMs;
        const history: Published[] = [{ sinceMs: nowMs - 1, keys: [0] }];
        const load = async () => ({
          keys: (history.at(-1)?.keys ?? []).flatMap((key) => issuers[key]?.publicJwk ?? []),
        });
        const settings = { issuer: name, audiences: ["heliograph"], algorithms: ["ES256"] };
        const authenticate = createAuthenticate(
          [{ settings, keys: new KeySource(load, () => nowMs) }],
          defaultSettings.claims,
          () => nowMs,
        );
        for (const step of sequence) {
          if (step.kind === "wait") nowMs += step.ms;
          else if (step.kind === "publish") history.push({ sinceMs: nowMs, keys: step.keys });
          else {
            const isBelieved = await authenticate(`Bearer ${tokens[step.key]}`, nothingShown).then(
              () => true,
              () => false,
            );
            counts[isBelieved ? "believed" : "refused"] += 1;
            const since = publishedSince(history, step.key);
            const isRight = isBelieved
              ? wasPublished(history, step.key, nowMs - refreshMs - cooldownMs)
              : since === undefined || nowMs - since <= cooldownMs;
            if (!isRight) throw new Error(`${isBelieved ? "believed" : "refused"} at ${nowMs - startMs} ms`);
          }
        }
      }),
      { seed: 11, numRuns: 300 },
    );
    expect(counts.believed).toBeGreaterThan(500);
    expect(counts.refused).toBeGreaterThan(500);
  });
});
