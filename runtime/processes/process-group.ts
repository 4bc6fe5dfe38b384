import cluster from "node:cluster";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { NatsAccess } from "../nats/connection/nats-access.ts";
import type { SiblingFrame } from "../pods/siblings.ts";
import { StartError } from "../program/start-error.ts";
import type { FromProcess, ReadyMessage } from "./messages.ts";
import { hungMs } from "./pod-health.ts";
import { restartPause } from "./restart-pause.ts";
import { SupervisedProcess, type ProcessEvents } from "./supervised-process.ts";

interface GroupOptions {
  /** Names of the processes, in the order of their indexes. */
  readonly names: readonly string[];
  readonly adminUrl: string;
  readonly port: number;
  readonly log: Logger;
  /** Called when any state of a process changed. */
  readonly onChange: () => void;
  /** Called after a process has ended, before its successor starts. */
  readonly onEnd: (index: number) => Promise<void>;
}

/** Time beyond the drain after which a process is killed. */
const endSlackMs = 5000;
const watchMs = 1000;

/**
 * The processes of a pod: starts them, starts an ended one again, and passes messages between them. The others start
 * after the first one serves, so that they do not take its CPU until then.
 */
export class ProcessGroup {
  readonly processes: readonly SupervisedProcess[];
  readonly #options: GroupOptions;
  readonly #events: ProcessEvents;
  readonly #stopping = new AbortController();
  readonly #ready = Promise.withResolvers<ReadyMessage>();
  readonly #watch: NodeJS.Timeout;
  #access: NatsAccess | undefined;
  #isStarted = false;

  constructor(options: GroupOptions) {
    this.#options = options;
    this.processes = options.names.map((name, place) => new SupervisedProcess(place + 1, name));
    this.#events = {
      ready: (process, message) => this.#setReady(process, message),
      failed: (message) => this.#setFailed(message),
      changed: options.onChange,
      sibling: (process, to, frame) => this.#pass(process, to, frame),
      ended: (process, reason) => void this.#restart(process, reason),
    };
    // A failed start may come before anyone waits for the start.
    this.#ready.promise.catch(() => undefined);
    cluster.schedulingPolicy = cluster.SCHED_RR;
    cluster.setupPrimary({ serialization: "advanced", silent: false });
    const [first] = this.processes;
    if (first !== undefined) this.#start(first);
    this.#watch = setInterval(() => this.#killHung(), watchMs);
  }

  /** Resolves when the first process serves. @throws StartError when it cannot start */
  ready(): Promise<ReadyMessage> {
    return this.#ready.promise;
  }

  /** Tells the processes where the nats-server of the supervisor is. */
  setNats(access: NatsAccess): void {
    this.#access = access;
    for (const process of this.processes) process.send({ kind: "nats", access });
  }

  /** Drains all processes. Resolves when they have ended; kills those that need longer than `boundMs`. */
  async stop(drainMs: number, boundMs = drainMs): Promise<void> {
    this.#stopping.abort();
    clearInterval(this.#watch);
    for (const process of this.processes) {
      if (process.hasReported) process.send({ kind: "stop", drainMs });
      else process.kill();
    }
    await this.#untilEnded(boundMs + endSlackMs);
    for (const process of this.processes) process.kill();
    await this.#untilEnded(endSlackMs);
  }

  async #untilEnded(boundMs: number): Promise<void> {
    const deadlineMs = performance.now() + boundMs;
    while (this.processes.some(({ isRunning }) => isRunning) && performance.now() < deadlineMs) await sleep(10);
  }

  #start(process: SupervisedProcess): void {
    const { names, adminUrl, port } = this.#options;
    const { index } = process;
    const nats = this.#access === undefined ? [] : [{ kind: "nats" as const, access: this.#access }];
    process.start([{ kind: "start", index, names, adminUrl, port }, ...nats], this.#events);
  }

  #setReady(process: SupervisedProcess, message: ReadyMessage): void {
    const { log, onChange } = this.#options;
    log.info({ process: process.index, processPid: process.pid }, "process ready");
    this.#tellLive();
    onChange();
    this.#startOthers();
    this.#ready.resolve(message);
  }

  #startOthers(): void {
    if (this.#isStarted || this.#stopping.signal.aborted) return;
    this.#isStarted = true;
    for (const process of this.processes.slice(1)) this.#start(process);
  }

  /** The first process ends a start that fails. A later one starts again. */
  #setFailed(message: Extract<FromProcess, { readonly kind: "failed" }>): void {
    const err = errorOf(message);
    this.#ready.reject(err);
    if (this.#isStarted) this.#options.log.error({ err }, "process start failed");
  }

  async #restart(process: SupervisedProcess, reason: string): Promise<void> {
    const { log, onChange, onEnd } = this.#options;
    const { pauseMs, ends } = restartPause(process.servedMs(), process.ends);
    process.ends = ends;
    process.setEnded();
    if (this.#stopping.signal.aborted) return;
    this.#ready.reject(new Error(`process ${process.index} ended at its start: ${reason}`));
    if (!this.#isStarted) return;
    log.error({ process: process.index, reason, pauseMs }, "process ended, started again");
    this.#tellLive();
    onChange();
    await Promise.all([onEnd(process.index), this.#pause(pauseMs)]);
    if (!this.#stopping.signal.aborted) this.#start(process);
  }

  async #pause(pauseMs: number): Promise<void> {
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  #tellLive(): void {
    const names = this.processes.filter(({ isServing }) => isServing).map(({ name }) => name);
    for (const process of this.processes) process.send({ kind: "live", names });
  }

  #pass(from: SupervisedProcess, to: string, frame: SiblingFrame): void {
    const isPassed = this.processes.find(({ name }) => name === to)?.pass(from.name, frame) ?? false;
    if (!isPassed && frame.kind === "request") from.pass(to, { kind: "refused", id: frame.id });
  }

  #killHung(): void {
    const nowMs = performance.now();
    for (const process of this.processes) {
      const { heardAtMs, isServing, index } = process.view();
      if (!isServing || nowMs - heardAtMs < hungMs) continue;
      this.#options.log.error({ process: index, silentMs: nowMs - heardAtMs }, "process silent, killed");
      process.kill();
    }
  }
}

function errorOf({ fault, message }: Extract<FromProcess, { readonly kind: "failed" }>): Error {
  return fault === undefined ? new Error(message) : new StartError(fault, message);
}
