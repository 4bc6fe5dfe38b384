import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import { Provider } from "oidc-provider";
import { listenOnLoopback } from "../support/loopback.ts";
import { createCertificateAuthority } from "../support/tls/certificate-authority.ts";

/** A real authorization server where people sign in, with TLS, and its one client: the console. */
export interface SignInServer {
  readonly issuer: string;
  readonly jwksUrl: string;
  /** The authority of its certificate, PEM. */
  readonly ca: string;
  /** Lets the console in, once its address is known. */
  serve(options: SignInOptions): void;
  close(): Promise<void>;
}

export interface SignInOptions {
  /** Origin of the console. */
  readonly consoleOrigin: string;
  /** Audience of the tokens. */
  readonly resource: string;
  /** Claims of every token besides the usual ones. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Lifetime of a token. @default an hour */
  readonly tokenSeconds?: number;
  /** Whether each proof must hold a number of this server. @default false */
  readonly asksForNonce?: boolean;
}

/** The console's `client_id`. */
export const consoleClientId = "heliograph-console";
/** Scopes that the console asks for. */
export const consoleScopes = "webhooks:read webhooks:replay webhooks:ack metrics:read console:admin";
/** Text of the button that signs in. */
export const signInButton = "Sign in as Ada";

const algorithm = "ES256";
const hourSeconds = 3_600;
const nonceSecret = randomBytes(32);

/** Starts one on a free port. Its page has one button, and it binds every token to the key of the proof. */
export async function startSignInServer(): Promise<SignInServer> {
  const authority = createCertificateAuthority("authority of sign-in");
  const server = createServer(authority.issue({ commonName: "sign-in", names: ["localhost"] }));
  const place = await listenOnLoopback(server);
  const issuer = `https://localhost:${place.port}`;
  const key = await signingKey();
  // Its keys are asked for before its client is known.
  let provider = new Provider(issuer, configurationOf(key));
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (!(request.url ?? "").startsWith("/interaction/")) {
      provider.callback()(request, response);
      return;
    }
    answerInteraction(provider, request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  return {
    issuer,
    jwksUrl: `${issuer}/jwks`,
    ca: authority.cert,
    serve: (options) => {
      provider = new Provider(issuer, configurationOf(key, options));
    },
    close: () => place.close(),
  };
}

async function signingKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: "key", alg: algorithm, use: "sig" };
}

function configurationOf(key: JWK, options?: SignInOptions): object {
  const {
    consoleOrigin = "",
    resource = "",
    claims = {},
    tokenSeconds = hourSeconds,
    asksForNonce = false,
  } = options ?? {};
  const client = {
    client_id: consoleClientId,
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    redirect_uris: [`${consoleOrigin}/console/signed-in`],
    id_token_signed_response_alg: algorithm,
    dpop_bound_access_tokens: true,
  };
  return {
    jwks: { keys: [key] },
    clients: options === undefined ? [] : [client],
    ttl: { AccessToken: tokenSeconds, Grant: hourSeconds, Interaction: hourSeconds, Session: hourSeconds },
    cookies: { keys: ["a key of the tests"] },
    clientBasedCORS: () => true,
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_context: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    issueRefreshToken: () => true,
    extraTokenClaims: () => claims,
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: true, nonceSecret, requireNonce: () => asksForNonce },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: consoleScopes,
          audience: resource,
          accessTokenFormat: "jwt",
          accessTokenTTL: tokenSeconds,
          jwt: { sign: { alg: algorithm } },
        }),
      },
    },
  };
}

/** A page with a button; the button signs in and grants what the client asks for. */
async function answerInteraction(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== "POST") {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end(`<!doctype html><title>Sign in</title><form method="post"><button>${signInButton}</button></form>`);
    return;
  }
  const { params } = await provider.interactionDetails(request, response);
  const grant = new provider.Grant({ accountId: "ada", clientId: String(params["client_id"]) });
  grant.addOIDCScope("openid offline_access");
  grant.addResourceScope(String(params["resource"]), String(params["scope"]));
  const result = { login: { accountId: "ada" }, consent: { grantId: await grant.save() } };
  await provider.interactionFinished(request, response, result);
}
