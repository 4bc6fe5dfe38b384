import type { Change } from "./object-store.ts";

/** Called for every change after the cache has it. Its errors are logged and counted, and have no other effect. */
export type ChangeHandler<T> = (change: Change<T>) => void | Promise<void>;

/** A set of handlers. A failing handler stops neither the others nor the caller. */
export class ChangeHandlers<T> {
  readonly #handlers = new Set<ChangeHandler<T>>();
  readonly #failed: (error: unknown, change: Change<T>) => void;

  constructor(failed: (error: unknown, change: Change<T>) => void) {
    this.#failed = failed;
  }

  add(handler: ChangeHandler<T>): void {
    this.#handlers.add(handler);
  }

  /** Calls all handlers for one change after the other, until the signal is aborted. */
  callAll(changes: readonly Change<T>[], signal: AbortSignal): void {
    for (const change of changes) {
      for (const handler of this.#handlers) {
        if (signal.aborted) return;
        this.call(handler, change);
      }
    }
  }

  /** Calls one handler. */
  call(handler: ChangeHandler<T>, change: Change<T>): void {
    const failed = (error: unknown): void => this.#failed(error, change);
    try {
      Promise.resolve(handler(change)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}
