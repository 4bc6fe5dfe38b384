// A session whose token is bound to a key of this page. Each request proves the key (RFC 9449).
import * as oauth from "oauth4webapi";
import type { Session } from "./session.ts";

interface KeySessionParts {
  readonly server: oauth.AuthorizationServer;
  readonly client: oauth.Client;
  /** Holds the key; its private half cannot be read out. */
  readonly key: oauth.DPoPHandle;
  readonly tokens: oauth.TokenEndpointResponse;
  readonly insecure: { readonly [oauth.allowInsecureRequests]?: boolean };
}

const tokenMsMax = 15_000;
/** A token is renewed this long before its end. */
const leadMs = 30_000;

interface HeldTokens {
  readonly access: string;
  readonly refresh?: string;
  /** Unix milliseconds; Infinity when the issuer does not say. */
  readonly endsMs: number;
}

/** Renews the token by the refresh token, where the issuer gave one; else it lasts as long as it lasts. */
export function createKeySession(parts: KeySessionParts): Session {
  let held: HeldTokens | undefined = heldOf(parts.tokens, undefined);
  let renewal: Promise<void> | undefined;
  const renewOnce = async (): Promise<void> => {
    const before = held;
    if (before?.refresh === undefined) return;
    const renewed = await renewedTokens(parts, before.refresh).catch(() => undefined);
    // The reader may have signed out meanwhile.
    if (renewed !== undefined && held === before) held = heldOf(renewed, before.refresh);
  };
  const renew = (): Promise<void> => {
    renewal ??= renewOnce().finally(() => {
      renewal = undefined;
    });
    return renewal;
  };
  const ask = async (path: string, init: RequestInit): Promise<Response> =>
    held === undefined ? new Response(null, { status: 401 }) : askWithProof(parts, held.access, path, init);
  return {
    send: async (path, init) => {
      if (held?.refresh !== undefined && held.endsMs - leadMs < Date.now()) await renew();
      const used = held;
      const response = await ask(path, init);
      if (response.status !== 401 || held?.refresh === undefined) return response;
      if (held === used) await renew();
      return held === used ? response : ask(path, init);
    },
    end: async () => {
      const before = held;
      held = undefined;
      if (before !== undefined) await revoke(parts, before);
    },
  };
}

function heldOf(tokens: oauth.TokenEndpointResponse, before: string | undefined): HeldTokens {
  const refresh = tokens.refresh_token ?? before;
  return {
    access: tokens.access_token,
    endsMs: tokens.expires_in === undefined ? Number.POSITIVE_INFINITY : Date.now() + tokens.expires_in * 1_000,
    ...(refresh === undefined ? {} : { refresh }),
  };
}

/** Sends a request, and once more when the server asks for a number of its own in the proof. */
async function askWithProof(
  { key }: KeySessionParts,
  token: string,
  path: string,
  { method = "GET", headers, body, signal }: RequestInit,
): Promise<Response> {
  const url = new URL(path, location.origin);
  const options = { DPoP: key, [oauth.allowInsecureRequests]: url.protocol === "http:", ...(signal ? { signal } : {}) };
  const ask = async (isLast: boolean): Promise<Response> => {
    try {
      return await oauth.protectedResourceRequest(token, method, url, new Headers(headers), textOf(body), options);
    } catch (error) {
      if (!isLast && oauth.isDPoPNonceError(error)) return ask(true);
      // The API says more in the body than in its challenge.
      if (error instanceof oauth.WWWAuthenticateChallengeError) return error.response;
      throw error;
    }
  };
  return ask(false);
}

/** The client of the API sends texts only. */
function textOf(body: RequestInit["body"]): string | null {
  return typeof body === "string" ? body : null;
}

async function renewedTokens(
  { server, client, key, insecure }: KeySessionParts,
  refresh: string,
): Promise<oauth.TokenEndpointResponse> {
  const renewed = async (): Promise<oauth.TokenEndpointResponse> => {
    const options = { DPoP: key, signal: AbortSignal.timeout(tokenMsMax), ...insecure };
    const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refresh, options);
    return oauth.processRefreshTokenResponse(server, client, response);
  };
  return renewed().catch(async (error: unknown) => {
    if (oauth.isDPoPNonceError(error)) return renewed();
    throw error;
  });
}

/** Asks the issuer to end the session's tokens. Here they are forgotten whatever it answers. */
async function revoke({ server, client, insecure }: KeySessionParts, { refresh, access }: HeldTokens): Promise<void> {
  if (server.revocation_endpoint === undefined) return;
  const options = { signal: AbortSignal.timeout(tokenMsMax), ...insecure };
  await oauth
    .revocationRequest(server, client, oauth.None(), refresh ?? access, options)
    .then((response) => response.body?.cancel())
    .catch(() => undefined);
}
