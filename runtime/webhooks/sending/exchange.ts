import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import { certificateAlert, ConnectFault, type ConnectionTrace } from "./guarded-connect.ts";
import type { AttemptTimings, FailureReason, Outcome } from "../settlement/outcome.ts";
import { codeOf } from "./dns.ts";

/** Bytes of a response body that are read and stored. */
export const responseBodyBytesMax = 16_384;
const headersMax = 48;
const headerCharactersMax = 1_024;
/** Stored before all other headers of the response. */
const wantedHeaders = [
  "retry-after",
  "date",
  "content-type",
  "x-trace-id",
  "webhook-allowed-origin",
  "webhook-allowed-rate",
];

interface ResponseHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * One request and its response, as the HTTP client reports them. It settles exactly once. It settles with a response
 * when the head is known and the body ended, became too long or was cut; otherwise with a failure. A known status
 * always counts, since a partner that answered 2xx has the event.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Filled by the connector when the request needs a new connection. */
  readonly connection: ConnectionTrace = { isConnecting: false };
  readonly #startedAtMs = performance.now();
  readonly #settle: (outcome: Outcome) => void;
  readonly #bodyBytesMax: number;
  readonly #chunks: Buffer[] = [];
  #isSettled = false;
  #isWhole = false;
  #bodyBytes = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #head: ResponseHead | undefined;
  #sentAtMs: number | undefined;
  #headAtMs: number | undefined;

  constructor(settle: (outcome: Outcome) => void, bodyBytesMax = responseBodyBytesMax) {
    this.#settle = settle;
    this.#bodyBytesMax = bodyBytesMax;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isSettled) {
      controller.abort(new Error("the attempt is over"));
    }
  }

  onRequestSent(): void {
    this.#sentAtMs = performance.now();
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    const isInformational = status < 200;
    if (!isInformational) {
      this.#head = { status, headers: keptHeaders(headers) };
      this.#headAtMs = performance.now();
    }
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    const room = this.#bodyBytesMax - this.#bodyBytes;
    this.#chunks.push(chunk.subarray(0, room));
    this.#bodyBytes += chunk.length;
    if (chunk.length > room) {
      this.#finish("response_invalid", "a body without a head");
    }
  }

  onResponseEnd(): void {
    this.#isWhole = true;
    this.#finish("response_invalid", "an end without a head");
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    const code = codeOf(error) ?? "";
    // The message of a TLS error is OpenSSL's and names places in its sources.
    this.#finish(failureOf(error), code.startsWith("ERR_SSL_") ? code : error.message);
  }

  /** Ends the attempt at its time limit. */
  expire(): void {
    this.#finish(this.#latePhase(), "the time of the attempt is over");
  }

  /** Ends the attempt because the caller aborted it. */
  abandon(): void {
    this.#finish("aborted", "given up by the sender");
  }

  #latePhase(): FailureReason {
    if (this.#sentAtMs !== undefined) {
      return "first_byte_timeout";
    }
    return this.connection.isConnecting ? "connect_timeout" : "timeout";
  }

  /** Settles with the response or else the failure; closes the connection unless the whole body was read. */
  #finish(reason: FailureReason, detail: string): void {
    if (this.#isSettled) {
      return;
    }
    this.#isSettled = true;
    if (!this.#isWhole) {
      this.#controller?.abort(new Error("the attempt is over"));
    }
    const timings = this.#timings();
    const head = this.#head;
    this.#settle(head === undefined ? { kind: "failure", reason, detail, timings } : this.#response(head, timings));
  }

  #response(head: ResponseHead, timings: AttemptTimings): Outcome {
    const isPlain = (head.headers["content-encoding"] ?? "identity") === "identity";
    const isLeftOut = !isPlain && this.#bodyBytes > 0;
    return {
      kind: "response",
      ...head,
      body: isPlain ? this.#bodyText() : "",
      bodyTruncated: !this.#isWhole || isLeftOut,
      timings,
    };
  }

  #bodyText(): string {
    if (this.#bodyBytes === 0) {
      return "";
    }
    // In stream mode the decoder leaves out a character that was cut in the middle.
    return new TextDecoder().decode(Buffer.concat(this.#chunks), { stream: true });
  }

  #timings(): AttemptTimings {
    const { dnsMs, connectMs, tlsMs } = this.connection;
    const firstByteMs =
      this.#headAtMs === undefined || this.#sentAtMs === undefined ? undefined : this.#headAtMs - this.#sentAtMs;
    return {
      ...(dnsMs === undefined ? {} : { dnsMs }),
      ...(connectMs === undefined ? {} : { connectMs }),
      ...(tlsMs === undefined ? {} : { tlsMs }),
      ...(firstByteMs === undefined ? {} : { firstByteMs }),
      totalMs: performance.now() - this.#startedAtMs,
    };
  }
}

function keptHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const names = Object.keys(headers).filter((name) => name !== "set-cookie");
  const wanted = wantedHeaders.filter((name) => names.includes(name));
  const others = names.filter((name) => !wantedHeaders.includes(name));
  const selected = [...wanted, ...others].slice(0, headersMax);
  return Object.fromEntries(selected.map((name) => [name, headerText(headers[name])]));
}

function headerText(value: string | readonly string[] | undefined): string {
  const text = typeof value === "string" ? value : (value ?? []).join(", ");
  return text.slice(0, headerCharactersMax);
}

/** Reasons by the code and message of an error of the HTTP client; the first matching row applies. */
const failureRows: readonly (readonly [code: RegExp, message: RegExp, reason: FailureReason])[] = [
  [/^(?:HPE_.*|HTTPParserError)$/u, /./u, "response_invalid"],
  [/^UND_ERR_HEADERS_OVERFLOW$/u, /./u, "response_invalid"],
  [/^UND_ERR_RES_CONTENT_LENGTH_MISMATCH$/u, /./u, "response_invalid"],
  // The client reports an unrequested response, or one that switches protocols, as a socket error.
  [/^UND_ERR_SOCKET$/u, /^bad (?:response|upgrade)$/u, "response_invalid"],
  [certificateAlert, /./u, "client_certificate"],
  [/^ERR_(?:SSL|TLS)_/u, /./u, "tls"],
  [/^UND_ERR_(?:DESTROYED|CLOSED|ABORTED)$/u, /./u, "aborted"],
  [/^UND_ERR_SOCKET$/u, /./u, "reset"],
  [/^E(?!RR_)/u, /./u, "reset"],
];

function failureOf(error: Error): FailureReason {
  if (error instanceof ConnectFault) {
    return error.reason;
  }
  const code = codeOf(error) ?? error.name;
  const row = failureRows.find(([codeForm, messageForm]) => codeForm.test(code) && messageForm.test(error.message));
  return row?.[2] ?? "internal";
}
