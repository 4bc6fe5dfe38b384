import { parseJsonObject } from "./json-body.ts";

/** Where the credentials of a token request are: in `Authorization`, or in the form. Source: RFC 6749 §2.3.1. */
export type ClientAuthentication = "client_secret_basic" | "client_secret_post";

/** The credentials of a client. */
interface Client {
  readonly clientId: string;
  readonly secret: string;
}

/** A token request of client credentials: its headers and its form. */
export interface TokenRequestParts {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Codes that a detail may repeat; other texts may hold credentials. Source: RFC 6749 §5.2, RFC 8707, RFC 9449 §5. */
const errorCodes: ReadonlySet<unknown> = new Set([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
  "invalid_target",
  "invalid_dpop_proof",
  "use_dpop_nonce",
]);
/** Statuses of a rejected token request: another nonce or other credentials may help. Source: RFC 6749 §5.2. */
const rejectedStatuses: ReadonlySet<number> = new Set([400, 401]);

/** True for the status of a rejected token request. */
export function isRejectedStatus(status: number): boolean {
  return rejectedStatuses.has(status);
}

/**
 * Builds the token request. `parameters` are members of the form. In the header, credentials are form-encoded. Source:
 * RFC 6749 §4.4.2, §2.3.1.
 */
export function tokenRequest(
  { clientId, secret }: Client,
  parameters: Readonly<Record<string, string>>,
  style: ClientAuthentication,
): TokenRequestParts {
  const encoded = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1);
  const credentials = Buffer.from(`${encoded(clientId)}:${encoded(secret)}`).toString("base64");
  const isPosted = style === "client_secret_post";
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    ...parameters,
    ...(isPosted ? { client_id: clientId, client_secret: secret } : {}),
  });
  return {
    headers: {
      ...(isPosted ? {} : { Authorization: `Basic ${credentials}` }),
      "Content-Type": "application/x-www-form-urlencoded",
      Accept: "application/json",
      "Accept-Encoding": "identity",
    },
    body: form.toString(),
  };
}

/** How to send a token request, and what its response means. */
interface Exchange<Response> {
  readonly send: (style: ClientAuthentication) => Promise<Response>;
  readonly isRejected: (response: Response) => boolean;
  readonly isGranted: (response: Response) => boolean;
}

/** The outcome of a token request. */
interface Styled<Response> {
  readonly response: Response;
  /** The response to the form, when neither style was accepted. */
  readonly later?: Response;
  /** The style of the next request; undefined to begin with the header. */
  readonly style: ClientAuthentication | undefined;
}

/**
 * Requests a token with the credentials in the header, as every server must accept them. A server that rejects these
 * gets them in the form, and only so once it accepted that.
 *
 * @param known the style that the server accepted before
 */
export async function requestInEitherStyle<Response>(
  known: ClientAuthentication | undefined,
  { send, isRejected, isGranted }: Exchange<Response>,
): Promise<Styled<Response>> {
  const response = await send(known ?? "client_secret_basic");
  const wasRejected = !isGranted(response) && isRejected(response);
  if (!wasRejected) return { response, style: known };
  if (known !== undefined) return { response, style: undefined };
  const later = await send("client_secret_post");
  return isGranted(later) ? { response: later, style: "client_secret_post" } : { response, later, style: undefined };
}

/** The code in the response of a server that granted no token, after a space; empty for an unknown code. */
export function tokenErrorCode(body: string): string {
  const { error } = parseJsonObject(body) ?? {};
  return errorCodes.has(error) ? ` ${String(error)}` : "";
}
