import type { ConfigReport } from "../http/server/configz.ts";

/** Period at which a report is read while a poll waits: connections and health report no changes by themselves. */
const readMs = 250;

interface Poll {
  readonly after: string;
  readonly wake: () => void;
}

/** The long polls that wait for the next version of a report. */
export class ConfigPolls {
  readonly #report: () => ConfigReport;
  readonly #polls = new Set<Poll>();
  #reading: NodeJS.Timeout | undefined;

  constructor(report: () => ConfigReport) {
    this.#report = report;
  }

  /** The first report of another version; the present one when the wait is over or the signal is aborted. */
  async next(after: string, waitMs: number, signal: AbortSignal): Promise<ConfigReport> {
    const report = this.#report();
    if (report.version !== after || signal.aborted) return report;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        this.#polls.delete(poll);
        this.#readWhilePolled();
        resolve();
      };
      const poll = { after, wake: end };
      const timer = setTimeout(end, waitMs);
      signal.addEventListener("abort", end, { once: true });
      this.#polls.add(poll);
      this.#readWhilePolled();
    });
    return this.#report();
  }

  /** Answers waiting polls if the report differs. */
  changed(): void {
    if (this.#polls.size === 0) return;
    const { version } = this.#report();
    for (const { after, wake } of this.#polls) if (after !== version) wake();
  }

  /** Reads for changes only while a poll waits. */
  #readWhilePolled(): void {
    if (this.#polls.size > 0) this.#reading ??= setInterval(() => this.changed(), readMs);
    else {
      clearInterval(this.#reading);
      this.#reading = undefined;
    }
  }
}
