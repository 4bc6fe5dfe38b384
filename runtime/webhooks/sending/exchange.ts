import type { Socket } from "node:net";
import { certificateAlert, ConnectFault, type ConnectionTrace } from "./guarded-connect.ts";
import type { AttemptTimings, FailureReason, AttemptOutcome } from "../settlement/outcome.ts";
import type { ConnectionUser } from "./connections.ts";
import { codeOf } from "./dns.ts";
import type { HttpConnection } from "./http-connection.ts";
import { warningsMax, type ResponseHead } from "./response-head.ts";
import { ResponseFault } from "./response-reader.ts";

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

/** Codings after which the bytes of a body are its content. Source: RFC 9110 §8.4.1, RFC 9112 §7. */
const plainCodings: ReadonlySet<string> = new Set(["", "identity", "chunked"]);
const resentWarning = "sent again on a new connection: the server had closed the kept one";

interface ExchangeOptions {
  /** Opens a new connection and fills its trace. */
  readonly connect: (trace: ConnectionTrace) => Promise<Socket>;
  /** As in `SendRequest`. @default always */
  readonly maySend?: (() => boolean) | undefined;
  readonly onSettled: (outcome: AttemptOutcome) => void;
  readonly bodyBytesMax: number;
}

/**
 * One request and its response. It settles exactly once. It settles with a response when the status is known and the
 * body ended, became too long or was cut; otherwise with a failure. A known status always counts, since a partner that
 * answered 2xx has the event.
 */
export class Exchange implements ConnectionUser {
  readonly #connectionTrace: ConnectionTrace = { isConnecting: false };
  readonly #startedAtMs = performance.now();
  readonly #options: ExchangeOptions;
  readonly #chunks: Buffer[] = [];
  readonly #warnings: string[] = [];
  #isSettled = false;
  #isWhole = false;
  #bodyBytes = 0;
  #connection: HttpConnection | undefined;
  #resend: (() => void) | undefined;
  #head: ResponseHead | undefined;
  #sentAtMs: number | undefined;
  #headAtMs: number | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** The first bytes of the body as they came. */
  get bodyBytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** All headers of the response. */
  get headers(): Readonly<Record<string, string>> {
    return this.#head?.headers ?? {};
  }

  maySend(): boolean {
    return this.#options.maySend?.() ?? true;
  }

  connect(): Promise<Socket> {
    return this.#options.connect(this.#connectionTrace);
  }

  onConnection(connection: HttpConnection, resend: (() => void) | undefined): void {
    this.#connection = connection;
    this.#resend = resend;
  }

  onSent(): void {
    this.#sentAtMs = performance.now();
  }

  onHead(head: ResponseHead): void {
    this.#head = head;
    this.#headAtMs = performance.now();
  }

  onWarning(text: string): void {
    if (this.#warnings.length < warningsMax) this.#warnings.push(text);
  }

  onData(chunk: Buffer): void {
    const room = this.#options.bodyBytesMax - this.#bodyBytes;
    this.#chunks.push(chunk.subarray(0, room));
    this.#bodyBytes += chunk.length;
    if (chunk.length > room) this.#finish("response_invalid", "a body without a head");
  }

  onEnd(isWhole: boolean): void {
    this.#isWhole = isWhole;
    this.#finish("response_invalid", "an end without a head");
  }

  onFailure(error: Error, isStale: boolean): void {
    if (isStale && this.#resend !== undefined && !this.#isSettled) {
      this.onWarning(resentWarning);
      this.#sentAtMs = undefined;
      this.#connection = undefined;
      this.#resend();
      return;
    }
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
    if (this.#sentAtMs !== undefined) return "first_byte_timeout";
    return this.#connectionTrace.isConnecting ? "connect_timeout" : "timeout";
  }

  /**
   * Settles with the response or else the failure; closes the connection unless the whole body was read. A status that
   * was read counts, also if its head has not ended.
   */
  #finish(reason: FailureReason, detail: string): void {
    if (this.#isSettled) return;
    if (this.#head === undefined) this.#connection?.cutHead("the head did not end within the attempt");
    this.#isSettled = true;
    if (!this.#isWhole) this.#connection?.destroy();
    const timings = this.#timings();
    const head = this.#head;
    const warnings = this.#warnings.length === 0 ? {} : { warnings: this.#warnings };
    const outcome: AttemptOutcome =
      head === undefined ? { kind: "failure", reason, detail, timings } : this.#response(head, timings);
    this.#options.onSettled({ ...outcome, ...warnings });
  }

  #response({ status, headers }: ResponseHead, timings: AttemptTimings): AttemptOutcome {
    const isPlain = !isEncoded(headers);
    const isLeftOut = !isPlain && this.#bodyBytes > 0;
    return {
      kind: "response",
      status,
      headers: keptHeaders(headers),
      body: isPlain ? this.#bodyText() : "",
      bodyTruncated: !this.#isWhole || isLeftOut,
      timings,
    };
  }

  #bodyText(): string {
    if (this.#bodyBytes === 0) return "";
    // In stream mode the decoder leaves out a character that was cut in the middle.
    return new TextDecoder().decode(Buffer.concat(this.#chunks), { stream: true });
  }

  #timings(): AttemptTimings {
    const { dnsMs, connectMs, tlsMs } = this.#connectionTrace;
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

/** True for a body that is compressed, as content or for the transfer. */
function isEncoded(headers: Readonly<Record<string, string>>): boolean {
  const { "content-encoding": content = "", "transfer-encoding": transfer = "" } = headers;
  return `${content},${transfer}`.split(",").some((name) => !plainCodings.has(name.trim().toLowerCase()));
}

function keptHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const names = Object.keys(headers).filter((name) => name !== "set-cookie");
  const wanted = wantedHeaders.filter((name) => names.includes(name));
  const others = names.filter((name) => !wantedHeaders.includes(name));
  const selected = [...wanted, ...others].slice(0, headersMax);
  return Object.fromEntries(selected.map((name) => [name, (headers[name] ?? "").slice(0, headerCharactersMax)]));
}

/** Reasons by the code of an error of the connection; the first matching row applies. */
const failureRows: readonly (readonly [code: RegExp, reason: FailureReason])[] = [
  [certificateAlert, "client_certificate"],
  [/^ERR_(?:SSL|TLS)_/u, "tls"],
  [/^E(?!RR_)/u, "reset"],
];

function failureOf(error: Error): FailureReason {
  if (error instanceof ConnectFault) return error.reason;
  if (error instanceof ResponseFault) return "response_invalid";
  const code = codeOf(error) ?? "";
  return failureRows.find(([form]) => form.test(code))?.[1] ?? "internal";
}
