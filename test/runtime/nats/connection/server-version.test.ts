import { expect, test } from "vitest";
import { isVersionEnough } from "../../../../runtime/nats/connection/server-limits.ts";

test.each([
  ["2.14.0", true],
  ["2.15.2", true],
  ["3.0.0", true],
  ["2.14.0-RC.1", true],
  ["2.13.9", false],
  ["1.99.0", false],
  ["", false],
])("nats-server %s is new enough: %s", (version, isEnough) => {
  expect(isVersionEnough(version)).toBe(isEnough);
});
