import type { PeerConfig } from "../../../crds/config.ts";
import { parseJsonObject } from "../../json/json-object.ts";
import { createPeerToken } from "./peer-token.ts";
import type { StoreCapabilities } from "../prometheus/probe.ts";
import type { PrometheusClient } from "../prometheus/prometheus-client.ts";
import { retried } from "../prometheus/retrying-request.ts";
import type { RetryBudget } from "../limits/retry-budget.ts";
import { StoreError, type StoreErrorKind } from "../store-error.ts";
import { exchange, openPool, type Exchanged, type StoreCall } from "../prometheus/store-http.ts";
import type { StoreSecrets } from "../store-secrets.ts";
import { warningClasses, type WarningClass } from "../prometheus/warnings.ts";

/** Below the peer's base URL. */
const partialsPath = "/v1/metrics/partials";
/** Milliseconds that an answer is still of use for. */
const remainingHeader = "x-remaining-ms";
/** What a peer says of its answer: one of the classes of warnings. */
export const warningHeader = "x-store-warning";

/** What a peer answered. */
export interface PeerResponse {
  readonly bytes: Buffer;
  readonly warning: WarningClass;
}

/** Posts a question to a peer. @throws StoreError; the signal's reason */
export type SendToPeer = (body: string, call: StoreCall) => Promise<PeerResponse>;

/** A client of one peer that reads as a client of a store does. Its queries are questions. */
export interface PeerClient extends PrometheusClient {
  /** Whether the peer answers for the region, and what its stores can do. @throws StoreError; the signal's reason */
  probe(call: StoreCall): Promise<StoreCapabilities>;
}

/** What a peer is believed to be. */
export interface PeerTerms extends Pick<PeerConfig, "increases"> {
  readonly region: string;
}

/** Makes the client of a peer: who speaks to it is known here, what is said is not. */
export type MakePeerClient = (send: SendToPeer, terms: PeerTerms) => PeerClient;

/** Connections to one peer. */
interface PeerHttp {
  readonly send: SendToPeer;
  close(options: { readonly atOnce: boolean }): Promise<void>;
}

/** Nothing is sent before the first question. What failed in passing is sent once more, within the budget. */
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
    };
    const response = await exchange(pool, { path, headers, body }, call);
    if (response.status === 401) tokens?.refused(headers.authorization);
    return response;
  };
  const send: SendToPeer = async (body, call) => {
    const response = await exchanged(body, call);
    // A token that was fetched may have been withdrawn since: another one is fetched, once.
    return responseOf(response.status === 401 && tokens !== undefined ? await exchanged(body, call) : response);
  };
  return {
    send: (body, call) => retried(() => send(body, call), call.signal, budget),
    async close({ atOnce }) {
      await Promise.all([atOnce ? pool.destroy() : pool.close(), tokens?.close()]);
    },
  };
}

// Partials are compressed as they are.
const requestHeaders = { "content-type": "application/json", "accept-encoding": "identity" };

function originHeaders({ origin }: StoreCall, timeoutMs: number): Readonly<Record<string, string>> {
  const leftMs = origin === undefined ? timeoutMs : Math.min(timeoutMs, origin.endsAtMs - performance.now());
  const remaining = { [remainingHeader]: String(Math.max(1, Math.floor(leftMs))) };
  return origin === undefined ? remaining : { ...remaining, "x-correlation-id": origin.correlationId };
}

/** Codes of problems that say more than their status. */
const kindsByCode: ReadonlyMap<unknown, StoreErrorKind> = new Map<unknown, StoreErrorKind>([
  ["incompatible_increases", "unsupported"],
  ["incompatible_buckets", "unsupported"],
  ["invalid_aggregation", "unsupported"],
  ["schema_version_gone", "unsupported"],
  ["result_too_large", "too_large"],
  ["store_timeout", "late"],
  ["answer_timeout", "late"],
]);
/** What a proxy says while the peer behind it starts or moves, and a peer that has too much to do. */
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
