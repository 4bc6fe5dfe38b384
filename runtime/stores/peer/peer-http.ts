// Requests to a peer, the runtime of another region, and their tokens. It knows no PromQL.
import type { PeerConfig, PeerOAuth2Config } from "../../../crds/config.ts";
import { parseJsonObject } from "../../json/json-body.ts";
import { parseTokenResponse, tokenResponseBytesMax, tokenUseMs } from "../../json/token-response.ts";
import { createByteBudget } from "../limits/fan-out.ts";
import { type WarningClass, warningClasses } from "../prometheus/matrix.ts";
import type { StoreCapabilities } from "../prometheus/probe-store.ts";
import type { PrometheusClient } from "../prometheus/prometheus-client.ts";
import {
  exchange,
  type Exchanged,
  openPool,
  retried,
  type RetryBudget,
  type StoreCall,
  traceHeaders,
} from "../prometheus/store-http.ts";
import { StoreError, type StoreErrorKind } from "../store-error.ts";
import type { StoreSecrets } from "../store-secrets.ts";

/** Below the peer's base URL. */
const partialsPath = "/v1/metrics/partials";
/** Request header: milliseconds until the deadline of the response. */
const remainingHeader = "x-remaining-ms";
/** Response header: the class of the warnings of the peer's stores. */
export const warningHeader = "x-store-warning";

/** The response of a peer. */
export interface PeerResponse {
  readonly bytes: Buffer;
  readonly warning: WarningClass;
}

/** Posts a partial request to a peer. @throws StoreError; the signal's reason */
export type SendToPeer = (body: string, call: StoreCall) => Promise<PeerResponse>;

/** The client of one peer, with the methods of a store's client. Its queries are partial requests. */
export interface PeerClient extends PrometheusClient {
  /** Checks that the peer serves the region, and reads its capabilities. @throws StoreError; the signal's reason */
  probe(call: StoreCall): Promise<StoreCapabilities>;
}

/** The region and the increase rule of a peer in the catalog. */
export interface PeerTerms extends Pick<PeerConfig, "increases"> {
  readonly region: string;
}

/** Creates the client of a peer. This room knows the HTTP of a peer, but not the format of partial requests. */
export type MakePeerClient = (send: SendToPeer, terms: PeerTerms) => PeerClient;

/** Connections to one peer. */
interface PeerHttp {
  readonly send: SendToPeer;
  close(options: { readonly atOnce: boolean }): Promise<void>;
}

/** Creates the connections to a peer. A transient failure is retried once, within the budget. */
export function createPeerHttp(config: PeerConfig, secrets: StoreSecrets, budget: RetryBudget): PeerHttp {
  const { pool, base } = openPool(config, secrets);
  const path = `${base}${partialsPath}`;
  const tokens = createPeerToken(config, secrets);
  const exchanged = async (body: string, call: StoreCall): Promise<Exchanged> => {
    const headers = {
      ...requestHeaders,
      ...secrets.headers,
      ...(await tokens?.header()),
      ...originHeaders(call, config.timeoutMs),
      ...traceHeaders(call),
    };
    const response = await exchange(pool, { path, headers, body }, call);
    if (response.status === 401) tokens?.rejected(headers.authorization);
    return response;
  };
  const send: SendToPeer = async (body, call) => {
    const response = await exchanged(body, call);
    // The authorization server may have revoked the token. One more token is fetched.
    return responseOf(response.status === 401 && tokens !== undefined ? await exchanged(body, call) : response);
  };
  return {
    send: (body, call) => retried(() => send(body, call), call.signal, budget),
    async close({ atOnce }) {
      await Promise.all([atOnce ? pool.destroy() : pool.close(), tokens?.close()]);
    },
  };
}

// Partials are compressed by their own format, so that a content coding gains nothing.
const requestHeaders = { "content-type": "application/json", "accept-encoding": "identity" };

function originHeaders({ origin }: StoreCall, timeoutMs: number): Readonly<Record<string, string>> {
  const leftMs = origin === undefined ? timeoutMs : Math.min(timeoutMs, origin.endsAtMs - performance.now());
  const remaining = { [remainingHeader]: String(Math.max(1, Math.floor(leftMs))) };
  return origin === undefined ? remaining : { ...remaining, "x-correlation-id": origin.correlationId };
}

/** Kinds of the problem codes for which the HTTP status is ambiguous. */
const kindsByCode: ReadonlyMap<unknown, StoreErrorKind> = new Map<unknown, StoreErrorKind>([
  ["incompatible_increases", "unsupported"],
  ["incompatible_buckets", "unsupported"],
  ["invalid_aggregation", "unsupported"],
  ["schema_version_gone", "unsupported"],
  ["result_too_large", "too_large"],
  ["store_timeout", "late"],
  ["answer_timeout", "late"],
]);
/** Statuses of a proxy while the peer behind it starts or moves, and of an overloaded peer. */
const passingStatuses: readonly number[] = [429, 502, 503];
const detailLengthMax = 300;

function responseOf({ status, headers, body }: Exchanged): PeerResponse {
  if (status === 200) return { bytes: body, warning: warningOf(headers[warningHeader]) };
  const { code, detail } = parseJsonObject(body.toString("utf8")) ?? {};
  const kind = kindsByCode.get(code) ?? (status >= 500 ? "status" : "refused");
  const isPassing = passingStatuses.includes(status) && code !== "store_failed";
  throw new StoreError(kind, `HTTP ${status}: ${String(code)}: ${String(detail).slice(0, detailLengthMax)}`, {
    isPassing,
  });
}

function warningOf(value: unknown): WarningClass {
  const warning = warningClasses.find((one) => one === value);
  if (warning === undefined) throw new StoreError("malformed", `the response has no ${warningHeader}`);
  return warning;
}

/** Scope of runtimes of other regions. */
const scope = "metrics:peer";
const lifeMsMax = 3_600_000;
/** The access token of client credentials. It is fetched on demand and kept until shortly before its expiry. */
interface PeerToken {
  /** @throws StoreError without a token */
  header(): Promise<{ readonly authorization: string }>;
  /** Drops the token of a rejected header. */
  rejected(authorization: string | undefined): void;
  close(): Promise<void>;
}

interface Fetched {
  readonly authorization: string;
  /** On the clock of `performance.now`. */
  readonly endsAtMs: number;
}

/** Creates the token of a peer; undefined for a peer with a fixed token. Source: RFC 6749 §4.4, RFC 8705 §3. */
function createPeerToken({ auth, timeoutMs }: PeerConfig, secrets: StoreSecrets): PeerToken | undefined {
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
    rejected(authorization) {
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
  const response = parseTokenResponse(body.toString("utf8"));
  if (response === undefined)
    throw new StoreError("malformed", "the response of the token endpoint has no valid access token");
  return { authorization: `Bearer ${response.token}`, endsAtMs: nowMs + tokenUseMs(response, lifeMsMax) };
}
