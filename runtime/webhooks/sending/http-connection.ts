import type { Socket } from "node:net";
import type { RequestMessage } from "./request-bytes.ts";
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
