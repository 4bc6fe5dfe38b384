/**
 * Kind of a failed call.
 *
 * - `conflict`: the object changed since it was read, or another field manager owns a field (409)
 * - `alreadyExists`: a create met an object of that name (409)
 * - `notFound`: no such object, or no such kind (404)
 * - `gone`: the resource version or page token is too old; list again (410)
 * - `forbidden`, `unauthorized`: 403, 401
 * - `invalid`: the server will never accept this request (other 4xx, or a response beyond its bound)
 * - `transient`: 429, 5xx, or no complete response; the same call can succeed later
 * - `aborted`: the caller's signal ended the call
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

/** Details of a failed call. */
interface KubeErrorDetail {
  /** HTTP status; absent without a response. */
  readonly status?: number | undefined;
  /** `reason` of the server's Status object, or the code of the transport error. */
  readonly reason?: string | undefined;
  /** The server's `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

const messageBytesMax = 1024;

/** A failed call to the API server. Its message is masked and bounded, fit for logs and conditions. */
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

/** Returns true for a failed call of one of the kinds; without kinds, for any failed call. */
export function isKubeError(error: unknown, ...kinds: readonly KubeErrorKind[]): error is KubeError {
  return error instanceof KubeError && (kinds.length === 0 || kinds.includes(error.kind));
}

/** The time that the server asks to wait after an error, in milliseconds; 0 without one. */
export function retryAfterMsOf(error: unknown): number {
  return isKubeError(error) ? (error.retryAfterMs ?? 0) : 0;
}

/** Describes any error for a log or a condition: masked, bounded, without its stack. */
export function describeError(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return capBytes(mask(text), messageBytesMax);
}

/** The used members of a `Status` object. Source: Kubernetes API reference, Status v1 meta. */
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
 * Builds the error of an unsuccessful response.
 *
 * @param body text of the response: a Status object, or the text of a proxy
 * @param retryAfter the `Retry-After` header; the API server sends whole seconds
 */
export function errorOfResponse(request: string, status: number, body: string, retryAfter?: string): KubeError {
  const parsed = readStatus(parseJson(body));
  const retryAfterSeconds = seconds(retryAfter) ?? parsed.retryAfterSeconds;
  return errorOfStatus(request, { ...parsed, code: status, message: parsed.message ?? body, retryAfterSeconds });
}

/** Builds the error of a Status object, from the body of a response or an `ERROR` event of a watch. */
export function errorOfStatus(request: string, status: ApiStatus): KubeError {
  const { code = 500, reason, message = "", retryAfterSeconds = 0 } = status;
  return new KubeError(kindOf(code, reason), `${request}: ${code} ${reason ?? ""} ${message}`.trim(), {
    status: code,
    reason,
    retryAfterMs: retryAfterSeconds > 0 ? retryAfterSeconds * 1000 : undefined,
  });
}

/** Reads a Status object; members of another shape are absent. */
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

/** Returns undefined for text that is not JSON, such as a proxy's error page or a cut response. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface MaskRule {
  readonly pattern: RegExp;
  readonly by: string;
}

const masked = "***";

/** A value after its name, also in JSON inside a text. A status is no secret, as in "no Secret: 404". */
const namedSecret = new RegExp(
  String.raw`\b([\w-]{0,40}(?:password|passwd|secret|token|api[_-]?key))([\\"']{0,8}[=:] ?[\\"']{0,8})` +
    String.raw`(?![45]\d\d(?![^\s"',;&)]))[^\s\\"',;&]+`,
  "giu",
);

/**
 * Patterns of secrets in a text. No repetition is nested or unbounded before an anchor, so matching takes linear time.
 */
const rules: readonly MaskRule[] = [
  { pattern: /-----BEGIN [A-Z0-9 ]+-----[^-]*(?:-----END [A-Z0-9 ]+-----)?/gu, by: masked },
  { pattern: /\b(bearer|basic) +[\w.~+/=-]+/giu, by: `$1 ${masked}` },
  { pattern: /\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/gu, by: masked },
  { pattern: /\bwhs(ec|k)_[\w+/=-]+/gu, by: masked },
  // A password may contain @ and /, so credentials end at the last @.
  { pattern: /(:\/\/)(?:(?!:\/\/)[^\s"'<>]){1,512}@/gu, by: `$1${masked}@` },
  { pattern: namedSecret, by: `$1$2${masked}` },
];

/**
 * Masks secrets in a text: PEM blocks, tokens, credentials in URLs, values named password, secret, token or key. Every
 * text of a log, an event or a condition passes through it.
 */
export function mask(text: string): string {
  return rules.reduce((rest, rule) => rest.replace(rule.pattern, rule.by), text);
}

/** Cuts the text to a number of UTF-8 bytes, between characters, and marks the cut with an ellipsis. */
export function capBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= bytesMax) return text;
  const ellipsis = "…";
  const room = Math.max(0, bytesMax - Buffer.byteLength(ellipsis));
  return new TextDecoder("utf-8").decode(bytes.subarray(0, room), { stream: true }) + ellipsis;
}
