import { describe, expect, test } from "vitest";
import { ApiError, invalidField } from "../../../../runtime/errors/api-error.ts";
import { problemHeaders, problemOf } from "../../../../runtime/http/server/problem.ts";

describe("a problem document", () => {
  test("holds everything for programs and people (RFC 9457)", () => {
    const refusal = invalidField("invalid_step", "step", "step=5s is below the minimum step of 10s");
    expect(problemOf(refusal, "c-1")).toEqual({
      type: "https://heliograph.dev/errors#invalid_step",
      title: "Invalid step",
      status: 400,
      detail: "step=5s is below the minimum step of 10s",
      code: "invalid_step",
      errors: [{ field: "step", code: "invalid_step", detail: "step=5s is below the minimum step of 10s" }],
      correlation_id: "c-1",
    });
  });

  test("never shows the cause", () => {
    const refusal = new ApiError("internal", "Something failed.", { cause: new Error("password=hunter2") });
    expect(JSON.stringify(problemOf(refusal, "c-1"))).not.toContain("hunter2");
  });

  test("carries the suggestion in the body and as headers (Operational Metrics API §7)", () => {
    const suggestion = { step: "5m", downsample: "1h" };
    const refusal = new ApiError("store_timeout", "Every store was late.", { suggestion, retryAfterSeconds: 1.2 });
    expect(problemOf(refusal, "c-1").suggestion).toEqual(suggestion);
    expect(problemHeaders(refusal)).toEqual({
      "retry-after": "2",
      "x-suggested-step": "5m",
      "x-suggested-downsample": "1h",
    });
  });
});

describe("the challenge of a refused token (RFC 6750 §3)", () => {
  test.each([
    [
      "token_missing",
      "Send a token.",
      'Bearer realm="heliograph", DPoP algs="ES256 ES384 ES512 EdDSA Ed25519 PS256 RS256"',
    ],
    [
      "proof_invalid",
      "It is old.",
      'DPoP algs="ES256 ES384 ES512 EdDSA Ed25519 PS256 RS256", error="invalid_dpop_proof", ' +
        'error_description="It is old."',
    ],
    [
      "token_invalid",
      "The token has expired.",
      'Bearer realm="heliograph", error="invalid_token", error_description="The token has expired."',
    ],
    [
      "token_invalid",
      'a "quote"\r\nX: y\\é',
      `Bearer realm="heliograph", error="invalid_token", error_description="a 'quote'''X: y''"`,
    ],
    [
      "scope_missing",
      "No scope.",
      'Bearer realm="heliograph", error="insufficient_scope", scope="metrics:read metrics:read.public"',
    ],
  ] as const)("%s with the detail %j", (code, detail, expected) => {
    const headers = problemHeaders(new ApiError(code, detail), ["metrics:read", "metrics:read.public"]);
    expect(headers).toEqual({ "www-authenticate": expected });
  });

  test("is absent from every other refusal", () => {
    expect(problemHeaders(new ApiError("tenant_forbidden", "No."))).toEqual({});
  });
});
