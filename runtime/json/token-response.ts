import { parseJsonObject } from "./json-body.ts";

/** Bytes of a token response that are read. Tokens with many claims are long. */
export const tokenResponseBytesMax = 65_536;

/** Lifetime of a token without `expires_in`. Source: RFC 6749 §5.1 leaves it open. */
const lifeMsDefault = 300_000;
/** A token is replaced this long before it expires, because clocks differ and requests take time. */
const leewayMs = 30_000;
/** Share of that time in which a token is not used: a request that takes as long would have an expired one. */
const endShare = 1 / 6;

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

/**
 * The time for which a token is used, in milliseconds: until shortly before it expires. One that soon expires is used
 * for half of the time that it has left, so that a server that issues only those is not asked for each request.
 *
 * @param lifeMsMax longest use of a token, whatever its server states
 */
export function tokenUseMs({ expiresInSeconds }: Pick<TokenResponse, "expiresInSeconds">, lifeMsMax: number): number {
  return renewalOf(expiresInSeconds === undefined ? lifeMsDefault : expiresInSeconds * 1_000, lifeMsMax).renewMs;
}

/** When a credential is renewed, and until when it is used if its renewal fails; milliseconds after its request. */
export interface Renewal {
  readonly renewMs: number;
  readonly endMs: number;
}

/**
 * The times of a credential with a lifetime.
 *
 * @param lifeMs its lifetime. @default 5 minutes
 * @param lifeMsMax longest use, whatever its server states
 */
export function renewalOf(lifeMs: number = lifeMsDefault, lifeMsMax = Number.MAX_SAFE_INTEGER): Renewal {
  const usedMs = Math.min(lifeMs, lifeMsMax);
  const earlyMs = Math.min(leewayMs, usedMs / 2);
  return { renewMs: usedMs - earlyMs, endMs: usedMs - earlyMs * endShare };
}

/** A time that is not positive states nothing: some servers write 0 or -1 for a token without an end. */
function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === "string" && secondsForm.test(value) ? Number(value) : value;
  return typeof seconds === "number" && seconds > 0 ? seconds : undefined;
}
