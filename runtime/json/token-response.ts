import { parseJsonObject } from "./json-object.ts";

/** Bytes of a token response that are read. Tokens with many claims are long. */
export const tokenResponseBytesMax = 65_536;

/** A token response. */
interface TokenResponse {
  readonly token: string;
  /** Seconds; undefined when the server states none, or nothing that is a time. */
  readonly expiresInSeconds: number | undefined;
}

/** Source: RFC 6750 §2.1, and every other character that a header can hold. */
const tokenForm = new RegExp(String.raw`^[!-~]{1,${tokenResponseBytesMax}}$`, "u");
const secondsForm = /^\s*\d{1,15}(?:\.\d+)?\s*$/u;

/**
 * Parses the JSON of a token response; undefined without a usable token. `expires_in` may be a text, as some servers
 * write it. Source: RFC 6749 §5.1.
 */
export function parseTokenResponse(text: string): TokenResponse | undefined {
  const { access_token: token, expires_in: seconds } = parseJsonObject(text) ?? {};
  if (typeof token !== "string" || !tokenForm.test(token)) return undefined;
  return { token, expiresInSeconds: secondsOf(seconds) };
}

/** A time that is not positive states nothing: some servers write 0 or -1 for a token without an end. */
function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === "string" && secondsForm.test(value) ? Number(value) : value;
  return typeof seconds === "number" && seconds > 0 ? seconds : undefined;
}
