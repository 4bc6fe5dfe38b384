import { capBytes, mask } from "./mask.ts";

/**
 * What kind of failure a call met.
 *
 * - `conflict`: the object changed since it was read, or another field manager owns a field (409)
 * - `alreadyExists`: a create met an object of that name (409)
 * - `notFound`: no such object, or no such kind (404)
 * - `gone`: the resource version or page token is too old; list again (410)
 * - `forbidden`, `unauthorized`: 403, 401
 * - `invalid`: the server will never take this request as it is (other 4xx, or an answer beyond its bound)
 * - `transient`: 429, 5xx, or no whole answer; the same call can succeed later
 * - `aborted`: the caller's own signal ended the call
 */
export type KubeErrorKind =
  | "conflict"
  | "alreadyExists"
  | "notFound"
  | "gone"
  | "forbidden"
  | "unauthorized"
  | "invalid"
  | "transient"
  | "aborted";

/** What is known of a failed call. */
interface KubeErrorDetail {
  /** HTTP status; absent when there was no answer. */
  readonly status?: number | undefined;
  /** `reason` of the server's Status object, or what broke on the way. */
  readonly reason?: string | undefined;
  /** The server asked not to come back sooner, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

const messageBytesMax = 1024;

/** A call to the API server that failed. The message is masked and bounded: it may go to logs and conditions. */
export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly kind: KubeErrorKind;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(kind: KubeErrorKind, message: string, detail: KubeErrorDetail = {}) {
    super(capBytes(mask(message), messageBytesMax), { cause: detail.cause });
    this.kind = kind;
    this.status = detail.status;
    this.reason = detail.reason;
    this.retryAfterMs = detail.retryAfterMs;
  }
}

/** Whether this is a failed call of one of the kinds. */
export function isKubeError(error: unknown, ...kinds: readonly KubeErrorKind[]): error is KubeError {
  return error instanceof KubeError && (kinds.length === 0 || kinds.includes(error.kind));
}

/** What a log or a condition may say of any error: masked, bounded, without its stack. */
export function describeError(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return capBytes(mask(text), messageBytesMax);
}

/** The parts that matter of a `Status` object. Source: Kubernetes API reference, Status v1 meta. */
interface ApiStatus {
  readonly code?: number | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

const kindByStatus: Readonly<Record<number, KubeErrorKind>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "notFound",
  408: "transient",
  410: "gone",
  429: "transient",
};

/**
 * The error that an unsuccessful answer means.
 *
 * @param body text of the answer: a Status object, or the words of whatever stood between us and the server
 * @param retryAfter the `Retry-After` header; the API server sends whole seconds
 */
export function errorOfResponse(request: string, status: number, body: string, retryAfter?: string): KubeError {
  const said = readStatus(parseJson(body));
  const retryAfterSeconds = seconds(retryAfter) ?? said.retryAfterSeconds;
  return errorOfStatus(request, { ...said, code: status, message: said.message ?? body, retryAfterSeconds });
}

/** The error that a Status object means, as the body of an answer or as an `ERROR` event of a watch. */
export function errorOfStatus(request: string, status: ApiStatus): KubeError {
  const { code = 500, reason, message = "", retryAfterSeconds = 0 } = status;
  return new KubeError(kindOf(code, reason), `${request}: ${code} ${reason ?? ""} ${message}`.trim(), {
    status: code,
    reason,
    retryAfterMs: retryAfterSeconds > 0 ? retryAfterSeconds * 1000 : undefined,
  });
}

/** Reads what is there of a Status object; whatever has another shape is absent. */
export function readStatus(value: unknown): ApiStatus {
  const { code, reason, message, details } = fieldsOf(value);
  const { retryAfterSeconds } = fieldsOf(details);
  return {
    code: typeof code === "number" ? code : undefined,
    reason: typeof reason === "string" ? reason : undefined,
    message: typeof message === "string" ? message : undefined,
    retryAfterSeconds: typeof retryAfterSeconds === "number" ? retryAfterSeconds : undefined,
  };
}

function kindOf(code: number, reason: string | undefined): KubeErrorKind {
  if (code === 409) return reason === "AlreadyExists" ? "alreadyExists" : "conflict";
  if (reason === "Expired" || reason === "Gone") return "gone";
  return kindByStatus[code] ?? (code >= 500 ? "transient" : "invalid");
}

function seconds(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,9}$/u.test(header) ? Number(header) : undefined;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** Undefined when the text is not JSON: a proxy's error page, or half an answer. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
