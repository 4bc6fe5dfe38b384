import { describe, expect, test } from "vitest";
import { viewOf } from "../../../../runtime/webhooks/history/history-view.ts";

const attempt = {
  attempt: 1,
  error: {
    reason: "guard" as const,
    detail: "partner.test: 10.0.0.1 is private use (10.0.0.0/8), which is not allowed",
  },
  pod: "runtime-7d9",
};
const sent = { partner: "shop/one", reason: "guard", attempts: [attempt] };
const other = { ...sent, partner: "bank/two" };
const refused = { partner: "shop/three", reason: "not_permitted", attempts: [] };
const all = [sent, other, refused];

describe("a history", () => {
  test("shows a tenant every partner, and neither addresses nor pods", () => {
    const shown = viewOf(all, {});
    expect(shown.map(({ partner }) => partner)).toEqual(["shop/one", "bank/two", "shop/three"]);
    expect(JSON.stringify(shown)).not.toMatch(/10\.0\.0\.1|partner\.test|runtime-7d9/u);
    expect(shown[0]?.attempts[0]).toMatchObject({
      attempt: 1,
      error: { reason: "guard", detail: expect.stringContaining("do not allow") as string },
    });
  });

  test("shows everything to an administrator", () => {
    expect(viewOf(all, { showsInternals: true })).toEqual(all);
  });

  test.each([
    ["its own deliveries", ["shop/one"], ["shop/one"]],
    ["every one when its claim says so", ["*"], ["shop/one", "bank/two", "shop/three"]],
    ["none of others", ["shop/two"], []],
    ["none by an empty claim", [], []],
    ["nothing of an event that it may not get", ["shop/one", "shop/three"], ["shop/one"]],
  ])("shows a partner %s", (_, partners, labels) => {
    expect(viewOf(all, { partners }).map(({ partner }) => partner)).toEqual(labels);
  });

  test("shows a partner the attempts before its permission was withdrawn", () => {
    const before = { ...refused, attempts: [attempt] };
    expect(viewOf([before], { partners: ["shop/three"] })).toHaveLength(1);
  });
});
