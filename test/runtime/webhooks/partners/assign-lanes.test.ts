import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assignLanes, isSharedLane } from "../../../../runtime/webhooks/partners/partner.ts";
import { partnerKey } from "../../../../runtime/webhooks/ids.ts";

const tokensOf = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => partnerKey(`uid-${n}`));
const ownLanesMax = 4;
const nobody = new Set<string>();

describe("lanes", () => {
  test("are the partners' own while there are few", () => {
    const tokens = tokensOf(4);
    const places = assignLanes(tokens, nobody, ownLanesMax);
    expect(tokens.map((token) => places.get(token))).toEqual(tokens.map((token) => ({ lane: token, lanes: [token] })));
  });

  test("are shared by partners beyond the limit, which may have messages in both", () => {
    const tokens = tokensOf(20);
    const places = [...assignLanes(tokens, nobody, ownLanesMax)];
    expect(places.filter(([token, { lane }]) => lane === token)).toHaveLength(4);
    const shared = places.filter(([, { lane }]) => isSharedLane(lane));
    expect(shared).toHaveLength(16);
    expect(shared.every(([token, { lane, lanes }]) => lanes.join() === `${token},${lane}`)).toBe(true);
  });

  test("of their own go to promoted partners first", () => {
    const tokens = tokensOf(20);
    const promoted = new Set(tokens.slice(10, 13));
    const places = assignLanes(tokens, promoted, ownLanesMax);
    expect([...promoted].map((token) => places.get(token)?.lane)).toEqual([...promoted]);
  });

  test("move at most one other partner when one is added, and none of the shared ones", () => {
    const someTokens = fc.uniqueArray(fc.integer({ min: 0, max: 999 }), { minLength: 5, maxLength: 40 });
    fc.assert(
      fc.property(someTokens, (numbers) => {
        const tokens = numbers.map((n) => partnerKey(`uid-${n}`));
        const before = assignLanes(tokens.slice(1), nobody, ownLanesMax);
        const after = assignLanes(tokens, nobody, ownLanesMax);
        const moved = tokens.slice(1).filter((token) => before.get(token)?.lane !== after.get(token)?.lane);
        expect(tokens.length === 5 || moved.length <= 1).toBe(true);
        expect(moved.filter((token) => isSharedLane(before.get(token)?.lane ?? ""))).toEqual([]);
      }),
    );
  });

  test("of a partner are never taken for shared ones", () => {
    expect(tokensOf(200).filter(isSharedLane)).toEqual([]);
    expect(isSharedLane("shared-3")).toBe(true);
  });
});
