// Sign-in at an issuer: code flow with PKCE as a public client, and tokens bound to a key of this page. Loaded only
// where the server names an issuer.
import * as oauth from "oauth4webapi";
import { startKeySession } from "./key-session.ts";
import { storePendingSignIn, type PendingSignIn } from "./pending-sign-in.ts";
import type { Session } from "./session.ts";

/** The issuer and this client of it, as the server names them. */
export interface IssuerClient {
  readonly issuer: string;
  readonly clientId: string;
  /** Scopes to ask for, with blanks between. */
  readonly scopes: string;
  /** Lead of the server's clock, seconds: proofs carry its time. */
  readonly clockSkewSeconds: number;
}

/** Path that the issuer sends readers back to; registered there as a redirect URI of the client. */
export const returnPath = "/console/signed-in";

const issuerMsMax = 15_000;

/** Goes to the issuer. The page is left. @throws Error when the issuer cannot be read */
export async function goToIssuer(own: IssuerClient, returnTo: string): Promise<void> {
  const server = await readServer(own);
  if (server.authorization_endpoint === undefined) throw new Error("The issuer has no authorization endpoint.");
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  storePendingSignIn({ verifier, state, returnTo }, sessionStorage);
  const url = new URL(server.authorization_endpoint);
  const parameters = {
    client_id: own.clientId,
    redirect_uri: redirectUri(),
    response_type: "code",
    scope: own.scopes,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  location.assign(url.href);
}

/**
 * Ends a sign-in with the parameters that the issuer sent back. The key is made here, because a token is bound
 * when it is requested.
 * @throws Error with what the issuer says
 */
export async function finishSignIn(
  own: IssuerClient,
  { verifier, state }: PendingSignIn,
  returned: URLSearchParams,
): Promise<Session> {
  const server = await readServer(own);
  const client: oauth.Client = { client_id: own.clientId, [oauth.clockSkew]: own.clockSkewSeconds };
  const parameters = oauth.validateAuthResponse(server, client, returned, state);
  const key = await oauth.generateKeyPair("ES256");
  const proof = oauth.DPoP(client, key);
  const tokens = await withNonce(async () => {
    const options = { DPoP: proof, signal: AbortSignal.timeout(issuerMsMax), ...insecureOption(own.issuer) };
    const none = oauth.None();
    const uri = redirectUri();
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      none,
      parameters,
      uri,
      verifier,
      options,
    );
    return oauth.processAuthorizationCodeResponse(server, client, response);
  });
  const { clientId, clockSkewSeconds } = own;
  const issuer = { server, isInsecure: insecureOption(own.issuer)[oauth.allowInsecureRequests] === true };
  return startKeySession({ key, clientId, clockSkewSeconds, issuer, tokens });
}

/** Runs a request once more when the server asks for a number of its own in the proof, which the key has kept. */
async function withNonce<Result>(request: () => Promise<Result>): Promise<Result> {
  return request().catch(async (error: unknown) => {
    if (oauth.isDPoPNonceError(error)) return request();
    throw error;
  });
}

function redirectUri(): string {
  return location.origin + returnPath;
}

/** The issuer's metadata, by OpenID Connect's address or by that of RFC 8414. */
async function readServer({ issuer }: IssuerClient): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer);
  const discover = async (algorithm: "oidc" | "oauth2"): Promise<oauth.AuthorizationServer> => {
    const options = { algorithm, signal: AbortSignal.timeout(issuerMsMax), ...insecureOption(issuer) };
    return oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, options));
  };
  return discover("oidc").catch(() => discover("oauth2"));
}

/** An issuer on this machine may speak HTTP; RFC 8252 §8.3 allows it for loopback addresses. */
function insecureOption(issuer: string): { readonly [oauth.allowInsecureRequests]?: boolean } {
  const { protocol, hostname } = new URL(issuer);
  const isLoopback = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return protocol === "http:" && isLoopback ? { [oauth.allowInsecureRequests]: true } : {};
}
