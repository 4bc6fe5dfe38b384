import { expect, test } from "vitest";
import { isOverfull } from "../../../../runtime/webhooks/routing/backlog-limit.ts";

const limit = { messages: 100, bytes: 1_000 };

test.each([
  ["below both limits", { messages: 99, bytes: 999 }, false, false],
  ["at the limit of messages", { messages: 100, bytes: 0 }, false, true],
  ["at the limit of bytes", { messages: 0, bytes: 1_000 }, false, true],
  ["a little below after it was reached", { messages: 96, bytes: 0 }, true, true],
  ["well below after it was reached", { messages: 94, bytes: 940 }, true, false],
])("a backlog %s", (_, waiting, isFull, expected) => {
  expect(isOverfull(waiting, limit, isFull)).toBe(expected);
});
