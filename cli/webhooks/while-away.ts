import { setTimeout as sleep } from "node:timers/promises";
import { ApiRefusal } from "../api/api-error.ts";
import { CommandError } from "../command-line/command-error.ts";

export interface Patience {
  readonly signal: AbortSignal;
  /** Notes about a lost connection. */
  readonly onNote: (note: string) => void;
}

const waitMsMin = 500;
const waitMsMax = 10_000;

/**
 * Repeats a read while the server is away or has no time, without end.
 * @returns undefined after an abort
 * @throws the error that no repetition heals
 */
export async function whileAway<T>(read: () => Promise<T>, { signal, onNote }: Patience): Promise<T | undefined> {
  for (let waitMs = 0; ; waitMs = Math.min(Math.max(waitMs * 2, waitMsMin), waitMsMax)) {
    await paused(waitMs, signal);
    if (signal.aborted) return undefined;
    try {
      const result = await read();
      if (waitMs > 0) onNote("connected again");
      return result;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof CommandError) || !isAway(error)) throw error;
      if (waitMs === 0) onNote(`${error.message}; trying again`);
    }
  }
}

/** Waits for a time, or until an abort. */
export async function paused(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal }).catch(() => undefined);
}

function isAway(error: CommandError): boolean {
  if (error instanceof ApiRefusal) return error.status === 429 || error.status >= 500;
  return error.exit === "unreachable";
}
