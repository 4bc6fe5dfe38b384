import { expect, test } from "vitest";
import { isLate } from "./account.ts";
import type { Fault } from "./faults.ts";
import {
  attemptMsMax,
  counterFault,
  doubled,
  duringPause,
  excesses,
  heardUntil,
  isExcused,
  needless,
  judgeDoubled,
  lapses,
  silenceMs,
  silencesByVerb,
  underWay,
  undelivered,
  withTails,
  type PastFault,
  type Receipt,
} from "./ledger.ts";

const receipt = (eventId: string, fromMs: number, changes: Partial<Receipt> = {}): Receipt => ({
  eventId,
  attempt: 1,
  place: 1,
  fromMs,
  toMs: fromMs + 100,
  status: 200,
  ...changes,
});
const past = (verb: "kill_server" | "stop_pod" | "kill_pod", fromMs: number, toMs: number): PastFault => {
  const fault: Fault = { verb, target: 0, ms: toMs - fromMs };
  return { fault, fromMs, toMs };
};

test("an event is undelivered until a response of 2xx", () => {
  const receipts = [receipt("a", 0), receipt("b", 0, { status: 503 }), receipt("c", 0, { status: 0 })];
  expect(undelivered(["a", "b", "c", "d"], receipts)).toEqual(["b", "c", "d"]);
});

test("a retry is no double; a repeated attempt and a request after the delivery are", () => {
  const failed = receipt("a", 0, { status: 503 });
  expect(doubled([failed, receipt("a", 1_000, { attempt: 2 })])).toEqual([]);
  expect(doubled([failed, receipt("a", 1_000)])).toHaveLength(1);
  expect(doubled([receipt("a", 0), receipt("a", 1_000, { attempt: 2 })])).toHaveLength(1);
  expect(doubled([receipt("a", 0), receipt("b", 1_000)])).toEqual([]);
});

test.each<[what: string, first: Partial<Receipt>, again: Partial<Receipt>, doubled: number]>([
  ["on a kept connection may be sent again on a new one", {}, {}, 0],
  ["may be sent again until its attempt is over", {}, { fromMs: attemptMsMax }, 0],
  ["may not be sent again after its attempt", {}, { fromMs: attemptMsMax + 501 }, 1],
  ["on a new connection is not sent again", { place: 1 }, {}, 1],
  ["is not sent again on a kept connection", {}, { place: 2 }, 1],
  ["is not sent again while it is open", { toMs: 5_000 }, {}, 1],
  ["after a response is not sent again", { status: 503 }, {}, 1],
])("a request that was cut off %s", (_what, first, again, count) => {
  const cutOff = receipt("a", 0, { status: 0, place: 2, ...first });
  expect(doubled([cutOff, receipt("a", 110, again)])).toHaveLength(count);
});

test("a request that was cut off is sent again once", () => {
  const [first, second] = [receipt("a", 0, { status: 0, place: 2 }), receipt("a", 110, { status: 0 })];
  expect(doubled([first, second, receipt("a", 300)])).toHaveLength(1);
});

test.each<[what: string, faults: readonly PastFault[], firstMs: number, unexcused: number]>([
  ["without a fault", [], 1_000, 1],
  ["under way when a pod was killed", [past("kill_pod", 1_050, 3_000)], 1_000, 0],
  ["recorded just before a pod was killed", [past("kill_pod", 2_000, 4_000)], 1_000, 0],
  ["long before a pod was killed", [past("kill_pod", 9_000, 11_000)], 1_000, 1],
  ["made by another pod while one was stopped", [past("stop_pod", 1_000, 60_000)], 30_000, 1],
  ["made while no record could be stored", [past("kill_server", 1_000, 6_000)], 5_000, 0],
  ["made long after a server was back", [past("kill_server", 1_000, 6_000)], 30_000, 1],
])("a doubled attempt %s is excused only if a fault took its record", (_what, faults, firstMs, unexcused) => {
  const receipts = [receipt("a", firstMs), receipt("a", firstMs + 40_000)];
  const result = judgeDoubled(receipts, faults);
  expect([result.count, result.unexcused.length]).toEqual([1, unexcused]);
  expect(result.count <= result.allowed).toBe(unexcused === 0);
});

