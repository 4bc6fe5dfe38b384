import { setTimeout as sleep } from "node:timers/promises";
import type { Counter, Registry } from "prom-client";
import type { Logger } from "pino";
import { instrumentsOf } from "../../limits/instruments.ts";
import { Agent, overlappingConnector, request } from "../../network/undici-connector.ts";
import { otlpBody, type SpanSource } from "./otlp-json.ts";
import type { EndedSpan } from "./tracer.ts";

interface ExporterOptions {
  /** Base URL of the collector: requests go to `/v1/traces` below it. */
  readonly endpoint: string;
  readonly source: SpanSource;
  readonly registry: Registry;
  readonly log: Pick<Logger, "warn" | "info">;
  /** Bounds of tests. @default {@link usualBounds} */
  readonly bounds?: Partial<ExporterBounds>;
}

interface ExporterBounds {
  /** Spans that wait for a request. */
  readonly queueMax: number;
  /** Spans of one request. */
  readonly batchMax: number;
  /** Time for which spans wait for others. */
  readonly gatherMs: number;
  /** Time limit of one request. */
  readonly timeoutMs: number;
  /** Pauses before the second and later tries of one request. */
  readonly pausesMs: readonly number[];
}

const usualBounds: ExporterBounds = {
  queueMax: 2_048,
  batchMax: 512,
  gatherMs: 1_000,
  timeoutMs: 5_000,
  pausesMs: [1_000, 2_000],
};

/** Spans are dropped for one of these reasons and counted by it. */
type DropReason = "queue_full" | "refused" | "unreachable" | "stopped";

/** The result of one request. `isPassing`: the same request may succeed later. */
type Sent =
  | { readonly ok: true; readonly rejected: number }
  | { readonly ok: false; readonly isPassing: boolean; readonly reason: string };

/** Statuses after which a client repeats its request. Source: OTLP 1.10 §"Retryable Response Codes". */
const passingStatuses: readonly number[] = [429, 502, 503, 504];
const responseBytesMax = 65_536;

/**
 * Sends spans to a collector, by OTLP over HTTP in JSON. One request at a time is under way. Spans are dropped while
 * the queue is full and when the collector takes none; the product never waits for it.
 */
export class OtlpExporter {
  readonly #options: ExporterOptions;
  readonly #bounds: ExporterBounds;
  readonly #url: string;
  readonly #agent: InstanceType<typeof Agent>;
  readonly #queue: EndedSpan[] = [];
  readonly #ending = new AbortController();
  readonly #exported: Counter;
  readonly #dropped: Counter<"reason">;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #isFailing = false;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#bounds = { ...usualBounds, ...options.bounds };
    this.#url = `${options.endpoint.replace(/\/+$/u, "")}/v1/traces`;
    const { timeoutMs } = this.#bounds;
    this.#agent = new Agent({
      connections: 1,
      connect: overlappingConnector({ timeout: timeoutMs }),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      maxResponseSize: responseBytesMax,
    });
    const { counter } = instrumentsOf(options.registry, "heliograph_trace_spans_");
    this.#exported = counter("exported_total", "Spans that the collector took.");
    this.#dropped = counter(
      "dropped_total",
      "Dropped spans: the queue was full, or the collector rejected them or did not respond.",
      ["reason"],
    );
  }

  /** Queues a span, or drops it when the queue is full. */
  add(span: EndedSpan): void {
    const { queueMax, batchMax } = this.#bounds;
    if (this.#queue.length >= queueMax || this.#ending.signal.aborted) return this.#drop(1, "queue_full");
    this.#queue.push(span);
    if (this.#queue.length >= batchMax) this.#send();
    else this.#gather();
  }

  /** Sends what is queued within the bound, then drops the rest. */
  async stop(remainingMs: number): Promise<void> {
    this.#send();
    const end = new AbortController();
    await Promise.race([this.#sending, sleep(remainingMs, undefined, { signal: end.signal }).catch(() => undefined)]);
    end.abort();
    this.#ending.abort();
    clearTimeout(this.#timer);
    await this.#agent.destroy();
    await this.#sending;
    this.#drop(this.#queue.splice(0).length, "stopped");
  }

  #gather(): void {
    if (this.#sending !== undefined) return;
    this.#timer ??= setTimeout(() => this.#send(), this.#bounds.gatherMs).unref();
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendQueued();
  }

  async #sendQueued(): Promise<void> {
    while (this.#queue.length > 0 && !this.#ending.signal.aborted) {
      await this.#sendBatch(this.#queue.splice(0, this.#bounds.batchMax));
      if (this.#queue.length < this.#bounds.batchMax) break;
    }
    this.#sending = undefined;
    if (this.#queue.length > 0 && !this.#ending.signal.aborted) this.#gather();
  }

  async #sendBatch(spans: readonly EndedSpan[]): Promise<void> {
    const body = otlpBody(this.#options.source, spans);
    for (const pauseMs of [...this.#bounds.pausesMs, undefined]) {
      const sent = await this.#post(body);
      if (sent.ok) {
        this.#exported.inc(spans.length - sent.rejected);
        this.#drop(sent.rejected, "refused");
        return this.#note(undefined);
      }
      this.#note(sent.reason);
      if (!sent.isPassing) return this.#drop(spans.length, "refused");
      if (pauseMs === undefined || !(await this.#pause(pauseMs))) break;
    }
    this.#drop(spans.length, "unreachable");
  }

  async #post(body: string): Promise<Sent> {
    const headers = { "content-type": "application/json" };
    const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(this.#bounds.timeoutMs)]);
    try {
      const response = await request(this.#url, { method: "POST", headers, body, dispatcher: this.#agent, signal });
      const { statusCode: status } = response;
      const text = await response.body.text();
      if (status >= 200 && status < 300) return { ok: true, rejected: rejectedSpans(text) };
      return { ok: false, isPassing: passingStatuses.includes(status), reason: `HTTP ${status}` };
    } catch (error) {
      return { ok: false, isPassing: true, reason: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Returns false when the exporter ends first. */
  async #pause(ms: number): Promise<boolean> {
    return sleep(ms, true, { signal: this.#ending.signal, ref: false }).catch(() => false);
  }

  #drop(count: number, reason: DropReason): void {
    if (count > 0) this.#dropped.inc({ reason }, count);
  }

  /** Logs the first failure after a success, and the first success after a failure. */
  #note(failure: string | undefined): void {
    const isFailing = failure !== undefined;
    if (isFailing === this.#isFailing || this.#ending.signal.aborted) return;
    this.#isFailing = isFailing;
    const { log } = this.#options;
    if (isFailing) log.warn({ reason: failure }, "spans not exported");
    else log.info("spans exported again");
  }
}

/** Spans that the collector rejected in a request that it took. Source: OTLP 1.10 §"Partial Success". */
function rejectedSpans(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as { readonly partialSuccess?: { readonly rejectedSpans?: unknown } };
    const count = Number(partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  } catch {
    return 0;
  }
}
