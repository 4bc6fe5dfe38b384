/** The head of a response: what a load reads of it. */
export interface Head {
  readonly status: number;
  /** Of the whole message so far as the head says it; undefined when the body comes in chunks. */
  readonly bodyBytes: number | undefined;
  readonly text: string;
}

const headEnd = Buffer.from("\r\n\r\n");
const headBytesMax = 32_768;

/**
 * Counts the responses of one connection without keeping their bodies: by content-length, or chunk by chunk. A client
 * that reads whole responses would be slower than the servers that it measures.
 */
export class HttpReader {
  readonly #onEnd: (head: Head) => void;
  #head: Head | undefined;
  /** Bytes of a head or of the line of a chunk that are not all there. */
  #begun = Buffer.alloc(0);
  /** Bytes to pass over. */
  #left = 0;
  #isLastChunk = false;

  constructor(onEnd: (head: Head) => void) {
    this.#onEnd = onEnd;
  }

  /** Takes bytes, which it does not keep after it returns. @throws Error for what is no HTTP/1.1 */
  push(bytes: Buffer): void {
    for (let rest = bytes; ; rest = this.#head === undefined ? this.#readHead(rest) : this.#readChunkLine(rest)) {
      const passed = Math.min(this.#left, rest.length);
      this.#left -= passed;
      rest = rest.subarray(passed);
      if (this.#left > 0) return;
      this.#endIfComplete();
      if (rest.length === 0) return;
    }
  }

  #readHead(bytes: Buffer): Buffer {
    const [whole, at] = this.#until(bytes, headEnd);
    if (at < 0) return Buffer.alloc(0);
    const head = parseHead(whole.toString("latin1", 0, at));
    this.#head = head;
    this.#left = head.bodyBytes ?? 0;
    return whole.subarray(at + headEnd.length);
  }

  #readChunkLine(bytes: Buffer): Buffer {
    const [whole, at] = this.#until(bytes, headEnd.subarray(0, 2));
    if (at < 0) return Buffer.alloc(0);
    const size = Number.parseInt(whole.toString("latin1", 0, at), 16);
    this.#left = size + 2;
    this.#isLastChunk = size === 0;
    return whole.subarray(at + 2);
  }

  /** What has begun before and these bytes, and where the mark stands in them; keeps them when it does not. */
  #until(bytes: Buffer, mark: Buffer): readonly [Buffer, number] {
    const whole = this.#begun.length === 0 ? bytes : Buffer.concat([this.#begun, bytes]);
    const at = whole.indexOf(mark);
    if (at < 0 && whole.length > headBytesMax) throw new Error("the head of a response is too long");
    this.#begun = at < 0 ? Buffer.from(whole) : Buffer.alloc(0);
    return [whole, at];
  }

  #endIfComplete(): void {
    const head = this.#head;
    if (head === undefined || (head.bodyBytes === undefined && !this.#isLastChunk)) return;
    this.#head = undefined;
    this.#isLastChunk = false;
    this.#onEnd(head);
  }
}

function parseHead(text: string): Head {
  const status = Number(text.slice(9, 12));
  if (!text.startsWith("HTTP/1.1 ") || Number.isNaN(status)) throw new Error(`no response: ${text.slice(0, 80)}`);
  const hasNone = status === 304 || status === 204;
  const length = hasNone ? "0" : /\r\ncontent-length: *(?<bytes>\d+)/iu.exec(text)?.groups?.["bytes"];
  return { status, bodyBytes: length === undefined ? undefined : Number(length), text };
}
