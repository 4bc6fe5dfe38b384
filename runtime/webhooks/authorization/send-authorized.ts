// Authorization of outbound requests. Tokens of callers are checked in `http/authentication/`.
import type { Outcome } from "../settlement/outcome.ts";
import type { Partner } from "../partners/partner.ts";
import { withFixedHeaders } from "../signing/delivery-headers.ts";
import type { Sender, SendRequest } from "../sending/send.ts";
import type { TokenRequest, Tokens } from "./access-tokens.ts";

const unauthorized = 401;

/**
 * Sends a request with the TLS identity and the access token of the partner. After a 401, it fetches a new token and
 * sends the request once more. Never rejects.
 */
export async function sendAuthorized(
  { sender, tokens }: { readonly sender: Sender; readonly tokens: Tokens },
  partner: Partner,
  request: Omit<SendRequest, "tls">,
): Promise<Outcome> {
  const identified = partner.tls === undefined ? request : { ...request, tls: partner.tls };
  const tokenRequest = tokenRequestOf(partner, identified);
  if (tokenRequest === undefined) {
    return sender.send(identified);
  }
  const first = await sendWithToken(sender, tokens, tokenRequest, identified);
  if (first.kind === "failure" || first.status !== unauthorized) {
    return first;
  }
  tokens.refused(tokenRequest.key, first.headers["dpop-nonce"]);
  return sendWithToken(sender, tokens, tokenRequest, identified);
}

async function sendWithToken(
  sender: Sender,
  tokens: Tokens,
  tokenRequest: TokenRequest,
  request: SendRequest,
): Promise<Outcome> {
  const authorization = await tokens.authorize(tokenRequest);
  if (authorization.failure !== undefined) {
    return authorization.failure;
  }
  return sender.send({ ...request, headers: withFixedHeaders(request.headers, authorization.headers) });
}

function tokenRequestOf(
  { config, clientSecret, fingerprint, tls }: Partner,
  { method = "POST", url, networks, timeoutMs }: SendRequest,
): TokenRequest | undefined {
  const { oauth2 } = config.endpoint;
  if (oauth2 === undefined || clientSecret === undefined) {
    return undefined;
  }
  const identity = tls === undefined ? {} : { tls };
  return { key: fingerprint, oauth2, secret: clientSecret, networks, timeoutMs, method, url, ...identity };
}
