// Authorization of outbound requests. Tokens of callers are checked in `http/authentication/`.
import type { AttemptOutcome } from "../settlement/outcome.ts";
import type { Partner } from "../partners/partner.ts";
import { withFixedHeaders } from "../signing/signed-request.ts";
import type { Sender, SendRequest } from "../sending/send.ts";
import type { TokenRequest, Tokens } from "./access-tokens.ts";

const unauthorized = 401;

interface Deps {
  readonly sender: Sender;
  readonly tokens: Tokens;
}

/**
 * Sends a request with the TLS identity and the access token of the partner. After a 401, it fetches a new token and
 * sends the request once more. Never rejects.
 */
export function sendAuthorized(
  deps: Deps,
  partner: Partner,
  request: Omit<SendRequest, "tls">,
): Promise<AttemptOutcome>;
/**
 * @param maySend asked after the wait for a token, and after that for a connection. The outcome is undefined when it
 *   returns false.
 */
export function sendAuthorized(
  deps: Deps,
  partner: Partner,
  request: Omit<SendRequest, "tls">,
  maySend: () => boolean,
): Promise<AttemptOutcome | undefined>;
export async function sendAuthorized(
  deps: Deps,
  partner: Partner,
  request: Omit<SendRequest, "tls">,
  maySend: () => boolean = () => true,
): Promise<AttemptOutcome | undefined> {
  let isHeldBack = false;
  const ask = (): boolean => {
    isHeldBack ||= !maySend();
    return !isHeldBack;
  };
  const outcome = await sendWhileAllowed(deps, partner, { ...request, maySend: ask }, ask);
  return isHeldBack ? undefined : outcome;
}

async function sendWhileAllowed(
  { sender, tokens }: Deps,
  partner: Partner,
  request: Omit<SendRequest, "tls">,
  maySend: () => boolean,
): Promise<AttemptOutcome | undefined> {
  const identified = partner.tls === undefined ? request : { ...request, tls: partner.tls };
  const tokenRequest = tokenRequestOf(partner, identified);
  if (tokenRequest === undefined) return sender.send(identified);
  const deps = { sender, tokens, maySend };
  const { outcome: first, token } = await sendWithToken(deps, tokenRequest, identified);
  if (token === undefined || first?.kind !== "response" || first.status !== unauthorized) return first;
  tokens.rejected(tokenRequest.key, { token, nonce: first.headers["dpop-nonce"] });
  return (await sendWithToken(deps, tokenRequest, identified)).outcome;
}

async function sendWithToken(
  { sender, tokens, maySend }: Deps & { readonly maySend: () => boolean },
  tokenRequest: TokenRequest,
  request: SendRequest,
): Promise<{ readonly outcome: AttemptOutcome | undefined; readonly token?: string }> {
  const authorization = await tokens.authorize(tokenRequest);
  if (authorization.failure !== undefined) return { outcome: authorization.failure };
  if (!maySend()) return { outcome: undefined };
  const { token, headers } = authorization;
  return { outcome: await sender.send({ ...request, headers: withFixedHeaders(request.headers, headers) }), token };
}

/** Names of the headers that {@link sendAuthorized} adds for this partner. */
export function authorizationHeaders({ config, clientSecret }: Partner): readonly string[] {
  const { oauth2 } = config.endpoint;
  if (oauth2 === undefined || clientSecret === undefined) return noHeaders;
  return oauth2.dpop === true ? dpopHeaders : bearerHeaders;
}

const noHeaders: readonly string[] = [];
const bearerHeaders: readonly string[] = ["Authorization"];
const dpopHeaders: readonly string[] = ["Authorization", "DPoP"];

function tokenRequestOf(
  { config, clientSecret, fingerprint, tls }: Partner,
  { method = "POST", url, networks, timeoutMs }: SendRequest,
): TokenRequest | undefined {
  const { oauth2 } = config.endpoint;
  if (oauth2 === undefined || clientSecret === undefined) return undefined;
  const identity = tls === undefined ? {} : { tls };
  return { key: fingerprint, oauth2, secret: clientSecret, networks, timeoutMs, method, url, ...identity };
}
