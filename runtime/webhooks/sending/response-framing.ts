import type { ParsedHead } from "./response-head.ts";

/** Where the body of a response ends. `unknown`: the rest of the connection cannot be read. */
export interface BodyFraming {
  readonly kind: "none" | "length" | "chunked" | "close" | "unknown";
  /** Bytes of a body of kind `length`; else 0. */
  readonly bytes: number;
  /** A fault that does not hide the status, with the name of its header. */
  readonly fault?: string;
  /** Warning about bytes behind the body. */
  readonly excess: string;
}

const bodilessStatuses: ReadonlySet<number> = new Set([204, 304]);
const lengthForm = /^\d{1,15}$/u;
const timeoutForm = /(?:^|[\s,;])timeout=(?<seconds>\d{1,6})\b/iu;
const secondMs = 1_000;

/** Source: RFC 9112 §6.3. */
export function bodyFraming({ status, headers, isHttp10 }: ParsedHead): BodyFraming {
  const { "transfer-encoding": coding, "content-length": length } = headers;
  if (bodilessStatuses.has(status)) {
    return { kind: "none", bytes: 0, excess: `status ${status}: a body (RFC 9110 §15)` };
  }
  if (coding === undefined) {
    return length === undefined ? { kind: "close", bytes: 0, excess: "" } : counted(length);
  }
  const fault = isHttp10
    ? "transfer-encoding: not allowed in HTTP/1.0 (RFC 9112 §6.1)"
    : "content-length: not allowed beside transfer-encoding (RFC 9112 §6.2)";
  const kind = /(?:^|[\s,])chunked$/iu.test(coding) ? "chunked" : "close";
  const excess = "transfer-encoding: bytes behind the last chunk (RFC 9112 §7.1)";
  return { kind, bytes: 0, excess, ...((isHttp10 || length !== undefined) && { fault }) };
}

/** Repeated equal lengths are one. */
function counted(text: string): BodyFraming {
  const [length = "", ...others] = new Set(text.split(",").map((one) => one.trim()));
  const excess = "content-length: less than the body has (RFC 9112 §6.3)";
  if (others.length > 0 || !lengthForm.test(length)) {
    const fault = `content-length: ${others.length > 0 ? "different values" : "not a number"} (RFC 9112 §6.3)`;
    return { kind: "unknown", bytes: 0, fault, excess };
  }
  const bytes = Number(length);
  return { kind: bytes === 0 ? "none" : "length", bytes, excess };
}

/**
 * Time for which the server keeps the connection, in milliseconds; 0 if it names none, and undefined if it closes the
 * connection. Source: RFC 9112 §9.3; `timeout` of the header `Keep-Alive`.
 */
export function keepAliveMsOf({ headers, isHttp10 }: ParsedHead): number | undefined {
  const options = (headers["connection"] ?? "")
    .toLowerCase()
    .split(",")
    .map((option) => option.trim());
  const isKept = !options.includes("close") && (!isHttp10 || options.includes("keep-alive"));
  if (!isKept) return undefined;
  const seconds = timeoutForm.exec(headers["keep-alive"] ?? "")?.groups?.["seconds"];
  if (seconds === undefined) return 0;
  return seconds === "0" ? undefined : Number(seconds) * secondMs;
}
