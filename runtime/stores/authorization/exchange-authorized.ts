import { exchange, type Exchanged, type SendOptions, type StoreExchange } from "../prometheus/store-http.ts";

/** The parts of a request that its authorization may depend on. */
export interface UnauthorizedRequest {
  readonly method: "GET" | "POST";
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type Headers = Readonly<Record<string, string>>;

/** Authorizes requests by credentials that expire, or by signatures. */
export interface Authorizer {
  /**
   * The headers to add.
   *
   * @throws StoreError without credentials; the signal's reason
   */
  headers(request: UnauthorizedRequest, signal: AbortSignal): Promise<Headers>;
  /** Drops credentials that the server rejected. True if others may be accepted. @throws StoreError with a reason */
  rejected(headers: Headers, response: Exchanged): boolean;
  close(): Promise<void>;
}

/**
 * Sends authorized requests. One that the server rejects for its credentials is sent once more, with new ones. It
 * throws what {@link exchange} and the authorizer throw.
 */
export function exchangeAuthorized(authorizer: Authorizer | undefined): StoreExchange {
  if (authorizer === undefined) return exchange;
  return async (pool, options, call) => {
    const send = async (): Promise<readonly [Headers, Exchanged]> => {
      const added = await authorizer.headers(unauthorized(options), call.signal);
      return [added, await exchange(pool, { ...options, headers: { ...options.headers, ...added } }, call)];
    };
    const [headers, response] = await send();
    return authorizer.rejected(headers, response) ? (await send())[1] : response;
  };
}

function unauthorized({ method = "POST", path, headers, body = "" }: SendOptions): UnauthorizedRequest {
  return { method, path, headers, body };
}
