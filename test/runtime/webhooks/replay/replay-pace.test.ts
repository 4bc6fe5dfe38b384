import { describe, expect, test } from "vitest";
import type { LaneState } from "../../../../runtime/nats/streams/deliveries-stream.ts";
import { createReplayPace, paceMsMax } from "../../../../runtime/webhooks/replay/replay-pace.ts";
import { ManualClock } from "../../../support/manual-clock.ts";
import type { PartnerOverrides } from "../engine-fixture.ts";
import { advance, compiled, quiet } from "../memory-context.ts";

interface Case {
  readonly clock: ManualClock;
  /** State of the lane; a turn adds a message. */
  state: LaneState | undefined;
  /** Requests some turns; returns a function that counts those that came. */
  turns(count: number): () => number;
}

function caseOf(state: Partial<LaneState> | undefined, overrides: PartnerOverrides = {}): Case {
  const clock = new ManualClock();
  const partner = compiled("one", { delivery: { maxInFlight: 16 }, ...overrides });
  const it: Case = {
    clock,
    state: state && { messages: 0, settledSeq: 0, handedOut: 0, pausedMs: 0, ...state },
    turns: (count) => {
      let came = 0;
      const turn = async (): Promise<void> => {
        await pace.turn(partner);
        came += 1;
        if (it.state !== undefined) it.state = { ...it.state, messages: it.state.messages + 1 };
      };
      for (let place = 0; place < count; place += 1) void turn();
      return () => came;
    },
  };
  const deliveries = { laneState: async () => it.state };
  const pace = createReplayPace({ deliveries, clock, ending: new AbortController().signal });
  return it;
}

describe("replays of a partner", () => {
  test("fill half of its places, and more as these become free", async () => {
    const it = caseOf({});
    const came = it.turns(30);
    await quiet();
    expect(came()).toBe(8);
    await advance(it.clock, 100);
    expect(came()).toBe(8);
    it.state = { messages: 5, settledSeq: 3, handedOut: 8, pausedMs: 0 };
    await advance(it.clock, 20);
    expect(came()).toBe(11);
  });

  test("follow nine other deliveries each while these fill the places", async () => {
    const it = caseOf({ messages: 200, handedOut: 1_000 });
    const came = it.turns(30);
    await advance(it.clock, 20);
    expect(came()).toBe(0);
    for (let step = 1; step <= 20; step += 1) {
      it.state = { messages: 200, settledSeq: 0, handedOut: 1_000 + step * 5, pausedMs: 0 };
      await advance(it.clock, 20);
    }
    expect(came()).toBeGreaterThanOrEqual(9);
    expect(came()).toBeLessThanOrEqual(11);
  });

  test.each<[string, Partial<LaneState> | undefined, PartnerOverrides]>([
    ["wait for half a second at most when no delivery ends", { messages: 200 }, {}],
    ["wait as long for the only place of a partner", { messages: 1 }, { delivery: { maxInFlight: 1 } }],
  ])("%s", async (_sentence, state, overrides) => {
    const it = caseOf(state, overrides);
    const came = it.turns(3);
    for (let stepMs = 0; stepMs < paceMsMax - 20; stepMs += 20) await advance(it.clock, 20);
    expect(came()).toBe(0);
    await advance(it.clock, 20);
    await advance(it.clock, 20);
    expect(came()).toBe(3);
  });

  test.each<[string, Partial<LaneState> | undefined, PartnerOverrides]>([
    ["that is paused wait for nothing", { messages: 200 }, { state: "Paused" }],
    ["that is held wait for nothing", { messages: 200 }, { held: "unresolved" }],
  ])("%s", async (_sentence, state, overrides) => {
    const came = caseOf(state, overrides).turns(30);
    await quiet();
    expect(came()).toBe(30);
  });
});
