import { flushCompileCache } from "node:module";
import type { Logger } from "pino";
import type { NatsAccess } from "../nats/connection/nats-access.ts";
import { PodSiblings } from "../pods/siblings.ts";
import type { PodMember, ProgramContext } from "../program/program-plan.ts";
import type { Program } from "../program/program.ts";
import { StartError } from "../program/start-error.ts";
import { healthOf } from "../program/status.ts";
import { metricsOf } from "../tracing/open-metrics.ts";
import type { FromProcess, StartMessage, ToProcess } from "./messages.ts";

/** Period of messages to the supervisor without a change. */
const beatMs = 1000;

/** Starts one process of a pod. */
export type StartMember = (member: PodMember, port: number, stopping: AbortSignal) => Promise<Program | undefined>;

/**
 * Runs one process of a pod until its supervisor ends it. Node ends the process at once when the supervisor is gone.
 * @returns the error of a failed start, which the supervisor also gets
 */
export async function runMember(log: Logger, start: StartMember): Promise<unknown> {
  // A terminal signals all processes of a group. The supervisor decides when they end.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => undefined);
  const link = new SupervisorLink(log);
  try {
    const { member, port } = await link.started;
    const program = await start(member, port, link.stopping);
    if (program !== undefined) {
      const { url, natsUrl, configHash } = program;
      await link.send({ kind: "ready", url, natsUrl, configHash });
      // The code is the same in all processes. A killed one would not write it.
      if (member.index === 1) flushCompileCache();
      const drainMs = await link.drainMs;
      log.info({ drainMs }, "draining");
      await program.stop(drainMs);
      log.info("stopped");
    }
    return undefined;
  } catch (error) {
    const fault = error instanceof StartError ? error.fault : undefined;
    await link.send({ kind: "failed", fault, message: error instanceof Error ? error.message : String(error) });
    return error;
  }
}

interface Started {
  readonly member: PodMember;
  readonly port: number;
}

/** The connection of a process to its supervisor. */
class SupervisorLink {
  readonly #log: Logger;
  readonly #start = Promise.withResolvers<Started>();
  readonly #access = Promise.withResolvers<NatsAccess>();
  readonly #drain = Promise.withResolvers<number>();
  readonly #stopping = new AbortController();
  #siblings: PodSiblings | undefined;
  #context: ProgramContext | undefined;

  constructor(log: Logger) {
    this.#log = log;
    process.on("message", (message: ToProcess) => this.#receive(message));
  }

  get started(): Promise<Started> {
    return this.#start.promise;
  }

  get drainMs(): Promise<number> {
    return this.#drain.promise;
  }

  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Resolves when the message has left, also when it cannot: the supervisor is gone then. */
  send(message: FromProcess, sent: (error: Error | null) => void = () => undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = (error: Error | null): void => {
        sent(error);
        resolve();
      };
      if (process.connected) process.send?.(message, undefined, {}, done);
      else done(new Error("the supervisor has ended"));
    });
  }

  #receive(message: ToProcess): void {
    switch (message.kind) {
      case "start":
        return this.#setStarted(message);
      case "nats":
        return this.#access.resolve(message.access);
      case "live":
        return this.#siblings?.setLive(message.names);
      case "metrics":
        return void this.#sendMetrics(message.id);
      case "stop":
        this.#stopping.abort();
        return this.#drain.resolve(message.drainMs);
      case "sibling":
        return this.#siblings?.receive(message.from, message.frame);
    }
  }

  #setStarted({ index, names, adminUrl, port }: StartMessage): void {
    const siblings = new PodSiblings(
      names[index - 1] ?? "",
      names,
      { send: (to, frame, sent) => void this.send({ kind: "sibling", to, frame }, sent) },
      (error, topic) => this.#log.warn({ err: error, topic }, "message between processes failed"),
    );
    this.#siblings = siblings;
    const report = (context: ProgramContext): string => {
      this.#report(context);
      return adminUrl;
    };
    this.#start.resolve({ member: { index, siblings, embeddedNats: () => this.#access.promise, report }, port });
  }

  /** Sends every change of the state until the program has stopped. */
  #report(context: ProgramContext): void {
    this.#context = context;
    const end = new AbortController();
    context.shutdown.add("reports to the supervisor", () => end.abort());
    void this.#reportUntil(context, end.signal);
  }

  async #reportUntil({ reporter, status }: ProgramContext, signal: AbortSignal): Promise<void> {
    let version = "";
    while (!signal.aborted) {
      const report = await reporter.next(version, beatMs, signal);
      const token = reporter.token();
      const isNew = report.version !== version;
      version = report.version;
      await this.send({ kind: "status", parts: healthOf(status), token, ...(isNew ? { report } : {}) });
    }
  }

  async #sendMetrics(id: number): Promise<void> {
    const metrics = this.#context === undefined ? [] : await metricsOf(this.#context.registry);
    await this.send({ kind: "metrics", id, metrics });
  }
}
