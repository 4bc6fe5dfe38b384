import { describe, expect, test } from "vitest";
import {
  liveStateOf,
  liveViewOf,
  parseLiveState,
  type LiveState,
  createPartnerFigures,
  createLiveStates,
} from "../../../../runtime/webhooks/live/live-state.ts";
import { ownerOf } from "../../../../runtime/pods/pods.ts";

const none = { backlog: undefined, oldestDueAtMs: undefined };
const state: LiveState = {
  breaker: "open",
  breakerUntilMs: 9_000,
  cause: "failures",
  backlog: 7,
  inFlight: 2,
  oldestDueAtMs: 1_000,
  asOfMs: 5_000,
};

const pause = { kind: "open", cause: "failures", sinceMs: 0, untilMs: 0, restMs: 9, failures: 1 } as const;

describe("the state of a breaker", () => {
  test.each([
    ["closed", { kind: "closed", failures: 3 }, { breaker: "closed", breakerUntilMs: null, cause: null }],
    [
      "open until its time",
      { ...pause, untilMs: 5_001 },
      { breaker: "open", breakerUntilMs: 5_001, cause: "failures" },
    ],
    ["half open from then on", { ...pause, untilMs: 5_000 }, { breaker: "half_open" }],
    ["half open during a probe", { ...pause, kind: "probing" }, { breaker: "half_open", breakerUntilMs: null }],
    [
      "open for a pod of an earlier version while a Retry-After pauses it",
      { ...pause, cause: "rate_limited", untilMs: 5_001 },
      { breaker: "open", cause: "rate_limited" },
    ],
  ] as const)("is %s", (_, breaker, shown) => {
    expect(liveStateOf(breaker, 0, none, 5_000)).toMatchObject(shown);
  });
});

describe("the answer of a pod", () => {
  test("is read as it was sent", () => {
    expect(parseLiveState(JSON.parse(JSON.stringify(state)))).toEqual(state);
  });

  test("lacks what the owner has not counted", () => {
    const sent = liveStateOf({ kind: "closed", failures: 0 }, 4, none, 5_000);
    expect(parseLiveState(JSON.parse(JSON.stringify(sent)))).toMatchObject({ backlog: null, oldestDueAtMs: null });
  });

  test.each([
    ["of a pod that does not own the lane", {}],
    ["with a breaker of a later version", { ...state, breaker: "melted" }],
    ["without a time", { ...state, asOfMs: undefined }],
    ["with a time beyond the calendar", { ...state, asOfMs: 1e300 }],
    ["with a number that counts nothing", { ...state, inFlight: -1 }],
    ["that is no object", "open"],
    ["that is absent", undefined],
  ])("%s is none", (_, message) => {
    expect(parseLiveState(message)).toBeUndefined();
  });
});

describe("the view", () => {
  test("has the age of the figures, and times as texts", () => {
    expect(liveViewOf(state, false, 6_500)).toEqual({
      known: false,
      hidden: false,
      as_of: "1970-01-01T00:00:05.000Z",
      age_seconds: 1.5,
      breaker: "open",
      breaker_until: "1970-01-01T00:00:09.000Z",
      backlog: 7,
      in_flight: 2,
      oldest_due_at: "1970-01-01T00:00:01.000Z",
    });
  });

  test("names a pause that a Retry-After requested", () => {
    const breakerOf = (change: Partial<LiveState>) => liveViewOf({ ...state, ...change }, true, 6_500).breaker;
    expect(breakerOf({ cause: "rate_limited" })).toBe("rate_limited");
    expect(breakerOf({ cause: "rate_limited", breaker: "half_open" })).toBe("half_open");
    expect(breakerOf({ cause: null })).toBe("open");
  });

  test("is empty when no owner ever answered", () => {
    expect(new Set(Object.values(liveViewOf(undefined, false, 6_500)))).toEqual(new Set([false, null]));
  });

  test("of a clock that is behind has no negative age", () => {
    expect(liveViewOf(state, true, 4_000)).toMatchObject({ known: true, age_seconds: 0 });
  });
});

