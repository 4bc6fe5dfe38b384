import type { AttemptHistory } from "../../api/histories.ts";

type AttemptError = NonNullable<AttemptHistory["error"]>;

/** What happened, by the reason of the failure. They begin as the details that the API returns without admin:debug. */
const sentences: Readonly<Record<string, string>> = {
  guard: "The partner's networks do not allow the URL or an address of its host",
  dns: "The endpoint's host was not found",
  connect: "Could not connect to the endpoint",
  connect_timeout: "The connection to the endpoint timed out",
  tls: "The TLS handshake failed",
  client_certificate: "The endpoint rejected the client certificate",
  reset: "The connection closed before the response",
  first_byte_timeout: "The response did not start in time",
  timeout: "The attempt timed out before the request was sent",
  response_invalid: "The response is not valid HTTP/1.1",
  token: "The token endpoint issued no access token",
  consent: "The endpoint does not consent to deliveries",
};

/** Error codes of Node.js and OpenSSL in words. */
const codeWords: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is self-signed and not trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "the root of the certificate chain is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "the issuer of the certificate is unknown, or an intermediate certificate is missing",
  UNABLE_TO_GET_ISSUER_CERT: "the issuer of a certificate in the chain is unknown",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the issuer of the certificate is not trusted",
  CERT_HAS_EXPIRED: "the certificate has expired",
  CERT_NOT_YET_VALID: "the certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host name",
  ECONNREFUSED: "the port is closed",
  ECONNRESET: "the other side reset the connection",
  EPIPE: "the other side closed the connection",
  EHOSTUNREACH: "there is no route to the host",
  ENETUNREACH: "there is no route to the network",
  ENOTFOUND: "the name does not exist",
  ETIMEDOUT: "no reply in time",
};
const codeForm = /[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|\bE[A-Z]{4,20}\b/u;

/** The detail of an attempt that reached its time limit, which says less than the reason. */
const timeLimit = "the time of the attempt is over";

/** Why an attempt has no response: a sentence, and in brackets the code or the detail. */
export function failureCause({ reason, detail }: AttemptError): string {
  const sentence = Object.hasOwn(sentences, reason) ? sentences[reason] : undefined;
  if (sentence === undefined) return detail;
  const isRepeated = detail.toLowerCase().startsWith(sentence.toLowerCase());
  const rest = isRepeated ? detail.slice(sentence.length).replace(/^: /u, "") : detail;
  const words = codeWords[codeForm.exec(detail)?.[0] ?? ""];
  const text = words === undefined ? sentence : `${sentence}: ${words}`;
  return rest === "" || rest === timeLimit ? `${text}.` : `${text} (${rest}).`;
}

/** Reasons of the records with which a delivery ends without a request. They are no attempts. */
const endReasons: ReadonlySet<string> = new Set(["backlog_full", "held_expired", "partner_removed"]);

/** Number of attempts among the records of a delivery. */
export function countAttempts(records: readonly Pick<AttemptHistory, "error">[]): number {
  return records.filter(({ error }) => error === null || !endReasons.has(error.reason)).length;
}

/** Failures after which the endpoint may have the request. */
const sentReasons: ReadonlySet<string> = new Set(["reset", "first_byte_timeout", "response_invalid", "aborted"]);

/** Whether an attempt ended before its request was sent. */
export function isUnsent({ error }: Pick<AttemptHistory, "error">): boolean {
  return error !== null && !sentReasons.has(error.reason);
}

/** The phase in which an attempt without a response ended; undefined for another end. */
export function failedPhase({
  error,
  phases_ms: phases,
}: Pick<AttemptHistory, "error" | "phases_ms">): keyof AttemptHistory["phases_ms"] | undefined {
  const reason = error?.reason ?? "";
  // The limit of connecting includes TLS.
  if (reason === "connect_timeout") return phases.connect === null ? "connect" : "tls";
  return Object.hasOwn(endPhases, reason) ? endPhases[reason] : undefined;
}

const endPhases: Readonly<Record<string, keyof AttemptHistory["phases_ms"]>> = {
  dns: "dns",
  connect: "connect",
  tls: "tls",
  client_certificate: "tls",
  reset: "first_byte",
  first_byte_timeout: "first_byte",
  response_invalid: "first_byte",
};
