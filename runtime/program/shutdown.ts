import type { Logger } from "pino";

/** Closes one part within the rest of a drain. */
type Close = (remainingMs: number) => Promise<void> | void;

/** The opened parts of a program. They are closed in reverse order when the start fails and when the program stops. */
export class Shutdown {
  private readonly log: Logger;
  private readonly parts: { readonly name: string; readonly close: Close }[] = [];
  private ended: Promise<void> | undefined;

  constructor(log: Logger) {
    this.log = log;
  }

  add(name: string, close: Close): void {
    this.parts.push({ name, close });
  }

  /** Closes all parts within `drainMs` together. A part that fails is logged, and the next one is closed. Runs once. */
  run(drainMs: number): Promise<void> {
    this.ended ??= this.closeAll(performance.now() + drainMs);
    return this.ended;
  }

  private async closeAll(deadlineMs: number): Promise<void> {
    for (const { name, close } of this.parts.toReversed()) {
      try {
        await close(Math.max(0, deadlineMs - performance.now()));
      } catch (err) {
        this.log.error({ part: name, err }, "closing failed");
      }
    }
  }
}
