/**
 * Whether messages that a consumer says it hands out for the first time may have been handed out before all the same. A
 * server that was killed has forgotten what its consumers did in the last moments: it hands that out again,
 * acknowledged messages included, and counts from one. The messages come in order, and what was in flight is the only
 * part of them that has left no trace. So after every start of a pull everything is looked up until more in a row than
 * can be in flight has left none.
 */
export interface RedeliveryCheck {
  /** Whether the next message must be looked up. */
  readonly isRequired: boolean;
  /** A pull starts, or starts over. */
  require(): void;
  /** What the look-up of a message found. */
  report(hasTrace: boolean): void;
}

/** @param inFlightMax messages that can be in flight at once, asked for anew each time */
export function createRedeliveryCheck(inFlightMax: () => number): RedeliveryCheck {
  let left = 0;
  const require = (): void => {
    left = inFlightMax() + 1;
  };
  return {
    get isRequired() {
      return left > 0;
    },
    require,
    report: (hasTrace) => {
      if (hasTrace) {
        require();
      } else {
        left = Math.max(0, left - 1);
      }
    },
  };
}