test("a pod whose lanes others took without a fault excuses the attempts that were under way", () => {
  const beats = [0, 500, 2_300, 2_800];
  const [stall, ...more] = lapses([beats, [0, 500, 2_000, 2_500]], []);
  expect([stall?.fromMs, stall?.toMs, more.length]).toEqual([500, 2_300, 0]);
  expect(lapses([beats], [past("kill_pod", 400, 600)])).toEqual([]);
  expect(lapses([[0, 9_000]], [past("stop_pod", 100, 8_900)])).toEqual([]);
  expect(lapses([[7_000, 9_000]], [past("stop_pod", 100, 6_900)])).toHaveLength(1);
  expect(lapses([[7_000, 9_000]], [past("kill_server", 100, 6_900)])).toEqual([]);
  const repeat = [receipt("a", 600), receipt("a", 2_400)];
  expect(judgeDoubled(repeat, []).unexcused).toHaveLength(1);
  expect(judgeDoubled(repeat, lapses([beats], [])).unexcused).toEqual([]);
  expect(judgeDoubled([receipt("a", 2_100), receipt("a", 2_400)], lapses([beats], [])).unexcused).toHaveLength(1);
});

test("attempts are under way while they are open, and until their record may be stored", () => {
  const receipts = [receipt("a", 1_000), receipt("b", 1_000, { toMs: Number.POSITIVE_INFINITY })];
  expect([999, 1_050, 2_000, 9_000].map((atMs) => underWay(receipts, atMs))).toEqual([0, 2, 2, 1]);
});

test("a 429 asks for no request until its time is over", () => {
  const limited = receipt("a", 0, { status: 429 });
  const times = [50, 1_050, 1_200, 2_099, 2_100];
  const found = duringPause([limited, ...times.map((fromMs) => receipt("b", fromMs))], 2_000);
  expect(found.map(({ fromMs }) => fromMs)).toEqual([1_200, 2_099]);
});

test("an excess counts requests that are open at once, not those that follow each other", () => {
  const receipts = [receipt("a", 0), receipt("b", 100), receipt("c", 150)];
  expect(excesses(receipts, () => 1)).toEqual([{ atMs: 150, open: 2, limit: 1 }]);
  expect(excesses(receipts, () => 2)).toEqual([]);
});

test("an excess is excused by the attempts that were under way when a pod was lost", () => {
  const stalled = receipt("a", 900, { toMs: 5_000 });
  const receipts = [stalled, receipt("b", 2_000), receipt("c", 2_010)];
  const [one, two] = excesses(receipts, () => 1);
  if (one === undefined || two === undefined) throw new Error("no excess");
  const faults = [past("stop_pod", 1_000, 10_000)];
  expect([isExcused(one, receipts, faults), isExcused(two, receipts, faults)]).toEqual([true, false]);
  expect(isExcused(one, receipts, [])).toBe(false);
  expect(isExcused({ ...one, atMs: 60_000 }, receipts, faults)).toBe(false);
});

test("a silence begins before the fault and may end after it", () => {
  const fault = { fromMs: 1_000, toMs: 2_000 };
  expect(silenceMs([900, 1_100, 4_000, 4_100], fault, 3_000)).toBe(2_900);
  expect(silenceMs([900, 1_000, 2_000, 3_000, 4_000, 5_000], fault, 3_000)).toBe(1_000);
  expect(silenceMs([900, 9_000], fault, 3_000)).toBe(8_100);
  expect(silenceMs([], fault, 3_000)).toBe(4_000);
});

test("a silence counts from the last election before its end", () => {
  const fault = { fromMs: 1_000, toMs: 2_000 };
  const deliveredMs = [900, 8_000, 8_100];
  const after = (electedMs: readonly number[]): number => silenceMs(deliveredMs, fault, 7_000, undefined, electedMs);
  expect(after([])).toBe(7_100);
  expect(after([5_500, 7_400])).toBe(900);
  // Elections before the silence, and those that deliveries did not wait for.
  expect(after([800, 8_050])).toBe(7_100);
});

