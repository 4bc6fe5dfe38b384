import type { Refusal } from "../../errors/refusal.ts";
import type { Caller } from "../../metrics/authorization/caller.ts";
import type { Again } from "../../metrics/metrics-api.ts";
import type { Parameters } from "../../metrics/request/parameters.ts";
import type { Operation } from "../openapi/operation.ts";

/** Who sends no token: nobody, who may do nothing that a route does not let everybody do. */
export const anonymous: Caller = {
  client: "anonymous",
  tenants: [],
  regions: [],
  environments: [],
  metrics: [],
  roles: [],
  scopes: [],
};

/** One authenticated request, as a route sees it. */
export interface ApiRequest {
  readonly caller: Caller;
  /** What the answer is found by in the log; none that the caller chose, where others may be given the answer. */
  readonly correlationId: string;
  /** Unix milliseconds at which the request came. */
  readonly nowMs: number;
  /** Aborts when the caller hangs up or the answer takes too long. */
  readonly signal: AbortSignal;
  /** Where the client is, as far as it can be known. */
  readonly address?: string | undefined;
  /** Decoded segments of the path, by the name the route gives them. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Parameters;
  /** The `Accept` header; undefined when there was none. */
  readonly accept: string | undefined;
  /** The `Accept-Encoding` header. */
  readonly acceptEncoding: string | undefined;
  /** The `Idempotency-Key` header; undefined when there was none. */
  readonly idempotencyKey: string | undefined;
  /** The `X-Remaining-Ms` header; undefined when there was none. */
  readonly remainingMs?: string | undefined;
  /** Exactly as received; empty when there was none. */
  readonly body: Uint8Array;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; bytes are sent as they are, under the `content-type` of {@link headers}. */
  readonly body: object;
  /** Parts of the request that were refused by themselves, for the audit. @default none */
  readonly refused?: readonly { readonly item: string; readonly refusal: Refusal }[];
  /** How the same request of the same caller is answered again, with the same bytes. @default by asking the route */
  readonly again?: Again | undefined;
}

/** One endpoint. It answers, or throws: a `Refusal` becomes its problem document, anything else a 500. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** Path with `:name` segments. */
  readonly path: string;
  /** The caller needs one of these. */
  readonly scopes: readonly string[];
  /** Whether a request without a token is let through, as {@link anonymous}. @default false */
  readonly allowsAnonymous?: boolean;
  /**
   * Whether a token counts only with the client certificate that it is bound to, whatever is enough elsewhere. @default
   * false
   */
  readonly isCertificateRequired?: boolean;
  /** Whether no token is looked at, for what everybody may read. @default false */
  readonly isOpen?: boolean;
  /** Entry of the route in the OpenAPI document. @default the document omits the route */
  readonly operation?: Operation;
  /** Bound on the body, in bytes. @default no body is taken */
  readonly bodyBytesMax?: number;
  readonly answer: (request: ApiRequest) => Promise<ApiResponse>;
}
