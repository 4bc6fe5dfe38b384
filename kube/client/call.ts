import { type Clock, onAbort } from "../../limits/clock.ts";
import type { Outage } from "../outage.ts";
import {
  brokenTransport,
  type PoolName,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from "./transport.ts";
import { errorOfResponse, isKubeError, KubeError, retryAfterMsOf } from "./kube-error.ts";
import { type RetryPolicy, retryWaitMs } from "./retry.ts";

/** One request. */
export interface ApiCall {
  readonly method: TransportRequest["method"];
  readonly path: string;
  /** Absent and empty parameters are left out. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** @default "calls" */
  readonly pool?: PoolName;
  /** True when a repetition has the same effect as one call. */
  readonly repeatable: boolean;
}

/** The code of a request without a response. */
export const noResponse = "<error>";

/** Counts requests. Operator and runtime each have their own metrics. */
export interface RequestCounter {
  /** `code` is the HTTP status, or {@link noResponse}. */
  readonly requests: {
    inc(labels: { readonly code: string; readonly method: string; readonly host: string }): void;
  };
}

interface CallerParts {
  readonly transport: Transport;
  readonly metrics: RequestCounter;
  readonly clock: Clock;
  readonly random: () => number;
  /** Records every call; its end ends the waits between tries. */
  readonly outage: Outage;
  /** Host and port of the API server, for the metrics. */
  readonly host: string;
}

/** Bound on a body: one page of 500 large objects. */
const responseBytesMax = 128 * 1024 * 1024;
const errorBytesMax = 64 * 1024;

/** One shared error for all calls that ended well: an error per call would cost as much as the call. */
const ended = new Error("the call has ended");

/** Runs calls with deadlines, retries, typed errors and request counts. */
export class Caller {
  readonly #parts: CallerParts;

  constructor(parts: CallerParts) {
    this.#parts = parts;
  }

  /**
   * Returns the JSON of a successful response. Tries as often as the policy allows.
   *
   * @throws KubeError
   */
  async json(call: ApiCall, policy: RetryPolicy, signal?: AbortSignal): Promise<unknown> {
    const { clock, random, outage } = this.#parts;
    const startedMs = clock.nowMs();
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#try(call, policy.tryTimeoutMs, signal);
      } catch (error) {
        const tried = { repeatable: call.repeatable, tries, elapsedMs: clock.nowMs() - startedMs };
        const waitMs = retryWaitMs(error, tried, policy, random);
        if (waitMs === undefined) throw error;
        await outage.pause(waitMs, signal, retryAfterMsOf(error));
      }
    }
  }

  /**
   * Returns a successful response whose body is not read yet. Tries once.
   *
   * @throws KubeError
   */
  async open(call: ApiCall, signal: AbortSignal): Promise<TransportResponse> {
    const what = `${call.method} ${call.path}`;
    const response = await this.#send(call, signal);
    if (response.status >= 200 && response.status <= 299) {
      this.#parts.outage.succeeded();
      return response;
    }
    throw errorOfResponse(what, response.status, await readText(what, response, errorBytesMax), response.retryAfter);
  }

  async #try(call: ApiCall, timeoutMs: number, signal: AbortSignal | undefined): Promise<unknown> {
    const what = `${call.method} ${call.path}`;
    const deadline = new Deadline(this.#parts.clock, what, signal);
    try {
      deadline.limit(timeoutMs);
      const response = await this.open(call, deadline.signal);
      return parseResponse(what, await readText(what, response, responseBytesMax));
    } catch (error) {
      throw brokenTransport(what, error, deadline.signal);
    } finally {
      deadline.end();
    }
  }

  async #send(call: ApiCall, signal: AbortSignal): Promise<TransportResponse> {
    const { method, headers = {}, pool = "calls" } = call;
    const body = call.body === undefined ? {} : { body: call.body };
    const labels = { method, host: this.#parts.host };
    try {
      const response = await this.#parts.transport.send({
        method,
        path: call.path + queryText(call.query),
        headers,
        ...body,
        pool,
        signal,
      });
      this.#parts.metrics.requests.inc({ ...labels, code: String(response.status) });
      return response;
    } catch (error) {
      this.#parts.metrics.requests.inc({ ...labels, code: noResponse });
      if (isKubeError(error, "transient")) this.#parts.outage.failed();
      throw error;
    }
  }
}

function queryText(query: Readonly<Record<string, string | undefined>> = {}): string {
  const entries = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "",
  );
  return entries.length === 0 ? "" : `?${new URLSearchParams(entries).toString()}`;
}

async function readText(what: string, response: TransportResponse, bytesMax: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    const part = chunk as Uint8Array;
    parts.push(part);
    bytes += part.length;
    if (bytes > bytesMax)
      throw new KubeError("invalid", `${what}: the response exceeds ${bytesMax} bytes`, { status: response.status });
  }
  return Buffer.concat(parts, bytes).toString("utf8");
}

function parseResponse(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new KubeError("transient", `${what}: the response is not JSON`, { reason: "BadAnswer", cause: error });
  }
}

/**
 * A signal that ends with the caller's signal or after a time without data. A call uses it as a plain deadline; a watch
 * touches it with every byte.
 */
export class Deadline {
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #forgetParent: () => void;
  readonly #what: string;
  #limitMs = Number.POSITIVE_INFINITY;
  #receivedAtMs = 0;
  #cancel: (() => void) | undefined;

  /** @param what names the request in the error */
  constructor(clock: Clock, what: string, parent?: AbortSignal) {
    this.#clock = clock;
    this.#what = what;
    this.#forgetParent = onAbort(parent, () => {
      this.#controller.abort(new KubeError("aborted", `${what}: ended by the caller`, { cause: parent?.reason }));
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the signal after this time without data. Replaces an earlier limit. */
  limit(limitMs: number): void {
    this.#limitMs = limitMs;
    this.#receivedAtMs = this.#clock.nowMs();
    this.#watch(limitMs);
  }

  /** Records received data. Reads the clock only; the running timer compares when it fires. */
  touch(): void {
    this.#receivedAtMs = this.#clock.nowMs();
  }

  /** Ends the signal and its listeners. Every exit of a call must call it. */
  end(): void {
    this.#cancel?.();
    this.#forgetParent();
    this.#controller.abort(ended);
  }

  #watch(delayMs: number): void {
    this.#cancel?.();
    this.#cancel = this.#clock.after(delayMs, () => {
      const restMs = this.#receivedAtMs + this.#limitMs - this.#clock.nowMs();
      if (restMs > 0) {
        this.#watch(restMs);
        return;
      }
      const message = `${this.#what}: no data received for ${Math.round(this.#limitMs)} ms`;
      this.#controller.abort(new KubeError("transient", message, { reason: "Timeout" }));
    });
  }
}
