import { describe, expect, test } from "vitest";
import { waitFor } from "./wait.ts";

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
