import { describe, expect, test } from "vitest";
import { createTokenSession } from "../../console/sign-in/session.ts";
import { storePendingSignIn, takePendingSignIn } from "../../console/sign-in/pending-sign-in.ts";
import { isInForce } from "../../console/sign-in/session-store.ts";
import { skewOf, takeFragmentToken } from "../../console/sign-in/start-session.ts";

/** What the functions use of a browser's storage. */
function storage(stored: Readonly<Record<string, string>> = {}): Storage {
  const items = new Map(Object.entries(stored));
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
    clear: () => items.clear(),
    key: () => null,
    get length() {
      return items.size;
    },
  };
}

describe("takePendingSignIn", () => {
  const pending = { verifier: "v", state: "s", returnTo: "/console/events?state=dead" };

  test("gives back what was stored, once", () => {
    const kept = storage();
    storePendingSignIn(pending, kept);
    expect(takePendingSignIn(kept)).toEqual(pending);
    expect(takePendingSignIn(kept)).toBeUndefined();
    expect(kept).toHaveLength(0);
  });

  test.each([
    "https://elsewhere.example/",
    "//elsewhere.example",
    "/elsewhere",
    "javascript:alert(1)",
    "/consoles",
    "/console/signed-in?code=x",
    7,
  ])("goes home instead of to %s", (returnTo) => {
    const kept = storage({ "heliograph-sign-in": JSON.stringify({ ...pending, returnTo }) });
    expect(takePendingSignIn(kept)?.returnTo).toBe("/console/");
  });

  test.each(["", "{", "null", "[]", '{"verifier":1,"state":"s"}'])("knows nothing from %j", (text) => {
    expect(takePendingSignIn(storage({ "heliograph-sign-in": text }))).toBeUndefined();
  });
});

describe("takeFragmentToken", () => {
  test.each([
    ["#token=abc", "abc", "/console/events?state=dead"],
    ["#token=", undefined, "/console/events?state=dead"],
    ["", undefined, undefined],
    ["#main", undefined, undefined],
  ])("takes out of %j the token %s", (fragment, token, left) => {
    const addresses: string[] = [];
    const place = { hash: fragment, pathname: "/console/events", search: "?state=dead" } as Location;
    const past = { replaceState: (_state: unknown, _unused: string, url: string) => void addresses.push(url) };
    expect(takeFragmentToken(place, past as unknown as History)).toBe(token);
    expect(addresses).toEqual(left === undefined ? [] : [left]);
  });
});

describe("skewOf", () => {
  test.each([
    ["Thu, 01 Jan 1970 00:02:00 GMT", 0, 120],
    ["Thu, 01 Jan 1970 00:00:00 GMT", 120_000, -120],
    ["Thu, 01 Jan 1970 00:00:02 GMT", 0, 0],
    ["never", 0, 0],
    [null, 0, 0],
  ])("of %s at %s ms is %s s", (date, nowMs, seconds) => {
    expect(skewOf(date, nowMs)).toBe(seconds);
  });
});

describe("isInForce", () => {
  const [minute, hour] = [60_000, 3_600_000];
  const nowMs = 100 * hour;
  const session = { startedMs: nowMs - hour, usedMs: nowMs - minute, endsMs: nowMs + minute };

  test.each([
    ["in use", {}, true],
    ["unused for 29 minutes", { usedMs: nowMs - 29 * minute }, true],
    ["unused for 30 minutes", { usedMs: nowMs - 30 * minute }, false],
    ["of 11 hours", { startedMs: nowMs - 11 * hour }, true],
    ["of 12 hours", { startedMs: nowMs - 12 * hour }, false],
    ["whose token has ended", { endsMs: nowMs - 1 }, false],
    ["whose token has ended and can be renewed", { endsMs: nowMs - 1, refresh: "r" }, true],
    ["whose token has no known end", { endsMs: Number.POSITIVE_INFINITY }, true],
    ["used in the future, after the clock went back", { usedMs: nowMs + 2 * minute }, false],
  ])("of a session %s", (_name, change, expected) => {
    expect(isInForce({ ...session, ...change }, nowMs)).toBe(expected);
  });
});

test("a session that has ended sends no token", async () => {
  const sent: (string | null)[] = [];
  const realFetch = globalThis.fetch;
  globalThis.fetch = async (_path, init) => {
    sent.push(new Headers(init?.headers).get("authorization"));
    return new Response();
  };
  try {
    const session = createTokenSession("abc");
    await session.send("/v1/me", {});
    await session.end();
    await session.send("/v1/me", {});
  } finally {
    globalThis.fetch = realFetch;
  }
  expect(sent).toEqual(["Bearer abc", null]);
});
