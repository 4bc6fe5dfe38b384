import type { NetworksConfig, OAuth2Config } from "../../../crds/config.ts";
import { BoundedMap, createSingleFlight, ExpiringMap } from "../../../limits/bounded-map.ts";
import {
  type ClientAuthentication,
  isRejectedStatus,
  requestInEitherStyle,
  tokenErrorCode,
  tokenRequest,
} from "../../json/token-request.ts";
import { parseTokenResponse, tokenResponseBytesMax, tokenUseMs } from "../../json/token-response.ts";
import type { TlsIdentity } from "../sending/guarded-connect.ts";
import type { FailureOutcome, AttemptOutcome, ResponseOutcome } from "../settlement/outcome.ts";
import { retryAfterOf } from "../settlement/settle.ts";
import type { Sender } from "../sending/send.ts";
import { createPublicKey, generateKeyPairSync, hash, randomUUID, type KeyObject } from "node:crypto";
import { signBytes } from "../signing/keys.ts";

/** Credentials of a token and the request that needs it. */
export interface TokenRequest {
  /** Identifies the credentials. */
  readonly key: string;
  readonly oauth2: Omit<OAuth2Config, "secret">;
  readonly secret: string;
  readonly networks: NetworksConfig;
  readonly tls?: TlsIdentity;
  readonly timeoutMs: number;
  /** HTTP method of the request that needs the token. */
  readonly method: string;
  readonly url: URL;
}

/** Headers that authorize a request, or the reason of their absence. */
type Authorization =
  | { readonly token: string; readonly headers: Readonly<Record<string, string>>; readonly failure?: undefined }
  | { readonly failure: FailureOutcome; readonly headers?: undefined };

/** A token that an endpoint rejected. */
interface RejectedToken {
  readonly token: string;
  /** The nonce that the endpoint requires for the proof of the key. @default none */
  readonly nonce: string | undefined;
}

/** Access tokens of OAuth 2.0 client credentials, cached until they expire. It does not check tokens of callers. */
export type Tokens = ReturnType<typeof createTokens>;

interface Token {
  readonly value: string;
  readonly endsAtMs: number;
}

const cachedMax = 4_096;
const lifeMsMax = 86_400_000;
const secondMs = 1_000;

/**
 * Fetches tokens by client credentials and caches them until shortly before they expire. Concurrent calls for the same
 * credentials share one request. Source: RFC 6749 §4.4, RFC 9449.
 *
 * @param now Unix milliseconds
 */
export function createTokens(sender: Sender, now: () => number) {
  const cached = new ExpiringMap<string, Token>(cachedMax);
  const once = createSingleFlight<Token | FailureOutcome>();
  const nonces = new BoundedMap<string, string>(cachedMax);
  const styles = new BoundedMap<string, ClientAuthentication>(cachedMax);
  const prove = createKeyProof();
  const fetched = (request: TokenRequest): Promise<Token | FailureOutcome> =>
    once(request.key, async () => {
      const token = await fetchToken({ sender, now, prove, styles }, request);
      if ("value" in token) cached.set(request.key, token, token.endsAtMs);
      return token;
    });
  return {
    /** Never rejects. */
    authorize: async (request: TokenRequest): Promise<Authorization> => {
      const token = cached.use(request.key, now()) ?? (await fetched(request));
      if (!("value" in token)) return { failure: token };
      const headers = headersOf(request, token.value, prove, now(), nonces.get(request.key));
      return { token: token.value, headers };
    },
    /** Drops a token that the endpoint rejected, unless another request has replaced it, and stores the nonce. */
    rejected: (key: string, { token, nonce }: RejectedToken) => {
      if (cached.get(key, now())?.value === token) cached.delete(key);
      if (nonce !== undefined) nonces.set(key, nonce);
    },
  };
}

function headersOf(
  { oauth2, method, url }: TokenRequest,
  token: string,
  prove: ProveKey,
  nowMs: number,
  nonce: string | undefined,
): Readonly<Record<string, string>> {
  if (oauth2.dpop !== true) return { Authorization: `Bearer ${token}` };
  const proof = prove({ method, url, nowMs, token, ...(nonce === undefined ? {} : { nonce }) });
  return { Authorization: `DPoP ${token}`, DPoP: proof };
}

interface FetchDeps {
  readonly sender: Sender;
  readonly now: () => number;
  readonly prove: ProveKey;
  /** Styles that token endpoints accepted, by credentials. */
  readonly styles: BoundedMap<string, ClientAuthentication>;
}

/** Requests a token in the style that the server accepts, and remembers the style. */
async function fetchToken(deps: FetchDeps, request: TokenRequest): Promise<Token | FailureOutcome> {
  const { response, later, style } = await requestInEitherStyle(deps.styles.get(request.key), {
    send: (one) => askWithNonce(deps, request, one),
    isRejected,
    isGranted: (one) => tokenOf(one, deps.now()) !== undefined,
  });
  if (style === undefined) deps.styles.delete(request.key);
  else deps.styles.set(request.key, style);
  const pause = later === undefined ? {} : retryAfterOf(later, deps.now());
  return tokenOf(response, deps.now()) ?? { ...noToken(response, deps.now()), ...pause };
}

