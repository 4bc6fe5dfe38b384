import type { Socket } from "node:net";
import { ResponseFault, ResponseReader, type ResponseEvents } from "./response-reader.ts";

/** The user of one request on a connection. */
export interface ResponseHandler extends ResponseEvents {
  /** The last byte of the request was handed to the operating system. */
  onSent(): void;
  /** @param isWhole false if the rest of the body is not read */
  onEnd(isWhole: boolean): void;
  /**
   * The connection ended before the response did.
   *
   * @param isStale true if the connection had served a request before, and ended without a byte of this response
   */
  onFailure(error: Error, isStale: boolean): void;
}

/** Keeps a connection between requests. */
interface ConnectionOwner {
  /**
   * The connection can carry the next request.
   *
   * @param keepAliveMs time for which the server keeps it; 0 if the server names none
   */
  onIdle(keepAliveMs: number): void;
  onClosed(): void;
}

/** The parts of a request. */
export interface RequestParts {
  readonly method: "POST" | "OPTIONS";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Ignored for OPTIONS. */
  readonly body: Uint8Array;
}

/** A request as it is sent. */
export interface RequestMessage {
  readonly origin: string;
  /** Request line and headers, in latin1. */
  readonly head: string;
  readonly body: Uint8Array;
}

const noBody = new Uint8Array();

const nameForm = /^[\w!#$%&'*+.^`|~-]+$/u;
/** Source: RFC 9110 §5.5. */
const valueForm = /^[\t\x20-\x7e\x80-\xff]*$/u;
/** Headers that this side sets itself. */
const ownHeaders: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
]);

/** The server closed the connection. */
export class ConnectionClosed extends Error {
  override readonly name = "ConnectionClosed";
  readonly code = "ECONNRESET";
}

const joinedBytesMax = 65_536;

/** One connection, which carries one request at a time. */
export class HttpConnection {
  readonly openedAtMs = performance.now();
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  #handler: ResponseHandler | undefined;
  #reader: ResponseReader | undefined;
  #responses = 0;
  #hasBytes = false;
  #isSent = false;

  constructor(socket: Socket, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#owner = owner;
    socket
      .on("data", (chunk: Buffer) => this.#read(chunk))
      .on("end", () => this.#close())
      .on("error", (error) => this.#fail(error))
      .on("close", () => {
        this.#fail(new ConnectionClosed("the connection was closed"));
        owner.onClosed();
      });
  }

  get isUsable(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  send({ head, body }: RequestMessage, handler: ResponseHandler): void {
    this.#handler = handler;
    this.#reader = new ResponseReader(handler);
    this.#hasBytes = false;
    this.#isSent = false;
    const onWritten = (error?: Error | null): void => {
      if (error instanceof Error || this.#handler !== handler) return;
      this.#isSent = true;
      handler.onSent();
    };
    if (body.length > joinedBytesMax) {
      this.#socket.cork();
      this.#socket.write(head, "latin1");
      this.#socket.write(body, onWritten);
      this.#socket.uncork();
      return;
    }
    // One write of joined bytes takes less time than one of two parts.
    const bytes = Buffer.allocUnsafe(head.length + body.length);
    bytes.write(head, "latin1");
    bytes.set(body, head.length);
    this.#socket.write(bytes, onWritten);
  }

  /** No more of the response is awaited: its status counts if it was read. The connection must then be closed. */
  cutHead(why: string): void {
    if (this.#handler !== undefined) this.#reader?.cutHead(why);
  }

  /** Ends the connection. A request under way gets no more calls. */
  destroy(): void {
    this.#handler = undefined;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    const handler = this.#handler;
    const reader = this.#reader;
    if (handler === undefined || reader === undefined) {
      // Bytes without a request belong to no response.
      this.destroy();
      return;
    }
    this.#hasBytes = true;
    try {
      reader.read(chunk);
    } catch (error) {
      this.#fail(error as Error);
      return;
    }
    if (reader.isEnded) this.#finish(handler, reader);
  }

  #close(): void {
    const handler = this.#handler;
    const reader = this.#reader;
    reader?.close();
    if (handler !== undefined && reader?.isEnded === true) this.#finish(handler, reader);
    else this.#fail(new ConnectionClosed("other side closed"));
  }

  #finish(handler: ResponseHandler, { isWhole, keepAliveMs }: ResponseReader): void {
    // The handler may have ended the connection in the middle of the bytes.
    if (this.#handler !== handler) return;
    this.#handler = undefined;
    this.#responses += 1;
    // A response before the end of the request leaves the rest of the request on the connection.
    if (keepAliveMs === undefined || !this.#isSent) this.#socket.destroy();
    else this.#owner.onIdle(keepAliveMs);
    handler.onEnd(isWhole);
  }

  #fail(error: Error): void {
    const handler = this.#handler;
    this.destroy();
    if (handler !== undefined && !(error instanceof ResponseFault)) this.#reader?.cutHead();
    handler?.onFailure(error, this.#responses > 0 && !this.#hasBytes);
  }
}

/** @throws Error for a header that HTTP does not allow, or that this side sets */
export function requestMessage({ method, url, headers, body }: RequestParts): RequestMessage {
  let lines = "";
  let host = url.host;
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (!nameForm.test(name) || !valueForm.test(value) || ownHeaders.has(name.toLowerCase()))
      throw new Error(`the header ${JSON.stringify(name)} cannot be sent`);
    if (name.toLowerCase() === "host") host = value;
    else lines += `${name}: ${value}\r\n`;
  }
  const content = method === "OPTIONS" ? noBody : body;
  const length = method === "OPTIONS" ? "" : `content-length: ${content.length}\r\n`;
  const target = `${url.pathname}${url.search}`;
  const head = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${lines}${length}\r\n`;
  return { origin: url.origin, head, body: content };
}
