/**
 * What kept a request to the API server from its answer.
 *
 * - `unreachable`: no whole answer; nobody knows what the server thinks
 * - `busy`: the server asks to come again (429, 5xx)
 * - `gone`: the state to go on from is too old; list again (410)
 * - `refused`: the server will not take this request as it is (401, 403, 404, other 4xx)
 */
export type KubernetesFaultKind = "unreachable" | "busy" | "gone" | "refused";

/** A request to the API server that failed. Its message never holds credentials. */
export class KubernetesFault extends Error {
  override readonly name = "KubernetesFault";
  readonly kind: KubernetesFaultKind;
  /** HTTP status; absent when there was no answer. */
  readonly status: number | undefined;
  /** The server asked not to come back sooner, in milliseconds. @default 0 */
  readonly retryAfterMs: number;

  constructor(
    kind: KubernetesFaultKind,
    message: string,
    detail: { status?: number; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: detail.cause });
    this.kind = kind;
    this.status = detail.status;
    this.retryAfterMs = detail.retryAfterMs ?? 0;
  }
}

const messageLengthMax = 300;
const retryAfterMsMax = 10 * 60_000;

/**
 * The fault that an unsuccessful answer means.
 * @param body a Status object, or the words of whatever stood in between
 * @param retryAfter the `Retry-After` header, in seconds
 */
export function faultOfResponse(what: string, status: number, body: string, retryAfter?: string): KubernetesFault {
  const said = statusOf(parsed(body));
  return faultOfStatus(what, { ...said, code: status, message: said.message ?? body }, retryAfter);
}

/** What matters of a `Status` object. Source: Kubernetes API reference, Status v1 meta. */
interface ApiStatus {
  readonly code: number;
  readonly reason?: string;
  readonly message?: string;
}

/** The fault that a Status object means, as an answer or as an `ERROR` event of a watch. */
export function faultOfStatus(
  what: string,
  { code, reason, message = "" }: ApiStatus,
  retryAfter = "",
): KubernetesFault {
  const seconds = /^\d{1,6}$/u.test(retryAfter) ? Number(retryAfter) : 0;
  const sentence = `${what}: ${[code, reason, message].filter(Boolean).join(" ")}`.slice(0, messageLengthMax);
  return new KubernetesFault(kindOf(code, reason), sentence, {
    status: code,
    retryAfterMs: Math.min(seconds * 1000, retryAfterMsMax),
  });
}

/** Reads what is there of a Status object; whatever has another shape is absent. @default code 500 */
export function statusOf(value: unknown): ApiStatus {
  const { code, reason, message } = (typeof value === "object" && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  return {
    code: typeof code === "number" ? code : 500,
    ...(typeof reason === "string" ? { reason } : {}),
    ...(typeof message === "string" ? { message } : {}),
  };
}

/** The fault of a connection that broke, or of whatever else came instead of a whole answer. */
export function faultOfBreak(what: string, cause: unknown): KubernetesFault {
  if (cause instanceof KubernetesFault) return cause;
  const { code, message = String(cause) } = (cause ?? {}) as { readonly code?: unknown; readonly message?: string };
  const sentence = `${what}: ${typeof code === "string" ? `${code} ` : ""}${message}`.slice(0, messageLengthMax);
  return new KubernetesFault("unreachable", sentence, { cause });
}

function kindOf(code: number, reason: string | undefined): KubernetesFaultKind {
  if (code === 410 || reason === "Expired" || reason === "Gone") return "gone";
  return code === 429 || code >= 500 ? "busy" : "refused";
}

/** Undefined when the text is not JSON: a proxy's error page, or half an answer. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
