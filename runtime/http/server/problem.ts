import { errorTable, type ErrorCode } from "../../errors/table.ts";
import { proofAlgorithms } from "../authentication/dpop-proof.ts";
import type { FieldError, Refusal, Suggestion } from "../../errors/refusal.ts";

/** Media type of every error. Source: RFC 9457 §3. */
export const problemMediaType = "application/problem+json";

/** Body of every error of both APIs. Source: RFC 9457. */
interface Problem {
  /** Names the row of `docs/reference/errors.md`. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  /** Fields at fault; empty when no single field is. */
  readonly errors: readonly FieldError[];
  readonly correlation_id: string;
  readonly suggestion?: Suggestion;
}

const typePrefix = "https://heliograph.dev/errors#";

/** The problem document of a refusal. It never holds the cause. */
export function problemOf(refusal: Refusal, correlationId: string): Problem {
  const { code, status, message, errors, suggestion } = refusal;
  return {
    type: typePrefix + code,
    title: errorTable[code].title,
    status,
    detail: message,
    code,
    errors,
    correlation_id: correlationId,
    ...(suggestion === undefined ? {} : { suggestion }),
  };
}

/**
 * Headers of a refusal: the hints of seed "Operational Metrics API" §7 and, for tokens, the challenge of RFC 6750 §3 or
 * RFC 9449 §7.1.
 * @param scopes those of which the route needs one
 */
export function problemHeaders(refusal: Refusal, scopes: readonly string[] = []): Readonly<Record<string, string>> {
  const { retryAfterSeconds, suggestion, headers } = refusal;
  const challenge = challengeOf(refusal, scopes);
  return {
    ...headers,
    ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterSeconds)) }),
    ...(suggestion?.step === undefined ? {} : { "x-suggested-step": suggestion.step }),
    ...(suggestion?.downsample === undefined ? {} : { "x-suggested-downsample": suggestion.downsample }),
    ...(challenge === undefined ? {} : { "www-authenticate": challenge }),
  };
}

function challengeOf({ code, message }: Refusal, scopes: readonly string[]): string | undefined {
  const realm = 'Bearer realm="heliograph"';
  const dpop = `DPoP algs="${proofAlgorithms.join(" ")}"`;
  // Both schemes, since only the token shows which one it needs.
  if (code === "token_missing") return `${realm}, ${dpop}`;
  if (code === "proof_invalid") return `${dpop}, error="invalid_dpop_proof", error_description="${quotable(message)}"`;
  if (code === "token_invalid") return `${realm}, error="invalid_token", error_description="${quotable(message)}"`;
  if (code === "scope_missing") return `${realm}, error="insufficient_scope", scope="${scopes.join(" ")}"`;
  return undefined;
}

/** RFC 6750 §3 allows neither quotes nor backslashes nor anything outside ASCII here. */
function quotable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]|["\\]/gu, "'");
}
