// A session whose token is bound to a key of this browser. Each request proves the key (RFC 9449).
import * as oauth from "oauth4webapi";
import type { Session } from "./session.ts";
import { changeSession, readSession, writeSession, type StoredSession } from "./session-store.ts";

const tokenMsMax = 15_000;
/** A token is renewed this long before its end. */
const leadMs = 30_000;
const lockName = "heliograph-console-renewal";

/** What a sign-in gives. */
export type NewSession = Pick<StoredSession, "key" | "clientId" | "clockSkewSeconds" | "issuer"> & {
  readonly tokens: Pick<oauth.TokenEndpointResponse, "access_token" | "refresh_token" | "expires_in">;
};

/** Starts a session and stores it for all tabs. */
export async function startKeySession({ tokens, ...parts }: NewSession): Promise<Session> {
  const nowMs = Date.now();
  const stored: StoredSession = {
    id: crypto.randomUUID(),
    ...parts,
    ...heldOf(tokens, undefined),
    startedMs: nowMs,
    usedMs: nowMs,
  };
  return createKeySession(stored, await writeSession(stored));
}

/**
 * A session of stored parts. It renews the token by the refresh token if there is one. Tabs renew in sequence,
 * because a refresh token may be valid once. @param isShared false for a session in the memory of this tab
 */
export function createKeySession(stored: StoredSession, isShared = true): Session {
  let held: StoredSession | undefined = stored;
  const client: oauth.Client = { client_id: stored.clientId, [oauth.clockSkew]: stored.clockSkewSeconds };
  const proof = oauth.DPoP(client, stored.key);
  let renewal: Promise<void> | undefined;
  const renewOnce = async (): Promise<void> => {
    const before = held;
    if (before === undefined) return;
    const other = await readSession(Date.now());
    const isNewer = other?.id === before.id && other.access !== before.access;
    const next = isNewer ? other : await renewedSession(before, client, proof).catch(() => undefined);
    // The person may have signed out meanwhile.
    if (next !== undefined && held === before) held = next;
  };
  const renew = (): Promise<void> => {
    renewal ??= navigator.locks.request(lockName, renewOnce).finally(() => {
      renewal = undefined;
    });
    return renewal;
  };
  const ask = async (path: string, init: RequestInit): Promise<Response> =>
    held === undefined ? new Response(null, { status: 401 }) : sendWithProof(proof, held.access, path, init);
  return {
    ...(isShared ? { id: stored.id } : {}),
    send: async (path, init) => {
      if (held?.refresh !== undefined && held.endsMs - leadMs < Date.now()) await renew();
      const used = held;
      const response = await ask(path, init);
      if (response.status !== 401 || held?.refresh === undefined) return response;
      if (held === used) await renew();
      return held === used ? response : ask(path, init);
    },
    forget: () => {
      held = undefined;
    },
    end: async () => {
      const before = held;
      held = undefined;
      if (before !== undefined) await revoke(before, client);
    },
  };
}

function heldOf(
  tokens: NewSession["tokens"],
  before: string | undefined,
): Pick<StoredSession, "access" | "refresh" | "endsMs"> {
  const refresh = tokens.refresh_token ?? before;
  return {
    access: tokens.access_token,
    endsMs: tokens.expires_in === undefined ? Number.POSITIVE_INFINITY : Date.now() + tokens.expires_in * 1_000,
    ...(refresh === undefined ? {} : { refresh }),
  };
}

/** Sends a request, and once more if the server requires a nonce in the proof. */
async function sendWithProof(
  proof: oauth.DPoPHandle,
  token: string,
  path: string,
  { method = "GET", headers, body, signal }: RequestInit,
): Promise<Response> {
  const url = new URL(path, location.origin);
  const options = {
    DPoP: proof,
    [oauth.allowInsecureRequests]: url.protocol === "http:",
    ...(signal ? { signal } : {}),
  };
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

async function renewedSession(
  before: StoredSession,
  client: oauth.Client,
  proof: oauth.DPoPHandle,
): Promise<StoredSession | undefined> {
  const { issuer, refresh, id } = before;
  if (issuer === undefined || refresh === undefined) return undefined;
  const renewed = async (): Promise<oauth.TokenEndpointResponse> => {
    const options = { DPoP: proof, ...optionsOf(issuer) };
    const response = await oauth.refreshTokenGrantRequest(issuer.server, client, oauth.None(), refresh, options);
    return oauth.processRefreshTokenResponse(issuer.server, client, response);
  };
  const tokens = await renewed().catch(async (error: unknown) => {
    if (oauth.isDPoPNonceError(error)) return renewed();
    throw error;
  });
  const held = heldOf(tokens, refresh);
  await changeSession(id, held);
  return { ...before, ...held };
}

/** Asks the issuer to revoke the session's tokens. Here they are forgotten whatever it responds. */
async function revoke({ issuer, refresh, access }: StoredSession, client: oauth.Client): Promise<void> {
  if (issuer?.server.revocation_endpoint === undefined) return;
  await oauth
    .revocationRequest(issuer.server, client, oauth.None(), refresh ?? access, optionsOf(issuer))
    .then((response) => response.body?.cancel())
    .catch(() => undefined);
}

function optionsOf({ isInsecure }: NonNullable<StoredSession["issuer"]>): {
  readonly signal: AbortSignal;
  readonly [oauth.allowInsecureRequests]: boolean;
} {
  return { signal: AbortSignal.timeout(tokenMsMax), [oauth.allowInsecureRequests]: isInsecure };
}
