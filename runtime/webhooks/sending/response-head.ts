/** Head of a response. */
export interface ResponseHead {
  readonly status: number;
  /** Names are lowercase. Repeated headers are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A head with what does not follow RFC 9112. */
export interface ParsedHead extends ResponseHead {
  readonly isHttp10: boolean;
  /** One text per fault, with the name of its header. */
  readonly warnings: readonly string[];
}

/** Faults of one response that are kept. */
export const warningsMax = 8;
const statusLineForm = /^HTTP\/1\.(?<minor>\d) +(?<status>[1-9]\d\d)(?: .*)?$/u;
const nameForm = /^[\w!#$%&'*+.^`|~-]+$/u;
// oxlint-disable-next-line no-control-regex -- no value contains one. Source: RFC 9110 §5.5.
const controlForm = /[\0-\x08\x0a-\x1f\x7f]/u;
const nameCharactersShown = 64;

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

/** Parses a status line without its end; undefined for other text. The reason may be missing. */
export function parseStatusLine(line: string): { readonly status: number; readonly isHttp10: boolean } | undefined {
  const { minor, status } = statusLineForm.exec(line)?.groups ?? {};
  return status === undefined ? undefined : { status: Number(status), isHttp10: minor === "0" };
}

/**
 * Parses header lines. A folded line continues the value before it. Any other line that RFC 9112 does not allow is left
 * out, with a warning that names its header.
 */
export function parseHeaders(lines: readonly string[]): Pick<ParsedHead, "headers" | "warnings"> {
  const headers = new Map<string, string>();
  const warnings = new Set<string>();
  let last = "";
  for (const text of lines) {
    const line = parseLine(text, last);
    if (line.fault !== undefined && warnings.size < warningsMax) warnings.add(`${shownName(line.name)}: ${line.fault}`);
    last = line.name;
    if (line.fault === undefined || keptFaults.has(line.fault)) add(headers, line);
  }
  return { headers: Object.fromEntries(headers), warnings: [...warnings] };
}

interface Line {
  /** As it was sent, without whitespace behind it. */
  readonly name: string;
  readonly value: string;
  /** Whether it continues the line before it. */
  readonly isFolded: boolean;
  readonly fault?: string;
}

const folded = "folded over several lines (RFC 9112 §5.2)";
const spaced = "whitespace before the colon (RFC 9112 §5.1)";
/** Faults of lines whose value is certain. */
const keptFaults: ReadonlySet<string> = new Set([folded, spaced]);

/** @param last name of the line before, which a folded line continues */
function parseLine(text: string, last: string): Line {
  const fault = controlForm.test(text) ? { fault: "control characters (RFC 9110 §5.5)" } : {};
  if (text.startsWith(" ") || text.startsWith("\t")) {
    const kind = last === "" ? "whitespace before the first header (RFC 9112 §2.2)" : folded;
    return { name: last, value: text.trim(), isFolded: true, fault: kind, ...fault };
  }
  const colon = text.indexOf(":");
  if (colon === -1)
    return { name: text, value: "", isFolded: false, fault: "no colon in the line (RFC 9112 §5)", ...fault };
  const name = text.slice(0, colon).trimEnd();
  const value = text.slice(colon + 1).trim();
  return { name, value, isFolded: false, ...nameFault(name, colon), ...fault };
}

function nameFault(name: string, colon: number): Pick<Line, "fault"> {
  if (!nameForm.test(name)) return { fault: "not a valid header name (RFC 9110 §5.1)" };
  return name.length === colon ? {} : { fault: spaced };
}

function add(headers: Map<string, string>, { name, value, isFolded }: Line): void {
  const key = name.toLowerCase();
  const before = headers.get(key);
  headers.set(key, before === undefined ? value : `${before}${isFolded ? " " : ", "}${value}`);
}

/** A name for people: without characters that a terminal or a log would interpret. */
function shownName(name: string): string {
  const plain = name
    .toLowerCase()
    .replaceAll(/[^\x21-\x7e]+/gu, " ")
    .trim()
    .slice(0, nameCharactersShown);
  return plain === "" ? "header" : plain;
}

/** Source: RFC 9112 §6.3. */
export function bodyFraming({ status, headers, isHttp10 }: ParsedHead): BodyFraming {
  const { "transfer-encoding": coding, "content-length": length } = headers;
  if (bodilessStatuses.has(status))
    return { kind: "none", bytes: 0, excess: `status ${status}: a body (RFC 9110 §15)` };
  if (coding === undefined) return length === undefined ? { kind: "close", bytes: 0, excess: "" } : counted(length);
  const fault = isHttp10
    ? "transfer-encoding: not allowed in HTTP/1.0 (RFC 9112 §6.1)"
    : "content-length: not allowed with transfer-encoding (RFC 9112 §6.2)";
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
