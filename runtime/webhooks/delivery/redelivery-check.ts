/**
 * Requires a look-up of messages whose delivery count is 1. After a crash, NATS can redeliver acknowledged messages
 * with a reset count, because its consumers lost their last state. Messages arrive in order, and of those only the ones
 * that were in flight left no attempt. After each start of a pull, all messages are therefore looked up. The check ends
 * once more messages in a row than can be in flight have left no trace.
 */
export interface RedeliveryCheck {
  /** Whether the next message must be looked up. */
  readonly isRequired: boolean;
  /** Starts the check: a pull starts or restarts. */
  require(): void;
  /** Takes the result of one look-up. */
  report(hasTrace: boolean): void;
}

/** @param inFlightMax returns the number of messages that can be in flight at once */
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
