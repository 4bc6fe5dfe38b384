import {
  bodyFraming,
  keepAliveMsOf,
  type BodyFraming,
  parseHeaders,
  parseStatusLine,
  type ParsedHead,
  type ResponseHead,
} from "./response-head.ts";

/** The parts of a response, in the order in which they arrive. */
export interface ResponseEvents {
  onHead(head: ResponseHead): void;
  onData(chunk: Buffer): void;
  /** A fault, with the name of its header. The status counts nevertheless. */
  onWarning(text: string): void;
}

/** The bytes are not a response of HTTP/1. */
export class ResponseFault extends Error {
  override readonly name = "ResponseFault";
}

/** Bytes of one head, and of the trailer. */
const headBytesMax = 16_384;
/** Bytes of all interim responses to one request. */
const interimBytesMax = 65_536;
const chunkLineBytesMax = 4_096;
const noBytes = Buffer.alloc(0);
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const protocol = Buffer.from("HTTP/1.");
const chunkLineForm = /^(?<size>[\dA-Fa-f]{1,12})[ \t]*(?:;.*)?$/u;

/** Returns the number of bytes that were read, or undefined when it needs more. */
type Step = (bytes: Buffer) => number | undefined;

/**
 * Reads one response from the bytes of a connection. The status decides over a delivery, so no fault behind a complete
 * head hides it: each is a warning, and the connection must then be closed. Interim responses are skipped. Source: RFC
 * 9112; RFC 9110 §15.2.
 */
export class ResponseReader {
  readonly #events: ResponseEvents;
  #step: Step | undefined = (bytes) => this.#readHead(bytes);
  #pending: Buffer = noBytes;
  #interimBytes = 0;
  #bodyBytesLeft = 0;
  #endsWithConnection = false;
  /** Warning about bytes behind the response. */
  #excess = "";
  #isWhole = false;
  #isFaulty = false;
  #hasHead = false;
  #keepAliveMs: number | undefined;

  constructor(events: ResponseEvents) {
    this.#events = events;
  }

  /** True when no more bytes belong to the response. */
  get isEnded(): boolean {
    return this.#step === undefined;
  }

  /** False while the response has not ended, and when the rest of its body cannot be read. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /**
   * Time for which the server keeps the connection after the response: 0 if it names none, undefined if the connection
   * must be closed.
   */
  get keepAliveMs(): number | undefined {
    return this.#isWhole ? this.#keepAliveMs : undefined;
  }

