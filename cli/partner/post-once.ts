import { makeUnguardedAttempt } from "../../runtime/webhooks/sending/attempt.ts";
import { CommandError } from "../command-line/command.ts";

/** A response of an endpoint. */
export interface PostResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The first bytes as they came. */
  readonly bytes: Buffer;
  /** The same as text; empty when the body is compressed. */
  readonly body: string;
  /** Faults that the sender tolerates and records. */
  readonly warnings: readonly string[];
  readonly durationMs: number;
}

/** Time of one request. @default as `endpoint.timeoutSeconds` of a partner */
const timeoutMs = 10_000;
const responseBytesMax = 65_536;

/**
 * Posts a body once, as the sender does, and follows no redirect. Headers go out as they are given.
 * @throws CommandError `unreachable` without a response
 */
export async function postOnce(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): Promise<PostResponse> {
  const result = await makeUnguardedAttempt({ url, headers, body, timeoutMs, responseBytesMax });
  const { outcome } = result;
  if (outcome.kind === "failure") {
    const detail = outcome.detail.replace(`${url.hostname}: `, "");
    throw new CommandError("unreachable", `${url.origin} does not respond: ${detail}; check the URL`);
  }
  const { status, body: text, warnings = [], timings } = outcome;
  return {
    status,
    headers: result.headers,
    bytes: result.body(),
    body: text,
    warnings,
    durationMs: Math.round(timings.totalMs),
  };
}
