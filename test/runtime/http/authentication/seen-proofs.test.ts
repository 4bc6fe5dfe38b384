import { describe, expect, test } from "vitest";
import { createSeenProofs } from "../../../../runtime/http/authentication/seen-proofs.ts";

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

  test("are not believed when there is no room to remember them", () => {
    const seen = createSeenProofs(1000, 2);
    expect([seen.add("a", 0), seen.add("b", 0), seen.add("c", 0), seen.add("a", 0)]).toEqual([
      "new",
      "new",
      "full",
      "seen",
    ]);
    expect(seen.add("c", 1000)).toBe("new");
  });
});
