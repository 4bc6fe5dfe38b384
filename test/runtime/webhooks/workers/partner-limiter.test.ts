import { describe, expect, test } from "vitest";
import type { BreakerState } from "../../../../runtime/webhooks/settlement/circuit-breaker.ts";
import { PartnerLimiter } from "../../../../runtime/webhooks/workers/partner-limiter.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import type { PartnerOverrides } from "../engine-fixture.ts";
import { advance, compiled, quiet } from "../memory-context.ts";

function gateOf(overrides: PartnerOverrides) {
  const clock = new ManualClock();
  const states: BreakerState["kind"][] = [];
  const now = (): number => clock.wallMs();
  const limiter = new PartnerLimiter(compiled("one", overrides), {
    now,
    clock,
    onBreaker: ({ kind }) => states.push(kind),
  });
  return { clock, gate: limiter, states };
}

/** The start of each of some concurrent attempts, in milliseconds, within a time limit. */
async function beginsOf(
  overrides: PartnerOverrides,
  count: number,
  inMs: number,
  perMinute?: number,
): Promise<readonly number[]> {
  const { clock, gate: limiter } = gateOf(overrides);
  const startMs = clock.nowMs();
  const begins: number[] = [];
  for (let attempt = 0; attempt < count; attempt += 1) {
    const begun = perMinute === undefined ? limiter.enter() : limiter.throttle(perMinute);
    void begun.then(() => begins.push(clock.nowMs() - startMs));
  }
  await quiet();
  for (
    let nextMs = clock.nextInMs;
    nextMs !== undefined && clock.nowMs() + nextMs <= startMs + inMs;
    nextMs = clock.nextInMs
  )
    await advance(clock, nextMs);
  return begins;
}

describe("concurrent attempts", () => {
  const rate = (perSecond: number, burst: number): PartnerOverrides => ({
    delivery: { maxInFlight: 64, rate: { perSecond, burst } },
  });
  test.each<[string, PartnerOverrides, number | undefined, readonly number[]]>([
    ["all begin without a limit", {}, undefined, [0, 0, 0, 0, 0]],
    ["begin by the burst, then by the rate", rate(10, 2), undefined, [0, 0, 100, 200, 300]],
    ["begin one by one with a burst of one", rate(4, 1), undefined, [0, 250, 500, 750, 1_000]],
    ["begin as far as there are places", { delivery: { maxInFlight: 3 } }, undefined, [0, 0, 0]],
    ["begin by the rate that the endpoint consented to", {}, 120, [0, 0, 500, 1_000, 1_500]],
    ["begin one by one at less than one a second", {}, 30, [0, 2_000, 4_000]],
  ])("%s", async (_sentence, overrides, perMinute, expected) => {
    expect(await beginsOf(overrides, 5, 4_500, perMinute)).toEqual(expected);
  });

  test("take free places in the order of their requests", async () => {
    const { gate: limiter } = gateOf({ delivery: { maxInFlight: 1 } });
    const begun: number[] = [];
    for (const attempt of [1, 2, 3]) void limiter.enter().then(() => begun.push(attempt));
    await quiet();
    expect(begun).toEqual([1]);
    limiter.leave();
    await quiet();
    expect(begun).toEqual([1, 2]);
  });

  test("know to the millisecond when tokens exist", async () => {
    const { clock, gate: limiter } = gateOf(rate(10, 2));
    await Promise.all([limiter.enter(), limiter.enter()]);
    expect([limiter.allowance(), limiter.tokensInMs(1), limiter.tokensInMs(16)]).toEqual([0, 100, 200]);
    await advance(clock, 99);
    expect(limiter.allowance()).toBe(0);
    await advance(clock, 1);
    expect([limiter.allowance(), limiter.tokensInMs(1)]).toEqual([1, 0]);
  });
});

