// Requests to a peer, the runtime of another region, and their tokens. It knows no PromQL.
import type { PeerConfig } from "../../../crds/config.ts";
import { parseJsonObject } from "../../json/json-body.ts";
import { type Authorizer, exchangeAuthorized } from "../authorization/exchange-authorized.ts";
import { createStoreToken } from "../authorization/store-token.ts";
import { type WarningClass, warningClasses } from "../prometheus/matrix.ts";
import type { StoreCapabilities } from "../prometheus/probe-store.ts";
import type { PrometheusClient } from "../prometheus/prometheus-client.ts";
import {
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
  const send = exchangeAuthorized(tokens);
  const sendToPeer: SendToPeer = async (body, call) => {
    const headers = {
      ...requestHeaders,
      ...secrets.headers,
      ...originHeaders(call, config.timeoutMs),
      ...traceHeaders(call),
    };
    return responseOf(await send(pool, { path, headers, body }, call));
  };
  return {
    send: (body, call) => retried(() => sendToPeer(body, call), call.signal, budget),
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

/** The access token is bound to the certificate of the connection. Source: RFC 6749 §4.4, RFC 8705 §3. */
function createPeerToken({ auth, timeoutMs }: PeerConfig, secrets: StoreSecrets): Authorizer | undefined {
  if (auth.kind !== "oauth2") return undefined;
  return createStoreToken({ ...auth, scopes: [scope] }, secrets, timeoutMs);
}
