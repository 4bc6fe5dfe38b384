import * as oauth from "oauth4webapi";
import type { BoundToken } from "../../api/console.ts";
import { basePath } from "../router/place.ts";
import { startKeySession } from "./key-session.ts";
import type { Session } from "./session.ts";

const bindingMsMax = 15_000;

/**
 * A session with the token of `heliograph open`, which the program binds to a new key first: only a bound token is
 * stored. @returns undefined if the program does not bind it; the page then uses the token from memory
 */
export async function startBoundSession(token: string, clockSkewSeconds: number): Promise<Session | undefined> {
  if (globalThis.crypto.subtle === undefined) return undefined;
  const key = await oauth.generateKeyPair("ES256");
  const jkt = await thumbprintOf(key.publicKey);
  const response = await fetch(`${basePath}/token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token, jkt }),
    credentials: "omit",
    cache: "no-store",
    signal: AbortSignal.timeout(bindingMsMax),
  });
  if (!response.ok) return undefined;
  const { token: access, expires_in: seconds } = (await response.json()) as BoundToken;
  const tokens = { access_token: access, expires_in: seconds };
  return startKeySession({ key, clientId: "heliograph-open", clockSkewSeconds, tokens });
}

/** SHA-256 thumbprint of a public key, base64url. Source: RFC 7638. */
async function thumbprintOf(key: CryptoKey): Promise<string> {
  const { crv, kty, x, y } = await crypto.subtle.exportKey("jwk", key);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify({ crv, kty, x, y })));
  return btoa(String.fromCharCode(...new Uint8Array(digest)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/u, "");
}