describe("a breaker", () => {
  const circuitBreaker = { failures: 2, openMs: 1_000, maxOpenMs: 3_000 };

  /** One attempt: whether it may begin, and its effect on the breaker. */
  async function attempt(limiter: PartnerLimiter, health: "healthy" | "failing"): Promise<boolean> {
    const isIn = await limiter.enter();
    if (isIn) {
      limiter.observe({ health });
      limiter.leave();
    }
    return isIn;
  }

  test("opens at the last failure in a row, admits one probe after its time, and stays open longer each time", async () => {
    const { clock, gate: limiter, states } = gateOf({ circuitBreaker });
    await attempt(limiter, "failing");
    await attempt(limiter, "healthy");
    await attempt(limiter, "failing");
    expect(states).toEqual([]);
    await attempt(limiter, "failing");
    for (const restMs of [1_000, 2_000, 3_000, 3_000]) {
      await advance(clock, restMs - 1);
      expect([limiter.allowance(), await limiter.enter()]).toEqual([0, false]);
      await advance(clock, 1);
      expect([limiter.allowance(), await attempt(limiter, "failing")]).toEqual([1, true]);
    }
    await advance(clock, 3_000);
    expect(await attempt(limiter, "healthy")).toBe(true);
    expect([limiter.breaker.kind, limiter.allowance()]).toEqual(["closed", undefined]);
    expect(states).toEqual(["open", "open", "open", "open", "open", "closed"]);
  });

  test("makes all others wait for the outcome of the probe", async () => {
    const { clock, gate: limiter } = gateOf({ circuitBreaker });
    limiter.openUntil(clock.wallMs() + 500);
    await advance(clock, 500);
    expect(await limiter.enter()).toBe(true);
    const others = [limiter.enter(), limiter.enter()];
    const answers: boolean[] = [];
    others.forEach((other) => void other.then((isIn) => answers.push(isIn)));
    await quiet();
    expect([answers, limiter.allowance()]).toEqual([[], 0]);
    limiter.observe({ health: "healthy" });
    await quiet();
    expect(answers).toEqual([true, true]);
  });

  test("takes only the outcome of the probe for that of the probe", async () => {
    const { clock, gate: limiter } = gateOf({ circuitBreaker });
    const [earlier, probe] = [{}, {}];
    await limiter.enter(earlier);
    limiter.observe({ health: "unknown", pauseMs: 1_000 }, {});
    await advance(clock, 1_000);
    expect(await limiter.enter(probe)).toBe(true);
    limiter.observe({ health: "healthy" }, earlier);
    limiter.observe({ health: "failing" }, earlier);
    limiter.leave(earlier);
    expect([limiter.breaker.kind, limiter.allowance()]).toEqual(["probing", 0]);
    expect([limiter.admits(earlier), limiter.admits(probe)]).toEqual([false, true]);
    limiter.observe({ health: "healthy" }, probe);
    expect(limiter.breaker.kind).toBe("closed");
  });

  test("pauses again when an attempt from before the pause gets a Retry-After during the probe", async () => {
    const { clock, gate: limiter, states } = gateOf({ circuitBreaker });
    const earlier = {};
    await limiter.enter(earlier);
    limiter.observe({ health: "unknown", pauseMs: 1_000 }, {});
    await advance(clock, 1_000);
    await limiter.enter({});
    limiter.observe({ health: "unknown", pauseMs: 2_000 }, earlier);
    await advance(clock, 1_999);
    expect([await limiter.enter(), states]).toEqual([false, ["open", "open"]]);
    await advance(clock, 1);
    expect(await limiter.enter()).toBe(true);
  });

  test("stops attempts that wait for a token of the rate when it opens", async () => {
    const rate = { perSecond: 1, burst: 1 };
    const { clock, gate: limiter } = gateOf({ circuitBreaker, delivery: { maxInFlight: 8, rate } });
    await limiter.enter();
    const others = [limiter.enter({}), limiter.enter({}), limiter.enter({})];
    await quiet();
    limiter.observe({ health: "unknown", pauseMs: 2_500 });
    limiter.leave();
    await advance(clock, 1_000);
    await advance(clock, 1_000);
    expect(await Promise.race([Promise.all(others.slice(0, 2)), quiet()])).toEqual([false, false]);
    await advance(clock, 1_000);
    expect([await others[2], limiter.breaker.kind]).toEqual([true, "probing"]);
  });

  test("admits the next probe at once when one ended with an unknown effect", async () => {
    const { clock, gate: limiter } = gateOf({ circuitBreaker });
    limiter.openUntil(clock.wallMs());
    expect(await limiter.enter()).toBe(true);
    limiter.leave();
    expect([limiter.breaker.kind, await limiter.enter()]).toEqual(["open", true]);
  });

  test("closes when the specification changes, and stays open when the same one is applied again", async () => {
    const { clock, gate: limiter } = gateOf({ circuitBreaker });
    limiter.openUntil(clock.wallMs() + 60_000);
    limiter.use(compiled("one", { circuitBreaker }));
    expect(await limiter.enter()).toBe(false);
    limiter.use(compiled("one", { circuitBreaker, timeoutMs: 2_001 }));
    expect(await limiter.enter()).toBe(true);
  });

  test("keeps a pause that the endpoint requested over an edit, within its new bounds", async () => {
    const { clock, gate: limiter } = gateOf({ circuitBreaker });
    await limiter.enter();
    limiter.observe({ health: "unknown", pauseMs: 3_000 });
    limiter.leave();
    limiter.use(compiled("one", { circuitBreaker, timeoutMs: 2_001 }));
    await advance(clock, 500);
    expect(await limiter.enter()).toBe(false);
    limiter.use(compiled("one", { circuitBreaker: { failures: 2, openMs: 1_000, maxOpenMs: 1_000 } }));
    await advance(clock, 999);
    expect(await limiter.enter()).toBe(false);
    await advance(clock, 1);
    expect(await limiter.enter()).toBe(true);
  });

  test("forgets a pause that another endpoint requested", async () => {
    const { gate: limiter } = gateOf({ circuitBreaker });
    await limiter.enter();
    limiter.observe({ health: "unknown", pauseMs: 3_000 });
    const moved = compiled("one", { circuitBreaker, timeoutMs: 2_001 });
    const endpoint = { ...moved.config.endpoint, url: "https://partner.test/elsewhere" };
    limiter.use({ ...moved, config: { ...moved.config, endpoint } });
    expect(await limiter.enter()).toBe(true);
  });
});
