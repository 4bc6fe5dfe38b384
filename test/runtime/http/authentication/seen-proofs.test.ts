import { describe, expect, test } from "vitest";
import { createSeenProofs, idsPerHalfMax } from "../../../../runtime/http/authentication/dpop-proof.ts";

describe("proofs that were seen", () => {
  test("are known for their whole lifetime and forgotten after twice that", () => {
    const seen = createSeenProofs(1000);
    expect(seen.add("a", 0)).toBe("new");
    for (const nowMs of [0, 500, 999]) expect(seen.add("a", nowMs)).toBe("seen");
    expect(seen.add("b", 999)).toBe("new");
    expect(seen.add("b", 1998)).toBe("seen");
    expect(seen.add("b", 2998)).toBe("new");
    expect(seen.add("c", 10_000)).toBe("new");
    expect(seen.add("a", 10_000)).toBe("new");
  });

  test("are refused when the half that takes new ones is full", () => {
    const seen = createSeenProofs(1000);
    for (let index = 0; index < idsPerHalfMax; index += 1) seen.add(`a${index}`, 0);
    expect([seen.add("b", 0), seen.add("a0", 0)]).toEqual(["full", "seen"]);
    expect(seen.add("b", 1000)).toBe("new");
  });
});
