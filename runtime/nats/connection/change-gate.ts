import { setTimeout as sleep } from "node:timers/promises";

/** Keeps steps that use a connection apart from its change of credentials. */
export interface ChangeGate {
  /** Runs a step. It begins after a change that is under way. */
  run<T>(step: () => Promise<T>): Promise<T>;
  /** Lets no step begin. Resolves when those under way have ended, or after a time. */
  close(timeoutMs: number): Promise<void>;
  /** Lets the waiting steps begin. */
  open(): void;
}

/** Creates an open gate. A step must not contain another one, which would wait for the change that waits for it. */
export function createChangeGate(): ChangeGate {
  let opened: PromiseWithResolvers<void> | undefined;
  let emptied: PromiseWithResolvers<void> | undefined;
  let running = 0;
  return {
    run: async (step) => {
      await opened?.promise;
      running += 1;
      try {
        return await step();
      } finally {
        running -= 1;
        if (running === 0) emptied?.resolve();
      }
    },
    close: async (timeoutMs) => {
      opened = Promise.withResolvers();
      if (running === 0) return;
      emptied = Promise.withResolvers();
      await Promise.race([emptied.promise, sleep(timeoutMs, undefined, { ref: false })]);
      emptied = undefined;
    },
    open: () => {
      opened?.resolve();
      opened = undefined;
    },
  };
}