test.each<[verb: "kill_server" | "kill_pod", ms: number, addedMs: number, isLate: boolean]>([
  ["kill_server", 8_000, 8_000, false],
  ["kill_server", 9_500, 2_000, false],
  ["kill_server", 9_500, 2_001, true],
  ["kill_pod", 2_000, 2_000, false],
  ["kill_pod", 2_001, 0, true],
])("after %s, a silence of %i ms, %i ms of it after an election, is late: %s", (verb, ms, addedMs, late) => {
  expect(isLate({ past: past(verb, 0, 1_000), ms, addedMs })).toBe(late);
});

test("what the next fault delays is no silence of the one before", () => {
  const fault = past("kill_pod", 1_000, 2_000);
  const deliveredMs = [900, 2_400, 4_900, 12_000];
  expect(silenceMs(deliveredMs, fault, 3_000, 5_000)).toBe(2_500);
  expect(silenceMs(deliveredMs, past("kill_server", 5_000, 6_000), 3_000)).toBe(7_100);
});

test("a silence that an earlier fault began counts from the last one", () => {
  const faults = [past("kill_pod", 1_000, 1_100), past("kill_pod", 2_500, 2_600)];
  const judged = (deliveredMs: readonly number[]): readonly number[] =>
    withTails(faults, 10_000, 60_000).map(({ past: one, tailMs, nextMs, previousMs }) =>
      silenceMs(heardUntil(deliveredMs, one.fromMs, previousMs), one, tailMs, nextMs),
    );
  expect(judged([900, 4_300, 6_000, 8_000, 10_000, 12_000, 14_000])).toEqual([1_600, 2_000]);
  // The new owner of the lane has delivered between them.
  expect(judged([900, 2_400, 4_500, 6_000, 8_000, 10_000, 12_000, 14_000])).toEqual([1_500, 2_100]);
});

test("a fault has its time alone until the next one begins", () => {
  const faults = [past("kill_pod", 0, 1_000), past("kill_pod", 3_000, 4_000)];
  expect(withTails(faults, 5_000, 60_000).map(({ tailMs }) => tailMs)).toEqual([2_000, 5_000]);
});

test("the end of the traffic is no silence", () => {
  const deliveredMs = [0, 1_000, 2_000, 3_000, 4_000, 5_000];
  const silences = withTails([past("kill_pod", 500, 1_000)], 10_000, 5_000).map(({ past: one, tailMs, nextMs }) =>
    silenceMs(deliveredMs, one, tailMs, nextMs),
  );
  expect(silences).toEqual([1_000]);
});

test("a repeat is needless when each request left a record", () => {
  const receipts = [receipt("a", 0), receipt("a", 1_000)];
  const count = (recorded: readonly number[]): number =>
    needless(doubled(receipts), receipts, new Map([["a", recorded]])).length;
  expect([count([1, 1]), count([1]), count([1, 2])]).toEqual([1, 0, 0]);
});

test("silences are summed up by verb", () => {
  const ms = (value: number) => ({ verb: "kill_pod", ms: value }) as const;
  expect(silencesByVerb([ms(5), ms(100), ms(7)])).toEqual({ kill_pod: { count: 3, medianMs: 7, maxMs: 100 } });
});

test("a counter equals the count; that of a killed pod may miss what came after its last scrape", () => {
  const times = [1_000, 2_000, 30_000, 31_000];
  expect(counterFault("m", [{ atMs: 40_000, value: 4 }], times)).toBeUndefined();
  expect(counterFault("m", [{ atMs: 40_000, value: 5 }], times)).toBe("m is 5, and 4 to 4 were counted");
  expect(counterFault("m", [{ atMs: 40_000, value: 3 }], times)).toBe("m is 3, and 4 to 4 were counted");
  const killed = { atMs: 29_500, value: 2, endedMs: 30_500 };
  expect(counterFault("m", [killed], times)).toBeUndefined();
  expect(counterFault("m", [{ ...killed, value: 1 }], times)).toBe("m is 1, and 2 to 4 were counted");
  expect(counterFault("m", [{ atMs: 40_000, value: 3 }], times, 1)).toBeUndefined();
});
