import { describe, expect, test } from "vitest";
import { ownMs, parseStolenTicks, waitFor } from "./wait.ts";

describe("waitFor", () => {
  test("answers the first truthy value", async () => {
    let looks = 0;
    expect(await waitFor(() => ++looks >= 3 && looks, { timeoutMs: 20_000, what: "three looks", pollMs: 1 })).toBe(3);
  });

  test("takes a look that throws as not yet", async () => {
    let looks = 0;
    const look = async (): Promise<string> => {
      if (++looks < 2) throw new Error("not there");
      return "there";
    };
    expect(await waitFor(look, { timeoutMs: 20_000, what: "a second look", pollMs: 1 })).toBe("there");
  });

  test("names what it waited for and why the last look failed when time is up", async () => {
    const look = (): never => {
      throw new Error("connection refused");
    };
    const wait = waitFor(look, { timeoutMs: 20, what: "the server to answer", pollMs: 1 });
    await expect(wait).rejects.toThrow("waited 20 ms in vain for the server to answer: connection refused");
  });
});

describe("time that the host takes", () => {
  const before = parseStolenTicks("cpu  100 10 40 5000 300 0 0 50 7 0\ncpu0 1 2 3");

  test("is read from the first line, beside what programs used", () => {
    expect(before).toEqual({ used: 150, stolen: 50 });
  });

  test.each([
    ["counts in full when nothing was taken", { used: 250, stolen: 50 }, 1_000],
    ["counts by half when half was taken", { used: 250, stolen: 150 }, 500],
    ["counts by a fifth at least", { used: 151, stolen: 10_000 }, 200],
    ["counts in full when nothing ran", { used: 150, stolen: 50 }, 1_000],
  ])("%s", (_what, after, ms) => {
    expect(ownMs(1_000, before, after)).toBe(ms);
  });
});
