import { describe, expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import {
  addressBlock,
  blockRate,
  createAnonymousLimit,
  togetherRate,
} from "../../../../runtime/metrics/admission/concurrency-limit.ts";

/** How many of so many requests at once are let in. */
function taken(
  limit: ReturnType<typeof createAnonymousLimit>,
  count: number,
  address: (index: number) => string | undefined,
): number {
  const refusals = Array.from({ length: count }, (_, index) => refusalOf(() => limit.take(address(index)))).filter(
    (refusal) => refusal !== undefined,
  );
  expect(
    refusals.every(
      ({ status, code, retryAfterSeconds }) =>
        status === 429 && code === "too_many_requests" && retryAfterSeconds === 1,
    ),
  ).toBe(true);
  return count - refusals.length;
}

function refusalOf(work: () => void): ApiError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

describe("requests without a token", () => {
  test("of one network are limited to ten a second after a burst (Operational Metrics API §8)", () => {
    let nowMs = 0;
    const limit = createAnonymousLimit(() => nowMs);
    expect(taken(limit, 100, (index) => `192.0.2.${index}`)).toBe(blockRate.burst);
    nowMs += 1_000;
    expect(taken(limit, 100, (index) => `192.0.2.${index}`)).toBe(blockRate.perSecond);
    expect(taken(limit, 10, () => "192.0.3.1")).toBe(10);
  });

  test("of all networks together have a separate limit", () => {
    const limit = createAnonymousLimit(() => 0);
    expect(taken(limit, 1_000, (index) => `10.${index >> 8}.${index & 255}.1`)).toBe(togetherRate.burst);
  });

  test("of unknown addresses count as one network", () => {
    expect(
      taken(
        createAnonymousLimit(() => 0),
        100,
        () => undefined,
      ),
    ).toBe(blockRate.burst);
  });

  test.each([
    ["192.0.2.7", "192.0.2"],
    ["::ffff:192.0.2.7", "192.0.2"],
    ["2001:db8:1:2::9", "2001:db8:1"],
    ["2001:DB8:1:ffff:1:2:3:4", "2001:db8:1"],
    ["2001:db8::9", "2001:db8:0"],
    ["::1", "0:0:0"],
    ["fe80::1%eth0", "fe80:0:0"],
  ])("from %s are those of the network %s", (address, block) => {
    expect(addressBlock(address)).toBe(block);
  });
});
