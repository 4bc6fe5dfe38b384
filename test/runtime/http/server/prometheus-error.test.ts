import { expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { prometheusError } from "../../../../runtime/http/server/problem.ts";

const suggestion = { step: "5m", downsample: "5m" };

test.each([
  ["a suggestion", new ApiError("cost_exceeded", "use the suggestion", { suggestion }), "; the suggestion is step=5m"],
  ["one that its message names", new ApiError("invalid_step", "use step=5m", { suggestion }), ""],
  ["none", new ApiError("cost_exceeded", "use fewer groups"), ""],
])("the text of an error with %s names the step once", (_sentence, refusal, added) => {
  expect(prometheusError(refusal).body.error).toBe(`${refusal.message}${added}`);
});
