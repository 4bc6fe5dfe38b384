import type { Change } from "./object-store.ts";

/** Called for every change, after the cache holds it. What it throws is logged and counted, and changes nothing. */
export type ChangeHandler<T> = (change: Change<T>) => void | Promise<void>;

/** Those who want to know of changes. None can stop the others, or whoever tells them. */
export class ChangeHandlers<T> {
  readonly #handlers = new Set<ChangeHandler<T>>();
  readonly #failed: (error: unknown, change: Change<T>) => void;

  constructor(failed: (error: unknown, change: Change<T>) => void) {
    this.#failed = failed;
  }

  add(handler: ChangeHandler<T>): void {
    this.#handlers.add(handler);
  }

  /** Tells everybody, one change after the other, until the signal is aborted. */
  tell(changes: readonly Change<T>[], signal: AbortSignal): void {
    for (const change of changes) {
      for (const handler of this.#handlers) {
        if (signal.aborted) return;
        this.call(handler, change);
      }
    }
  }

  /** Tells one. */
  call(handler: ChangeHandler<T>, change: Change<T>): void {
    const failed = (error: unknown): void => this.#failed(error, change);
    try {
      Promise.resolve(handler(change)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}