describe("the figures of a pod", () => {
  const partner = { label: "ns/one", lane: "lane" };

  test("are unknown for a lane that it has not counted", () => {
    expect(createPartnerFigures().of(partner)).toEqual({ backlog: undefined, oldestDueAtMs: undefined });
  });

  test("are zero for a partner without deliveries in a counted lane", () => {
    const figures = createPartnerFigures();
    figures.oldest("ns/one", 4);
    figures.counted(new Set(["lane"]), new Map());
    expect(figures.of(partner)).toEqual({ backlog: 0, oldestDueAtMs: undefined });
    figures.counted(new Set(["lane"]), new Map([["ns/one", 3]]));
    expect(figures.of(partner)).toEqual({ backlog: 3, oldestDueAtMs: 4 });
    figures.counted(new Set(), new Map());
    expect(figures.of(partner)).toEqual({ backlog: undefined, oldestDueAtMs: 4 });
  });
});

describe("the live state of a partner", () => {
  const pods = ["a", "b"];
  const lane = ["x", "y", "z", "u", "v", "w"].find((name) => ownerOf(name, pods) === "b") ?? "";
  const partner = { key: "k", lane };
  const statesOf = (answer: () => Promise<unknown>, here?: LiveState) => {
    const asked: string[] = [];
    const request = async (pod: string): Promise<unknown> => {
      asked.push(pod);
      return answer();
    };
    const peers = { request, serve: () => undefined };
    const own = here === undefined ? "a" : "b";
    const states = createLiveStates({ peers, livePods: () => pods, own, here: () => here, now: () => 6_000 });
    return { states, asked };
  };

  test("comes from memory in the pod that owns the lane", async () => {
    const { states, asked } = statesOf(() => Promise.reject(new Error("asked")), state);
    expect(await states.of(partner)).toMatchObject({ known: true, breaker: "open", backlog: 7, age_seconds: 1 });
    expect(asked).toEqual([]);
  });

  test("is asked of the owner once for concurrent callers", async () => {
    const { states, asked } = statesOf(async () => state);
    const views = await Promise.all([states.of(partner), states.of(partner), states.of(partner)]);
    expect(views.map(({ known }) => known)).toEqual([true, true, true]);
    expect(asked).toEqual(["b"]);
  });

  test("is the last known one once the owner is silent, lost its lane or is older", async () => {
    const answers = [
      async () => state,
      () => Promise.reject(new Error("silent")),
      async () => ({}),
      async () => undefined,
    ];
    const { states } = statesOf(() => answers.shift()?.() ?? Promise.resolve(undefined));
    expect(await states.of(partner)).toMatchObject({ known: true });
    for (let count = 0; count < 3; count += 1)
      expect(await states.of(partner)).toMatchObject({ known: false, backlog: 7, as_of: "1970-01-01T00:00:05.000Z" });
    expect(await states.of({ ...partner, key: "other" })).toMatchObject({ known: false, backlog: null, as_of: null });
  });

  test("of several partners has the backlogs that the owners know, and none of a pod that is silent or older", async () => {
    const own = ["x", "y", "z", "u", "v", "w"].find((name) => ownerOf(name, pods) === "a") ?? "";
    const partners = [
      { key: "k", lane },
      { key: "other", lane },
      { key: "here", lane: own },
    ];
    const { states, asked } = statesOf(async () => ({
      backlogs: [
        ["k", 3],
        ["other", -1],
        ["foreign", 5],
      ],
    }));
    expect([...(await states.backlogs(partners))]).toEqual([["k", 3]]);
    expect(asked).toEqual(["b"]);
    const silent = statesOf(() => Promise.reject(new Error("silent"))).states;
    expect([...(await silent.backlogs(partners))]).toEqual([]);
    const older = statesOf(async () => undefined, state).states;
    expect([...(await older.backlogs(partners))]).toEqual([
      ["k", 7],
      ["other", 7],
    ]);
  });

  test("is sent to other pods for at most one page of partners", async () => {
    const handlers = new Map<string, (message: unknown) => unknown>();
    const peers = {
      request: async () => undefined,
      serve: (topic: string, handler: (message: unknown) => object | Promise<object>) =>
        void handlers.set(topic, handler),
    };
    createLiveStates({ peers, livePods: () => pods, own: "a", here: () => state, now: () => 6_000 });
    const respond = handlers.get("backlogs") ?? (() => undefined);
    expect(respond({ keys: ["k", 4] })).toEqual({ backlogs: [["k", 7]] });
    expect(respond({})).toEqual({ backlogs: [] });
    const many = Array.from({ length: 1_000 }, (_, index) => `key-${index}`);
    expect((respond({ keys: many }) as { readonly backlogs: readonly unknown[] }).backlogs).toHaveLength(200);
  });
});