  /** @throws ResponseFault when the bytes have no final status */
  read(chunk: Buffer): void {
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    this.#pending = noBytes;
    let at = 0;
    while (this.#step !== undefined) {
      const rest = at === 0 ? bytes : bytes.subarray(at);
      const used = this.#step(rest);
      if (used === undefined) {
        this.#pending = rest;
        return;
      }
      at += used;
    }
    if (at < bytes.length && this.#isWhole) this.#warn(this.#excess);
  }

  /** The server has closed the connection, which ends some responses. */
  close(): void {
    if (this.#endsWithConnection) this.#end(true);
  }

  /**
   * No more of the head is read: a final status counts with the lines that are complete.
   *
   * @param why completes the warning
   */
  cutHead(why = "the connection ended within the head (RFC 9112 §8)"): void {
    const bytes = this.#pending;
    const start = blankBytes(bytes);
    const lineEnd = bytes.indexOf(lineFeed, start);
    if (this.#hasHead || lineEnd === -1 || !isProtocol(bytes, start)) return;
    const status = statusAt(bytes, start, lineEnd);
    if (status === undefined || status.status < 200) return;
    const text = bytes.toString("latin1", lineEnd + 1, bytes.lastIndexOf(lineFeed) + 1);
    this.#begin({ ...status, ...parseHeaders(linesOf(text)) }, `${lastName(text)}: ${why}`);
  }

  #readHead(bytes: Buffer): number | undefined {
    const start = blankBytes(bytes);
    if (this.#interimBytes > 0 && !isProtocol(bytes, start)) return this.#skipBody(bytes);
    const lineEnd = bytes.indexOf(lineFeed, start);
    const status = statusAt(bytes, start, lineEnd);
    if (status === undefined) return undefined;
    const complete = headEnd(bytes, lineEnd);
    const end = complete ?? bytes.length;
    const isTooLarge = end - start > headBytesMax;
    if (complete === undefined && !isTooLarge) return undefined;
    const text = bytes.toString("latin1", lineEnd + 1, isTooLarge ? start + headBytesMax : end);
    const head = { ...status, ...parseHeaders(linesOf(text)) };
    if (head.status < 200) this.#skip(head.status, end);
    else this.#begin(head, isTooLarge ? `${lastName(text)}: the head has more than ${headBytesMax} bytes` : undefined);
    return end;
  }

  /** An interim response has no body, but some servers send one. */
  #skipBody(bytes: Buffer): number | undefined {
    const next = bytes.indexOf(protocol);
    if (next === -1 && bytes.length <= headBytesMax) return undefined;
    if (next === -1) throw new ResponseFault("no response follows the interim one");
    this.#interimBytes += next;
    this.#warn("interim response: a body (RFC 9110 §15.2)");
    return next;
  }

  #skip(status: number, bytes: number): void {
    this.#interimBytes += bytes;
    if (status === 101) throw new ResponseFault("the server switched protocols");
    if (this.#interimBytes > interimBytesMax) throw new ResponseFault("too many interim responses");
  }

  /** @param cut warning about a head that is cut */
  #begin(head: ParsedHead, cut: string | undefined): void {
    this.#hasHead = true;
    const { status, headers, warnings } = head;
    this.#keepAliveMs = this.#isFaulty ? undefined : keepAliveMsOf(head);
    this.#events.onHead({ status, headers });
    for (const warning of warnings) this.#warn(warning);
    if (cut !== undefined) {
      this.#warn(cut);
      this.#end(false);
      return;
    }
    this.#readBody(bodyFraming(head));
  }

  #readBody({ kind, bytes, fault, excess }: BodyFraming): void {
    this.#excess = excess;
    if (fault !== undefined) this.#warn(fault);
    switch (kind) {
      case "none":
        this.#end(true);
        return;
      case "unknown":
        this.#end(false);
        return;
      case "length":
        this.#bodyBytesLeft = bytes;
        this.#step = (rest) => this.#readCounted(rest, () => this.#end(true));
        return;
      case "chunked":
        this.#step = (rest) => this.#readChunkLine(rest);
        return;
      case "close":
        this.#keepAliveMs = undefined;
        this.#endsWithConnection = true;
        this.#step = (rest) => this.#readUntilClose(rest);
    }
  }

  #readCounted(bytes: Buffer, onEnd: () => void): number | undefined {
    if (bytes.length === 0) return undefined;
    const chunk = bytes.subarray(0, this.#bodyBytesLeft);
    this.#bodyBytesLeft -= chunk.length;
    this.#events.onData(chunk);
    if (this.#bodyBytesLeft === 0) onEnd();
    return chunk.length;
  }

  #readUntilClose(bytes: Buffer): number | undefined {
    if (bytes.length === 0) return undefined;
    this.#events.onData(bytes);
    return bytes.length;
  }

