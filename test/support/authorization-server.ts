import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { TLSSocket } from "node:tls";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import { Provider } from "oidc-provider";
import { createCertificateAuthority } from "./tls/certificate-authority.ts";
import { askHttps } from "./tls/https.ts";
import { listenOnLoopback } from "./loopback.ts";
import type { Certificate } from "./tls/x509.ts";

/** How a client asks for a token. */
interface TokenRequest {
  readonly scope?: string;
  /** Resource, which becomes the audience. */
  readonly resource: string;
  /** Client certificate; the token is bound to it when the client is `bound`. */
  readonly certificate?: Certificate;
  /** DPoP proof for the token endpoint; the token is bound to its key. */
  readonly proof?: string;
}

/** A real OAuth 2.0 authorization server on a free port, with TLS. */
export interface AuthorizationServer {
  readonly issuer: string;
  readonly tokenUrl: string;
  /** Targets of the requests so far. */
  readonly requests: readonly string[];
  readonly jwksUrl: string;
  /** The authority of its certificate, PEM. */
  readonly ca: string;
  /** A token by client credentials. @throws Error with what the server says */
  token(client: ClientName, request: TokenRequest): Promise<string>;
  /** Signs with a new key from now on, and publishes no other. */
  rotate(): Promise<void>;
  close(): Promise<void>;
}

/** Of every client. */
export const clientSecret = "a-secret-of-the-tests-with-enough-characters";
const clients = {
  /** Plain bearer tokens. */
  plain: {},
  /** Tokens bound to its certificate (RFC 8705 §3). */
  bound: { tls_client_certificate_bound_access_tokens: true },
  /** Tokens bound to its key (RFC 9449). */
  proving: { dpop_bound_access_tokens: true },
} as const;
type ClientName = keyof typeof clients;

const tokenSeconds = 3600;

/** Starts one that signs with an algorithm, and puts the tenant `acme` into every token. */
export async function startAuthorizationServer(algorithm: "ES256" | "RS256"): Promise<AuthorizationServer> {
  const authority = createCertificateAuthority("authorization server");
  const server = createServer({
    ...authority.issue({ commonName: "id", names: ["localhost"] }),
    requestCert: true,
    rejectUnauthorized: false,
  });
  const place = await listenOnLoopback(server);
  const issuer = `https://localhost:${place.port}`;
  const requests: string[] = [];
  server.on("request", ({ url = "" }: IncomingMessage) => requests.push(url));
  let keys = 0;
  const provide = async (): Promise<ReturnType<Provider["callback"]>> => {
    keys += 1;
    return new Provider(issuer, configurationOf(await signingKey(algorithm, `key-${keys}`), algorithm)).callback();
  };
  let handle = await provide();
  server.on("request", (request: IncomingMessage, response: ServerResponse) => handle(request, response));
  const tokenUrl = `${issuer}/token`;
  return {
    issuer,
    tokenUrl,
    requests,
    jwksUrl: `${issuer}/jwks`,
    ca: authority.cert,
    token: (client, request) => requestToken(tokenUrl, authority.cert, client, request),
    rotate: async () => {
      handle = await provide();
    },
    close: () => place.close(),
  };
}

async function signingKey(algorithm: string, kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: algorithm, use: "sig" };
}

function configurationOf(key: JWK, algorithm: string): object {
  return {
    jwks: { keys: [key] },
    clients: Object.entries(clients).map(([name, settings]) => ({
      client_id: name,
      client_secret: clientSecret,
      grant_types: ["client_credentials"],
      response_types: [],
      redirect_uris: [],
      id_token_signed_response_alg: algorithm,
      ...settings,
    })),
    scopes: ["metrics:read", "metrics:peer", "events:write"],
    extraTokenClaims: () => ({ tenants: ["acme"] }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      dPoP: { enabled: true },
      mTLS: { enabled: true, certificateBoundAccessTokens: true, getCertificate },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, audience: string) => ({
          scope: "metrics:read metrics:peer events:write",
          audience,
          accessTokenFormat: "jwt",
          accessTokenTTL: tokenSeconds,
          jwt: { sign: { alg: algorithm } },
        }),
      },
    },
  };
}

function getCertificate({ socket }: { readonly socket: unknown }): string | undefined {
  return socket instanceof TLSSocket ? socket.getPeerX509Certificate()?.toString() : undefined;
}

async function requestToken(
  url: string,
  ca: string,
  client: ClientName,
  { scope = "metrics:read", resource, certificate, proof }: TokenRequest,
): Promise<string> {
  const { status, body } = await askHttps(url, {
    method: "POST",
    ca,
    ...(certificate === undefined ? {} : { client: certificate }),
    headers: {
      authorization: `Basic ${Buffer.from(`${client}:${clientSecret}`).toString("base64")}`,
      "content-type": "application/x-www-form-urlencoded",
      ...(proof === undefined ? {} : { dpop: proof }),
    },
    body: new URLSearchParams({ grant_type: "client_credentials", scope, resource }).toString(),
  });
  const token = body["access_token"];
  if (typeof token !== "string") throw new Error(`the authorization server answers ${status}: ${JSON.stringify(body)}`);
  return token;
}
