import { getCACertificates } from "node:tls";
import type { StoreOAuth2Config } from "../../../crds/store-credentials.ts";
import {
  type ClientAuthentication,
  isRejectedStatus,
  requestInEitherStyle,
  tokenErrorCode,
  tokenRequest,
} from "../../json/token-request.ts";
import { parseTokenResponse, renewalOf, tokenResponseBytesMax } from "../../json/token-response.ts";
import { createByteBudget } from "../limits/fan-out.ts";
import { exchange, type Exchanged, openPool } from "../prometheus/store-http.ts";
import { StoreError } from "../store-error.ts";
import type { StoreSecrets } from "../store-secrets.ts";
import type { Authorizer } from "./exchange-authorized.ts";
import { createRenewed, type Issued } from "./renewed.ts";

const lifeMsMax = 3_600_000;
const unauthorized = 401;

/**
 * Authorizes by an access token of client credentials. It is fetched on demand and renewed before it expires. Source:
 * RFC 6749 §4.4.
 *
 * @param timeoutMs bound on one fetch
 */
export function createStoreToken(
  oauth2: Omit<StoreOAuth2Config, "kind" | "secret">,
  secrets: StoreSecrets,
  timeoutMs: number,
): Authorizer {
  const { origin, pathname, search } = new URL(oauth2.tokenUrl);
  const { pool } = openPool({ url: oauth2.tokenUrl, timeoutMs }, { tls: tlsOfIssuer(secrets.tls) });
  const client = { clientId: oauth2.clientId, secret: secrets.clientSecret ?? "" };
  const parameters = parametersOf(oauth2);
  let style: ClientAuthentication | undefined;
  const fetchToken = async (): Promise<Issued<string>> => {
    const signal = AbortSignal.timeout(timeoutMs);
    const send = (one: ClientAuthentication): Promise<Exchanged> => {
      const { headers, body } = tokenRequest(client, parameters, one);
      const options = { path: `${pathname}${search}`, headers: { ...headers }, body };
      return exchange(pool, options, { signal, bytes: createByteBudget(tokenResponseBytesMax) });
    };
    try {
      const styled = await requestInEitherStyle(style, {
        send,
        isRejected: ({ status }) => isRejectedStatus(status),
        isGranted: ({ status }) => status === 200,
      });
      ({ style } = styled);
      return tokenOf(styled.response);
    } catch (error) {
      throw withoutToken(origin, error, timeoutMs);
    }
  };
  const token = createRenewed(fetchToken);
  return {
    headers: async (_request, signal) => ({ authorization: `Bearer ${await token.get(signal)}` }),
    rejected({ authorization }, { status }) {
      if (status === unauthorized) token.drop((value) => authorization === `Bearer ${value}`);
      return status === unauthorized;
    },
    close: () => pool.destroy(),
  };
}

function parametersOf({
  scopes = [],
  audience,
  resource,
}: Pick<StoreOAuth2Config, "scopes" | "audience" | "resource">): Readonly<Record<string, string>> {
  return {
    ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
    ...(audience === undefined ? {} : { audience }),
    ...(resource === undefined ? {} : { resource }),
  };
}

/**
 * The certificates for the issuer of credentials, which often is public while the store is private: the CAs of the
 * runtime stay trusted. The server name is that of the store.
 */
export function tlsOfIssuer({ servername: _name, ca, ...tls }: StoreSecrets["tls"]): StoreSecrets["tls"] {
  if (ca === undefined) return tls;
  return { ...tls, ca: Buffer.from([ca, ...getCACertificates("default")].join("\n")) };
}

/** Parses the token response. The error leaves out the response, which can hold credentials. @throws StoreError */
function tokenOf({ status, body }: Exchanged): Issued<string> {
  const text = body.toString("utf8");
  if (status !== 200)
    throw new StoreError("status", `HTTP ${status}${tokenErrorCode(text)}`, { isPassing: status >= 500 });
  const response = parseTokenResponse(text);
  if (response === undefined) throw new StoreError("malformed", "the response has no valid access token");
  const { token, expiresInSeconds } = response;
  const lifeMs = expiresInSeconds === undefined ? undefined : expiresInSeconds * 1_000;
  return { value: token, ...renewalOf(lifeMs, lifeMsMax) };
}

/** The error of a fetch with the server that failed. Without credentials, the store is as unavailable as without it. */
export function withoutToken(origin: string, error: unknown, timeoutMs: number, what = "access token"): StoreError {
  const failed = `no ${what} from ${origin}`;
  if (!(error instanceof StoreError))
    return new StoreError("late", `${failed}: no response in ${timeoutMs} ms`, { cause: error });
  const { kind, isPassing, isUnconnected } = error;
  const isUnusable = kind === "too_large";
  return new StoreError(isUnusable ? "malformed" : kind, `${failed}: ${error.message}`, {
    cause: error,
    isPassing,
    isUnconnected,
  });
}
