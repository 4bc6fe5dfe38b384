import { ApiError } from "../../errors/api-error.ts";
import type { Caller } from "../../metrics/authorization/access.ts";
import type { AgeHeaders } from "../../metrics/metrics-api.ts";
import type { Parameters } from "../../metrics/request/parameters.ts";
import type { Operation } from "../openapi/operation.ts";

/** The caller without a token. It may do only what a route allows to everyone. */
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
  /** Correlation id of the log line. Shared responses never carry an id that the caller chose. */
  readonly correlationId: string;
  /** Unix milliseconds at which the request arrived. */
  readonly nowMs: number;
  /** Aborts when the caller disconnects or the response takes too long. */
  readonly signal: AbortSignal;
  /** Reads the address of the client; undefined when it is unknown. */
  readonly address: () => string | undefined;
  /** Origin at which the connection arrived, by its socket, such as `http://127.0.0.1:8080`. */
  readonly origin?: string | undefined;
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
  /** All values of each header, by its name in lower case, if the route takes several types of JSON. */
  readonly headers?: Readonly<Record<string, readonly string[] | undefined>>;
  /** The `traceparent` header; undefined when there was none. */
  readonly traceparent?: string | undefined;
  /** The `X-Scope-OrgID` header; undefined when there was none. */
  readonly tenant?: string | undefined;
  /** Exactly as received; empty when there was none. */
  readonly body: Uint8Array;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; bytes are sent as they are, under the `content-type` of {@link headers}. */
  readonly body: object;
  /** Parts of the request that were rejected alone, for the audit. @default none */
  readonly rejected?: readonly { readonly item: string; readonly apiError: ApiError }[];
  /**
   * Repeats the response for the same request of the same caller, with the same bytes. @default the route runs again
   */
  readonly revalidate?: AgeHeaders | undefined;
  /** Receives the bytes of the body after each sent response, also of a repeated one. @default they are not counted */
  readonly sent?: ((bytes: number) => void) | undefined;
}

/**
 * One endpoint. It returns a response or throws: a `ApiError` becomes its problem document, every other error a 500.
 */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** Path with `:name` segments. */
  readonly path: string;
  /** The caller needs one of these. */
  readonly scopes: readonly string[];
  /** True when every valid token is enough, whatever its scopes. @default false */
  readonly takesAnyToken?: boolean;
  /** True when a request without a token is allowed, as {@link anonymous}. @default false */
  readonly allowsAnonymous?: boolean;
  /** True when a token must be bound to the client certificate, whatever the settings require. @default false */
  readonly isCertificateRequired?: boolean;
  /** True when the route is public and ignores tokens. @default false */
  readonly isOpen?: boolean;
  /** Entry of the route in the OpenAPI document. @default the document omits the route */
  readonly operation?: Operation;
  /** Bound on the body, in bytes. @default the route accepts no body */
  readonly bodyBytesMax?: number;
  /**
   * True when the body is a form. Its parameters then stand in {@link ApiRequest.query} before those of the target, and
   * a body of JSON must be empty. @default false
   */
  readonly takesForms?: boolean;
  /** True when the body may be JSON of any `+json` type, such as a CloudEvent. @default false */
  readonly takesJsonTypes?: boolean;
  readonly handle: (request: ApiRequest) => Promise<ApiResponse>;
}

/** A route that reads: 200 with the body. */
export function readRoute(
  path: string,
  scopes: readonly string[],
  operation: Operation,
  read: (request: ApiRequest) => Promise<object>,
): Route {
  return {
    method: "GET",
    path,
    scopes,
    operation,
    handle: async (request) => ({ status: 200, body: await read(request) }),
  };
}

/** The route for tokens with a claim of partners only. */
export function requirePartners(route: Route): Route {
  return {
    ...route,
    handle: async (request) => {
      if (request.caller.partners !== undefined) return route.handle(request);
      throw new ApiError("partners_required", "The token has no partners claim. Use * in the claim for all partners.");
    },
  };
}
