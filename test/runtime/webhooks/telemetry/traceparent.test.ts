import { expect, test } from "vitest";
import { traceparentOf } from "../../../../runtime/webhooks/telemetry/traceparent.ts";

test("the attempts of a delivery share a trace and have a span each", () => {
  const [first, again, second, other] = [
    traceparentOf("d", 1),
    traceparentOf("d", 1),
    traceparentOf("d", 2),
    traceparentOf("e", 1),
  ];
  expect(first).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/u);
  expect(again).toBe(first);
  expect(second.slice(0, 35)).toBe(first.slice(0, 35));
  expect(second).not.toBe(first);
  expect(other.slice(3, 35)).not.toBe(first.slice(3, 35));
});
