/**
 * Whether messages that a consumer says it hands out for the first time may have been handed out before all the same. A
 * server that was killed has forgotten what its consumers did in the last moments: it hands that out again,
 * acknowledged messages included, and counts from one. The messages come in order, and what was in flight is the only
 * part of them that has left no trace. So after every start of a pull everything is looked up until more in a row than
 * can be in flight has left none.
 */
export interface Suspicion {
  /** Whether the next message must be looked up. */
  readonly isRaised: boolean;
  /** A pull starts, or starts over. */
  raise(): void;
  /** What the look-up of a message found. */
  report(hasTrace: boolean): void;
}

/** @param inFlightMax messages that can be in flight at once, asked for anew each time */
export function createSuspicion(inFlightMax: () => number): Suspicion {
  let left = 0;
  const raise = (): void => {
    left = inFlightMax() + 1;
  };
  return {
    get isRaised() {
      return left > 0;
    },
    raise,
    report: (hasTrace) => {
      if (hasTrace) {
        raise();
      } else {
        left = Math.max(0, left - 1);
      }
    },
  };
}