function isRejected(outcome: AttemptOutcome): boolean {
  return outcome.kind === "response" && isRejectedStatus(outcome.status);
}

/** Requests a token, with the nonce that the server requires for the proof of the key. Source: RFC 9449 §8. */
async function askWithNonce(
  deps: FetchDeps,
  request: TokenRequest,
  style: ClientAuthentication,
): Promise<AttemptOutcome> {
  const first = await ask(deps, request, style, undefined);
  const nonce = first.kind === "response" ? first.headers["dpop-nonce"] : undefined;
  const isNonceRequired = request.oauth2.dpop === true && isRejected(first) && nonce !== undefined;
  return isNonceRequired ? ask(deps, request, style, nonce) : first;
}

async function ask(
  { sender, now, prove }: FetchDeps,
  request: TokenRequest,
  style: ClientAuthentication,
  nonce: string | undefined,
): Promise<AttemptOutcome> {
  const { oauth2, secret, networks, tls, timeoutMs } = request;
  const url = URL.parse(oauth2.tokenUrl);
  if (url === null) return invalidUrl;
  const proof = prove({ method: "POST", url, nowMs: now(), ...(nonce === undefined ? {} : { nonce }) });
  const scope = oauth2.scopes.length > 0 ? { scope: oauth2.scopes.join(" ") } : {};
  const { headers: own, body } = tokenRequest({ clientId: oauth2.clientId, secret }, scope, style);
  const headers = { ...own, ...(oauth2.dpop === true ? { DPoP: proof } : {}) };
  const sent = { url, headers, body: Buffer.from(body), timeoutMs, networks };
  return sender.send({ ...sent, responseBytesMax: tokenResponseBytesMax, ...(tls === undefined ? {} : { tls }) });
}

const invalidUrl: FailureOutcome = {
  kind: "failure",
  reason: "guard",
  detail: "tokenUrl is not a valid URL",
  timings: { totalMs: 0 },
};

function tokenOf(outcome: AttemptOutcome, nowMs: number): Token | undefined {
  if (outcome.kind === "failure" || outcome.status < 200 || outcome.status > 299) return undefined;
  const response = parseTokenResponse(outcome.body);
  return response && { value: response.token, endsAtMs: nowMs + tokenUseMs(response, lifeMsMax) };
}

/** Builds the failure. Its detail omits the body of the response, which may contain credentials. */
function noToken(outcome: AttemptOutcome, nowMs: number): FailureOutcome {
  const why = outcome.kind === "response" ? rejectionOf(outcome) : `${outcome.reason}: ${outcome.detail}`;
  const detail = `no access token: ${why}`;
  return { kind: "failure", reason: "token", detail, timings: outcome.timings, ...retryAfterOf(outcome, nowMs) };
}

function rejectionOf({ status, headers, body, bodyTruncated }: ResponseOutcome): string {
  const isCompressed = body === "" && headers["content-encoding"] !== undefined;
  const cut = isCompressed ? "compressed, although not requested" : `longer than ${tokenResponseBytesMax} bytes`;
  return `status ${status}${tokenErrorCode(body)}${bodyTruncated ? `, ${cut}` : ""}`;
}

/** A request whose sender proves possession of a key. */
interface ProvenRequest {
  readonly method: string;
  readonly url: URL;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** The access token of the request, if it has one. */
  readonly token?: string;
  /** The nonce that the server requires, if it requires one. */
  readonly nonce?: string;
}

/** Builds the proof for a request. */
type ProveKey = (request: ProvenRequest) => string;

/** Creates a key for the lifetime of the process. Source: RFC 9449 §4.2. */
function createKeyProof(): ProveKey {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { kty, crv, x, y } = createPublicKey(privateKey).export({ format: "jwk" });
  const header = { typ: "dpop+jwt", alg: "ES256", jwk: { kty, crv, x, y } };
  return (request) => signed(privateKey, header, claimsOf(request));
}

/** Builds the claims. `htu` has no query, as the server compares it. */
function claimsOf({ method, url, nowMs, token, nonce }: ProvenRequest): object {
  return {
    jti: randomUUID(),
    htm: method,
    htu: url.origin + url.pathname,
    iat: Math.floor(nowMs / secondMs),
    ...(token === undefined ? {} : { ath: hash("sha256", token, "base64url") }),
    ...(nonce === undefined ? {} : { nonce }),
  };
}

function signed(key: KeyObject, header: object, claims: object): string {
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${text}.${signBytes(key, Buffer.from(text)).toString("base64url")}`;
}
