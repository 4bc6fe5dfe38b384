import { describe, expect, test } from "vitest";
import { isAbort, problemOf, problemOfError, ProblemError } from "../../console/api/problem.ts";

const body = {
  type: "https://heliograph.dev/errors#cost_exceeded",
  title: "The query costs too much",
  status: 422,
  detail: "It reads 9 million samples.",
  code: "cost_exceeded",
  errors: [{ field: "step", code: "too_small", detail: "Take 5m." }],
  correlation_id: "abc",
  suggestion: { step: "5m", other: 7 },
};

describe("problemOf", () => {
  test("keeps what the server says", () => {
    expect(problemOf(422, new Headers({ "retry-after": "3" }), body)).toEqual({
      title: "The query costs too much",
      detail: "It reads 9 million samples.",
      status: 422,
      code: "cost_exceeded",
      correlationId: "abc",
      errors: [{ field: "step", detail: "Take 5m." }],
      suggestion: { step: "5m" },
      scopes: [],
      retryAfterSeconds: 3,
    });
  });

  test("names the scopes of a refusal", () => {
    const challenge = 'Bearer realm="heliograph", error="insufficient_scope", scope="metrics:read metrics:public"';
    const { scopes } = problemOf(403, new Headers({ "www-authenticate": challenge }), body);
    expect(scopes).toEqual(["metrics:read", "metrics:public"]);
    expect(problemOf(403, new Headers(), body).scopes).toEqual([]);
    expect(problemOf(401, new Headers({ "www-authenticate": challenge }), body).scopes).toEqual([]);
  });

  test.each([
    ["nothing", undefined],
    ["a text", "gateway"],
    ["null", null],
    ["a list", []],
    ["other types", { title: 1, detail: {}, errors: "none", suggestion: 7, correlation_id: [] }],
  ])("has a sentence for a body of %s", (_what, odd) => {
    const problem = problemOf(502, new Headers({ "x-correlation-id": "edge" }), odd);
    expect(problem).toMatchObject({
      title: "The server responded with 502",
      status: 502,
      correlationId: "edge",
      errors: [],
    });
    expect(problem.detail).not.toBe("");
  });

  test("bounds what a server makes it show", () => {
    expect(problemOf(500, new Headers(), { detail: "x".repeat(1e6) }).detail).toHaveLength(2_000);
  });
});

describe("problemOfError", () => {
  test("tells a late answer from none, and keeps a problem", () => {
    const known = problemOf(404, new Headers(), body);
    expect(problemOfError(new ProblemError(known))).toBe(known);
    expect(problemOfError(new DOMException("late", "TimeoutError")).title).toBe("The server did not respond in time");
    expect(problemOfError(new TypeError("failed to fetch")).title).toBe("The server cannot be reached");
    expect(isAbort(new DOMException("left", "AbortError"))).toBe(true);
    expect(isAbort(new TypeError("failed to fetch"))).toBe(false);
  });
});
