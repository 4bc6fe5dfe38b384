import type { Logger } from "pino";

/** Bound on closing the parts of a failed start. */
const failedStartDrainMs = 5000;

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

/**
 * Starts parts that add themselves to a shutdown. When one fails, it closes the parts before it.
 * @returns undefined when `stopping` was aborted before
 * @throws what `start` throws
 */
export async function startOrClose<T>(
  log: Logger,
  stopping: AbortSignal,
  start: (shutdown: Shutdown) => Promise<T>,
): Promise<T | undefined> {
  const shutdown = new Shutdown(log);
  try {
    return await start(shutdown);
  } catch (error) {
    await shutdown.run(failedStartDrainMs);
    if (stopping.aborted) return undefined;
    throw error;
  }
}
