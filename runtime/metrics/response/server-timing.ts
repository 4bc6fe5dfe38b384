/** Measures the steps of one request. */
export interface ServerTiming {
  /** Ends the previous step and starts this one; a repeated step adds to its duration. */
  step(name: TimedStep): void;
  /** `query;dur=0.2, stores;dur=11.8`, in milliseconds. Source: W3C Server Timing §2. */
  header(): string;
}

/** `query` is parsing, authorization and planning. */
type TimedStep = "query" | "stores" | "answer";

/** Creates a timing without a step. */
export function createServerTiming(): ServerTiming {
  const durations = new Map<TimedStep, number>();
  let current: { readonly name: TimedStep; readonly sinceMs: number } | undefined;
  const end = (): void => {
    if (current !== undefined)
      durations.set(current.name, (durations.get(current.name) ?? 0) + performance.now() - current.sinceMs);
    current = undefined;
  };
  return {
    step(name) {
      end();
      current = { name, sinceMs: performance.now() };
    },
    header() {
      end();
      return [...durations].map(([name, ms]) => `${name};dur=${ms.toFixed(1)}`).join(", ");
    },
  };
}
