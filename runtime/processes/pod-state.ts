import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import type { ConfigReport, ConfigView } from "../http/server/configz.ts";
import { ConfigPolls } from "../program/config-report.ts";
import { registerHealthMetrics } from "../program/health-metrics.ts";
import { JoinedMetrics } from "./join-metrics.ts";
import { joinReports } from "./join-reports.ts";
import { healthOfPod, type PodHealth } from "./pod-health.ts";
import type { SupervisedProcess } from "./supervised-process.ts";

/** State behind the admin port of a pod: that of all its processes. */
export class PodState implements ConfigView {
  /** Metrics of the supervisor. */
  readonly registry = new Registry();
  readonly metrics: JoinedMetrics;
  isDraining = false;
  processes: readonly SupervisedProcess[] = [];
  readonly #pod: string;
  readonly #polls = new ConfigPolls(() => this.report());
  readonly #restarts: Counter;

  constructor(pod: string) {
    this.#pod = pod;
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    registerHealthMetrics(this.registry, () => this.health());
    this.#restarts = new Counter({
      name: "heliograph_process_restarts_total",
      help: "Processes of the pod that ended and were started again.",
      registers,
    });
    const serving: Gauge = new Gauge({
      name: "heliograph_processes_serving",
      help: "Processes of the pod that serve requests.",
      registers,
      collect: () => serving.set(this.processes.filter(({ isServing }) => isServing).length),
    });
    this.metrics = new JoinedMetrics(
      this.registry,
      () => new Map(this.processes.map((process) => [process.index, process.metrics()])),
    );
  }

  health(): PodHealth {
    const views = this.processes.map((process) => process.view());
    return healthOfPod(views, this.isDraining, performance.now());
  }

  report(): ConfigReport {
    const reports = this.processes.map(({ report }) => report);
    return joinReports(this.#pod, this.health().isReady, reports);
  }

  token(): string | undefined {
    return this.processes.find(({ token }) => token !== undefined)?.token;
  }

  next(after: string, waitMs: number, signal: AbortSignal): Promise<ConfigReport> {
    return this.#polls.next(after, waitMs, signal);
  }

  /** Answers the polls that wait, if the report differs. */
  changed(): void {
    this.#polls.changed();
  }

  /** Counts the restart of a process, and keeps the counts of the one that has ended. */
  async processEnded(index: number): Promise<void> {
    this.#restarts.inc();
    await this.metrics.processEnded(index);
  }
}
