import type { PeerConfig, PeerOAuth2Config } from "../../../crds/config.ts";
import { parseTokenResponse, tokenResponseBytesMax } from "../../json/token-response.ts";
import { createByteBudget } from "../limits/byte-budget.ts";
import { StoreError } from "../store-error.ts";
import { exchange, openPool } from "../prometheus/store-http.ts";
import type { StoreSecrets } from "../store-secrets.ts";

/** Scope of runtimes of other regions. */
const scope = "metrics:peer";
/** A token is replaced this long before its expiry. */
const leewayMs = 30_000;
const lifeMsDefault = 300_000;
const lifeMsMax = 3_600_000;
/** The access token of client credentials. It is fetched on demand and kept until shortly before its expiry. */
interface PeerToken {
  /** @throws StoreError without a token */
  header(): Promise<{ readonly authorization: string }>;
  /** Drops the token of a refused header. */
  refused(authorization: string | undefined): void;
  close(): Promise<void>;
}

interface Fetched {
  readonly authorization: string;
  /** On the clock of `performance.now`. */
  readonly endsAtMs: number;
}

/** Creates the token of a peer; undefined for a peer with a fixed token. Source: RFC 6749 §4.4, RFC 8705 §3. */
export function createPeerToken({ auth, timeoutMs }: PeerConfig, secrets: StoreSecrets): PeerToken | undefined {
  if (auth.kind !== "oauth2") return undefined;
  const { pool } = openPool({ url: auth.tokenUrl, timeoutMs }, { tls: withoutName(secrets.tls) });
  const { pathname, search } = new URL(auth.tokenUrl);
  const options = { path: `${pathname}${search}`, ...tokenRequest(auth, secrets.clientSecret ?? "") };
  let kept: Fetched | undefined;
  let flight: Promise<Fetched> | undefined;
  const fetchToken = async (): Promise<Fetched> => {
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const { status, body } = await exchange(pool, options, {
        signal,
        bytes: createByteBudget(tokenResponseBytesMax),
      });
      return tokenOf(status, body, performance.now());
    } catch (error) {
      if (error instanceof StoreError) throw error;
      throw new StoreError("late", `no access token in ${timeoutMs} ms`, { cause: error });
    } finally {
      flight = undefined;
    }
  };
  return {
    async header() {
      if (kept === undefined || kept.endsAtMs <= performance.now()) kept = await (flight ??= fetchToken());
      return { authorization: kept.authorization };
    },
    refused(authorization) {
      if (kept?.authorization === authorization) kept = undefined;
    },
    close: () => pool.destroy(),
  };
}

/** Leaves out the server name, which is the name in the certificate of the peer. */
function withoutName({ servername: _name, ...tls }: StoreSecrets["tls"]): StoreSecrets["tls"] {
  return tls;
}

/** Builds the token request. The header has the form-encoded credentials. Source: RFC 6749 §2.3.1. */
function tokenRequest(
  { clientId, resource }: PeerOAuth2Config,
  secret: string,
): { readonly headers: Record<string, string>; readonly body: string } {
  const credentials = [clientId, secret].map((text) => new URLSearchParams({ "": text }).toString().slice(1)).join(":");
  const form = { grant_type: "client_credentials", scope, ...(resource === undefined ? {} : { resource }) };
  return {
    headers: {
      authorization: `Basic ${Buffer.from(credentials).toString("base64")}`,
      "content-type": "application/x-www-form-urlencoded",
      accept: "application/json",
      "accept-encoding": "identity",
    },
    body: new URLSearchParams(form).toString(),
  };
}

/** Parses the token response. The error leaves out the response, which can hold credentials. @throws StoreError */
function tokenOf(status: number, body: Buffer, nowMs: number): Fetched {
  if (status !== 200) {
    const isTheirs = status >= 500;
    throw new StoreError(isTheirs ? "status" : "refused", `no access token: HTTP ${status}`, { isPassing: isTheirs });
  }
  const { token, expiresInSeconds } = parseTokenResponse(body.toString("utf8")) ?? {};
  if (token === undefined)
    throw new StoreError("malformed", "the response of the token endpoint has no valid access token");
  const lifeMs = Math.min(expiresInSeconds === undefined ? lifeMsDefault : expiresInSeconds * 1_000, lifeMsMax);
  // A token that expires within the leeway is used for the current request only.
  return { authorization: `Bearer ${token}`, endsAtMs: nowMs + lifeMs - leewayMs };
}
