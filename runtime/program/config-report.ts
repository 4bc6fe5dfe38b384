import { onAbort } from "../../limits/clock.ts";
import type { ConfigReport, ConfigView } from "../http/server/configz.ts";
import type { DisabledPartners } from "../webhooks/partners/partner-holds.ts";
import { type ProgramStatus, reportOf } from "./status.ts";

/** Period at which the marks of other pods are read. */
const marksMs = 10_000;

/** Period at which a report is read while a poll waits: connections and health report no changes by themselves. */
const readMs = 250;

interface Poll {
  readonly after: string;
  readonly wake: () => void;
}

/** Reports of `/configz`, with the polls that wait for the next one. */
export class ConfigReporter implements ConfigView {
  private readonly status: ProgramStatus;
  private readonly polls = new Set<Poll>();
  private reading: NodeJS.Timeout | undefined;

  constructor(status: ProgramStatus) {
    this.status = status;
  }

  report(): ConfigReport {
    return reportOf(this.status);
  }

  token(): string | undefined {
    return this.status.applied?.state.configzToken;
  }

  /** The first report of another version; the present one when the wait is over or the signal is aborted. */
  async next(after: string, waitMs: number, signal: AbortSignal): Promise<ConfigReport> {
    const report = this.report();
    if (report.version !== after || signal.aborted) return report;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        forget();
        this.polls.delete(poll);
        this.readWhilePolled();
        resolve();
      };
      const poll = { after, wake: end };
      const timer = setTimeout(end, waitMs);
      const forget = onAbort(signal, end);
      this.polls.add(poll);
      this.readWhilePolled();
    });
    return this.report();
  }

  /** Responds to waiting polls if the report differs. */
  changed(): void {
    if (this.polls.size === 0) return;
    const { version } = this.report();
    for (const { after, wake } of this.polls) if (after !== version) wake();
  }

  /** Keeps the marks of disabled partners up to date until the returned function is called. */
  followMarks(partners: Pick<DisabledPartners, "list" | "onMark">): () => void {
    const read = async (): Promise<void> => {
      try {
        this.status.disabled = await partners.list();
        this.changed();
      } catch {
        // After a failed read the last marks stay. The next read comes soon.
      }
    };
    const end = partners.onMark(() => void read());
    const timer = setInterval(() => void read(), marksMs);
    void read();
    return () => {
      clearInterval(timer);
      end();
    };
  }

  /** Reads for changes only while a poll waits. */
  private readWhilePolled(): void {
    if (this.polls.size > 0) this.reading ??= setInterval(() => this.changed(), readMs);
    else {
      clearInterval(this.reading);
      this.reading = undefined;
    }
  }
}
