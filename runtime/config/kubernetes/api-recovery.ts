import { setTimeout as sleep } from "node:timers/promises";

/**
 * Lets everyone who waits for an unreachable API server wait long, and go on soon after one of them finds it again: few
 * requests while it is away, no delay when it is back.
 */
export class Recovery {
  private readonly spreadMs: number;
  private readonly random: () => number;
  private readonly waiting = new Set<() => void>();

  /** @param spreadMs those who waited go on one by one within this time */
  constructor(spreadMs: number, random: () => number) {
    this.spreadMs = spreadMs;
    this.random = random;
  }

  /** Somebody got an answer. */
  answered(): void {
    for (const wake of this.waiting) wake();
  }

  /**
   * Resolves after the wait, or some time after somebody got an answer, or when the signal is aborted; never rejects.
   */
  async wait(waitMs: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const wake = (): void => woken.abort();
    this.waiting.add(wake);
    signal.addEventListener("abort", wake, { once: true });
    const startedMs = performance.now();
    const isOver = await pause(waitMs, woken.signal);
    this.waiting.delete(wake);
    signal.removeEventListener("abort", wake);
    const restMs = waitMs - (performance.now() - startedMs);
    if (!isOver && !signal.aborted) await pause(Math.min(restMs, this.spreadMs * this.random()), signal);
  }
}

/** False when the signal ended it. */
export async function pause(waitMs: number, signal: AbortSignal): Promise<boolean> {
  if (waitMs <= 0) return true;
  try {
    return await sleep(waitMs, true, { signal });
  } catch {
    return false;
  }
}
