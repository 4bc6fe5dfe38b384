import type { ConfigReport, ConfigView } from "../http/server/configz.ts";
import { ConfigPolls } from "./config-polls.ts";
import { reportOf, type ProgramStatus } from "./status.ts";
import type { DisabledPartners } from "../webhooks/partners/disabled-partners.ts";

/** Period at which the marks of other pods are read. */
const marksMs = 10_000;

/** Reports of `/configz`, with the polls that wait for the next one. */
export class ConfigReporter implements ConfigView {
  private readonly status: ProgramStatus;
  private readonly polls = new ConfigPolls(() => this.report());

  constructor(status: ProgramStatus) {
    this.status = status;
  }

  report(): ConfigReport {
    return reportOf(this.status);
  }

  token(): string | undefined {
    return this.status.applied?.state.configzToken;
  }

  next(after: string, waitMs: number, signal: AbortSignal): Promise<ConfigReport> {
    return this.polls.next(after, waitMs, signal);
  }

  /** Answers waiting polls if the report differs. */
  changed(): void {
    this.polls.changed();
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
}
