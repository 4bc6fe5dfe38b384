import type { NetworksConfig, OAuth2Config } from "../../../crds/config.ts";
import { BoundedMap } from "../../bounds/bounded-map.ts";
import { ExpiringMap } from "../../bounds/expiring-map.ts";
import { createSingleFlight } from "../../bounds/single-flight.ts";
import type { TlsIdentity } from "../sending/guarded-connect.ts";
import type { FailureOutcome, Outcome } from "../settlement/outcome.ts";
import type { Sender } from "../sending/send.ts";
import { createKeyProof, type ProveKey } from "./dpop-proof.ts";

/** Credentials of a token and the request that needs it. */
export interface TokenRequest {
  /** Identifies the credentials. */
  readonly key: string;
  readonly oauth2: Omit<OAuth2Config, "secret">;
  readonly secret: string;
  readonly networks: NetworksConfig;
  readonly tls?: TlsIdentity;
  readonly timeoutMs: number;
  /** Method of the request that needs the token. */
  readonly method: string;
  readonly url: URL;
}

/** Headers that authorize a request, or the reason of their absence. */
type Authorization =
  | { readonly headers: Readonly<Record<string, string>>; readonly failure?: undefined }
  | { readonly failure: FailureOutcome; readonly headers?: undefined };

/** Access tokens of OAuth 2.0 client credentials, cached until they expire. It does not check tokens of callers. */
export interface Tokens {
  /** Never rejects. */
  authorize(request: TokenRequest): Promise<Authorization>;
  /** Drops a token that the endpoint refused, and stores the nonce that it requires. */
  refused(key: string, nonce: string | undefined): void;
}

interface Token {
  readonly value: string;
  readonly endsAtMs: number;
}

const cachedMax = 4_096;
/** A token that expires sooner is not used, because clocks differ and requests take time. */
const leewayMs = 30_000;
/** Lifetime of a token without `expires_in`. Source: RFC 6749 §5.1 leaves it open. */
const lifeMsDefault = 300_000;
const lifeMsMax = 86_400_000;
const secondMs = 1_000;
const tokenForm = /^[!-~]{1,8192}$/u;
const nonceAskedStatuses: ReadonlySet<number> = new Set([400, 401]);

/**
 * Fetches tokens by client credentials and caches them until shortly before they expire. Concurrent calls for the same
 * credentials share one request. Source: RFC 6749 §4.4, RFC 9449.
 *
 * @param now Unix milliseconds
 */
export function createTokens(sender: Sender, now: () => number): Tokens {
  const cached = new ExpiringMap<string, Token>(cachedMax);
  const once = createSingleFlight<Token | FailureOutcome>();
  const nonces = new BoundedMap<string, string>(cachedMax);
  const prove = createKeyProof();
  const fetched = (request: TokenRequest): Promise<Token | FailureOutcome> =>
    once(request.key, async () => {
      const token = await fetchToken({ sender, now, prove }, request);
      if ("value" in token) {
        cached.set(request.key, token, token.endsAtMs);
      }
      return token;
    });
  return {
    authorize: async (request) => {
      const token = cached.use(request.key, now()) ?? (await fetched(request));
      if (!("value" in token)) {
        return { failure: token };
      }
      return { headers: headersOf(request, token.value, prove, now(), nonces.get(request.key)) };
    },
    refused: (key, nonce) => {
      cached.delete(key);
      if (nonce !== undefined) {
        nonces.set(key, nonce);
      }
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
  if (oauth2.dpop !== true) {
    return { Authorization: `Bearer ${token}` };
  }
  const proof = prove({ method, url, nowMs, token, ...(nonce === undefined ? {} : { nonce }) });
  return { Authorization: `DPoP ${token}`, DPoP: proof };
}

interface FetchDeps {
  readonly sender: Sender;
  readonly now: () => number;
  readonly prove: ProveKey;
}

async function fetchToken(deps: FetchDeps, request: TokenRequest): Promise<Token | FailureOutcome> {
  const first = await ask(deps, request, undefined);
  const nonce = first.kind === "response" ? first.headers["dpop-nonce"] : undefined;
  const isNonceAsked =
    request.oauth2.dpop === true && first.kind === "response" && nonceAskedStatuses.has(first.status);
  const outcome = isNonceAsked && nonce !== undefined ? await ask(deps, request, nonce) : first;
  return tokenOf(outcome, deps.now()) ?? noToken(outcome);
}

/** Requests a token. The header holds the form-encoded credentials. Source: RFC 6749 §2.3.1. */
function ask({ sender, now, prove }: FetchDeps, request: TokenRequest, nonce: string | undefined): Promise<Outcome> {
  const { oauth2, secret, networks, tls, timeoutMs } = request;
  const url = new URL(oauth2.tokenUrl);
  const credentials = [oauth2.clientId, secret].map(formEncoded).join(":");
  const form = new URLSearchParams({ grant_type: "client_credentials" });
  if (oauth2.scopes.length > 0) {
    form.set("scope", oauth2.scopes.join(" "));
  }
  const proof = prove({ method: "POST", url, nowMs: now(), ...(nonce === undefined ? {} : { nonce }) });
  const headers = {
    Authorization: `Basic ${Buffer.from(credentials).toString("base64")}`,
    "Content-Type": "application/x-www-form-urlencoded",
    Accept: "application/json",
    "Accept-Encoding": "identity",
    ...(oauth2.dpop === true ? { DPoP: proof } : {}),
  };
  const body = Buffer.from(form.toString());
  return sender.send({ url, headers, body, timeoutMs, networks, ...(tls === undefined ? {} : { tls }) });
}

function formEncoded(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

function tokenOf(outcome: Outcome, nowMs: number): Token | undefined {
  if (outcome.kind === "failure" || outcome.status !== 200) {
    return undefined;
  }
  try {
    const { access_token: value, expires_in: seconds } = JSON.parse(outcome.body) as Readonly<Record<string, unknown>>;
    const lifeMs = Math.min(typeof seconds === "number" && seconds > 0 ? seconds * secondMs : lifeMsDefault, lifeMsMax);
    // A token that expires within the leeway serves only this request.
    return typeof value === "string" && tokenForm.test(value)
      ? { value, endsAtMs: nowMs + lifeMs - leewayMs }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Builds the failure. Its detail omits the body of the response, which may contain credentials. */
function noToken(outcome: Outcome): FailureOutcome {
  const why = outcome.kind === "response" ? `status ${outcome.status}` : `${outcome.reason}: ${outcome.detail}`;
  return { kind: "failure", reason: "token", detail: `no access token: ${why}`, timings: outcome.timings };
}
