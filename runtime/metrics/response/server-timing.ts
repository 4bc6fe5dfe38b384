/** Times the steps of one request. */
export interface ServerTiming {
  /** Ends the step before, if there is one, and begins this one; a step that comes again adds to its time. */
  step(name: TimedStep): void;
  /** `query;dur=0.2, stores;dur=11.8`, in milliseconds. Source: W3C Server Timing §2. */
  header(): string;
}

/** `query` is parsing, policy and planning. */
type TimedStep = "query" | "stores" | "answer";

/** Begins to time at its first step. @param now monotonic milliseconds */
export function createServerTiming(now: () => number = () => performance.now()): ServerTiming {
  const durations = new Map<TimedStep, number>();
  let current: { readonly name: TimedStep; readonly sinceMs: number } | undefined;
  const end = (): void => {
    if (current !== undefined)
      durations.set(current.name, (durations.get(current.name) ?? 0) + now() - current.sinceMs);
    current = undefined;
  };
  return {
    step(name) {
      end();
      current = { name, sinceMs: now() };
    },
    header() {
      end();
      return [...durations].map(([name, ms]) => `${name};dur=${ms.toFixed(1)}`).join(", ");
    },
  };
}
