import cluster, { type Worker } from "node:cluster";
import type { ConfigReport } from "../http/server/configz.ts";
import type { SiblingFrame } from "../pods/siblings.ts";
import { keepHandedOver } from "./handed-over.ts";
import type { ProcessMetrics } from "../tracing/open-metrics.ts";
import type { FromProcess, ProcessStatus, ReadyMessage, ToProcess } from "./messages.ts";
import type { ProcessView } from "./pod-health.ts";

/** What the supervisor does with the messages and the end of a process. */
export interface ProcessEvents {
  readonly ready: (process: SupervisedProcess, message: ReadyMessage) => void;
  readonly failed: (message: Extract<FromProcess, { readonly kind: "failed" }>) => void;
  readonly changed: () => void;
  readonly sibling: (process: SupervisedProcess, to: string, frame: SiblingFrame) => void;
  readonly ended: (process: SupervisedProcess, reason: string) => void;
}

/** Bytes for siblings that a process has not read. More are refused. */
const unreadBytesMax = 64 * 1024 * 1024;
/** Time for a process to return its metrics. */
const metricsTimeoutMs = 2000;

/** One process of the pod over all its restarts. */
export class SupervisedProcess {
  readonly index: number;
  readonly name: string;
  /** Ends in a row. */
  ends = 0;
  #worker: Worker | undefined;
  #servedSinceMs: number | undefined;
  #downSinceMs: number | undefined;
  #hasServed = false;
  #heardAtMs = performance.now();
  #status: ProcessStatus | undefined;
  #report: ConfigReport | undefined;
  #unreadBytes = 0;
  #lastId = 0;
  readonly #asked = new Map<number, (metrics: ProcessMetrics | undefined) => void>();

  constructor(index: number, name: string) {
    this.index = index;
    this.name = name;
  }

  get pid(): number | undefined {
    return this.#worker?.process.pid;
  }

  get isRunning(): boolean {
    return this.#worker !== undefined;
  }

  /** False while it loads: it holds nothing then, and can be killed. */
  get hasReported(): boolean {
    return this.#status !== undefined;
  }

  get isServing(): boolean {
    return this.#servedSinceMs !== undefined;
  }

  /** The last report, also that of an earlier run. */
  get report(): ConfigReport | undefined {
    return this.#report;
  }

  get token(): string | undefined {
    return this.#status?.token;
  }

  /** Time for which it has served since its last start. */
  servedMs(): number {
    return this.#servedSinceMs === undefined ? 0 : performance.now() - this.#servedSinceMs;
  }

  view(): ProcessView {
    return {
      index: this.index,
      isServing: this.isServing,
      hasServed: this.#hasServed,
      downSinceMs: this.#downSinceMs,
      heardAtMs: this.#heardAtMs,
      parts: this.#status?.parts ?? [],
    };
  }

  /** Starts the process. Its first messages are `first`. */
  start(first: readonly ToProcess[], events: ProcessEvents): void {
    const worker = cluster.fork();
    this.#worker = worker;
    this.#heardAtMs = performance.now();
    this.#downSinceMs ??= performance.now();
    this.#unreadBytes = 0;
    this.#status = undefined;
    worker.on("message", (message: FromProcess) => this.#receive(message, events));
    // A message to a process that ends fails; its end is reported by itself.
    worker.on("error", () => undefined);
    const closeHandedOver = keepHandedOver(worker.process);
    worker.once("exit", (code, signal) => {
      closeHandedOver();
      events.ended(this, signal ?? `code ${code}`);
    });
    for (const message of first) this.send(message);
  }

  /** Forgets the run that has ended. */
  setEnded(): void {
    this.#worker = undefined;
    this.#servedSinceMs = undefined;
    this.#downSinceMs ??= performance.now();
    for (const resolve of this.#asked.values()) resolve(undefined);
  }

  send(message: ToProcess): void {
    if (this.#worker?.isConnected() === true) this.#worker.send(message, () => undefined);
  }

  /** Passes a frame of another process on. Returns false when this process does not run or does not read. */
  pass(from: string, frame: SiblingFrame): boolean {
    const size = "bytes" in frame ? frame.bytes.length : 0;
    if (this.#worker?.isConnected() !== true || this.#unreadBytes + size > unreadBytesMax) return false;
    const worker = this.#worker;
    this.#unreadBytes += size;
    worker.send({ kind: "sibling", from, frame } satisfies ToProcess, () => {
      if (worker === this.#worker) this.#unreadBytes -= size;
    });
    return true;
  }

  /** Undefined when the process does not respond in time. */
  async metrics(): Promise<ProcessMetrics | undefined> {
    if (!this.isServing) return undefined;
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      const settle = (metrics: ProcessMetrics | undefined): void => {
        clearTimeout(timer);
        this.#asked.delete(id);
        resolve(metrics);
      };
      const timer = setTimeout(() => settle(undefined), metricsTimeoutMs);
      this.#asked.set(id, settle);
      this.send({ kind: "metrics", id });
    });
  }

  kill(): void {
    this.#worker?.process.kill("SIGKILL");
  }

  #receive(message: FromProcess, events: ProcessEvents): void {
    this.#heardAtMs = performance.now();
    switch (message.kind) {
      case "status":
        this.#status = message;
        this.#report = message.report ?? this.#report;
        return events.changed();
      case "ready":
        this.#servedSinceMs = performance.now();
        this.#downSinceMs = undefined;
        this.#hasServed = true;
        return events.ready(this, message);
      case "failed":
        return events.failed(message);
      case "metrics":
        return this.#asked.get(message.id)?.(message.metrics);
      case "sibling":
        return events.sibling(this, message.to, message.frame);
    }
  }
}