  #readChunkLine(bytes: Buffer): number | undefined {
    const line = this.#lineOf(bytes);
    if (line === undefined) return undefined;
    const { size } = chunkLineForm.exec(line.text)?.groups ?? {};
    if (size === undefined) {
      this.#warn("transfer-encoding: not the size of a chunk (RFC 9112 §7.1)");
      this.#end(false);
      return line.bytes;
    }
    this.#bodyBytesLeft = Number.parseInt(size, 16);
    this.#step =
      this.#bodyBytesLeft === 0
        ? (rest) => this.#readTrailer(rest)
        : (rest) =>
            this.#readCounted(rest, () => {
              this.#step = (after) => this.#readChunkEnd(after);
            });
    return line.bytes;
  }

  #readChunkEnd(bytes: Buffer): number | undefined {
    const line = this.#lineOf(bytes);
    if (line === undefined) return undefined;
    if (line.text === "") this.#step = (rest) => this.#readChunkLine(rest);
    else {
      this.#warn("transfer-encoding: a chunk is longer than its size (RFC 9112 §7.1)");
      this.#end(false);
    }
    return line.bytes;
  }

  /** The body has ended: no fault of a trailer takes anything away from it. */
  #readTrailer(bytes: Buffer): number | undefined {
    const end =
      bytes[0] === lineFeed ? 1 : bytes[0] === carriageReturn && bytes[1] === lineFeed ? 2 : headEnd(bytes, 0);
    if (end === undefined && bytes.length <= headBytesMax) return undefined;
    const { warnings } = parseHeaders(linesOf(bytes.toString("latin1", 0, end)));
    for (const warning of warnings) this.#warn(`trailer ${warning}`);
    if (end === undefined) this.#warn(`trailer: more than ${headBytesMax} bytes`);
    this.#end(true);
    return end ?? bytes.length;
  }

  /** A line of the chunked coding. A line beyond the limit is cut, so that it is none. */
  #lineOf(bytes: Buffer): { readonly text: string; readonly bytes: number } | undefined {
    const end = bytes.indexOf(lineFeed);
    if (end === -1 && bytes.length <= chunkLineBytesMax) return undefined;
    if (end === -1 || end > chunkLineBytesMax) return { text: "too long a line", bytes: bytes.length };
    return { text: bytes.toString("latin1", 0, bytes[end - 1] === carriageReturn ? end - 1 : end), bytes: end + 1 };
  }

  #warn(text: string): void {
    this.#isFaulty = true;
    this.#keepAliveMs = undefined;
    this.#events.onWarning(text);
  }

  #end(isWhole: boolean): void {
    this.#step = undefined;
    this.#endsWithConnection = false;
    this.#isWhole = isWhole;
  }
}

/** Empty lines before a status line, which old servers send after a body. @throws ResponseFault for too many */
function blankBytes(bytes: Buffer): number {
  let count = 0;
  while (bytes[count] === carriageReturn || bytes[count] === lineFeed) count += 1;
  if (count > headBytesMax) throw new ResponseFault("too many empty lines before the status line");
  return count;
}

/** The status of the line, or undefined for a line that is not complete. @throws ResponseFault for any other line */
function statusAt(bytes: Buffer, start: number, end: number): ReturnType<typeof parseStatusLine> {
  const isBegun = isProtocol(bytes, start);
  if (isBegun && end === -1) {
    if (bytes.length - start > headBytesMax) throw new ResponseFault("the status line is too long");
    return undefined;
  }
  const line = bytes.toString("latin1", start, bytes[end - 1] === carriageReturn ? end - 1 : end);
  const status = isBegun ? parseStatusLine(line) : undefined;
  if (status === undefined) throw new ResponseFault("not a response of HTTP/1");
  return status;
}

/** True if the bytes may begin a status line. */
function isProtocol(bytes: Buffer, start: number): boolean {
  const known = Math.min(protocol.length, bytes.length - start);
  return bytes.compare(protocol, 0, known, start, start + known) === 0;
}

/** Index behind the empty line that ends a head. The line at `from` ends there. */
function headEnd(bytes: Buffer, from: number): number | undefined {
  for (let at = bytes.indexOf(lineFeed, from); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) {
    if (bytes[at + 1] === lineFeed) return at + 2;
    if (bytes[at + 1] === carriageReturn && bytes[at + 2] === lineFeed) return at + 3;
  }
  return undefined;
}

/** Lines without their ends and without the empty line. */
function linesOf(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const plain = line.endsWith("\r") ? line.slice(0, -1) : line;
    return plain === "" ? [] : [plain];
  });
}

function lastName(text: string): string {
  const line = linesOf(text).findLast((one) => !/^[ \t]/u.test(one)) ?? "";
  return /^[\w-]{1,64}/u.exec(line)?.[0].toLowerCase() ?? "header";
}
