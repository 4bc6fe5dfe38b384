import type { Clock } from "../clock.ts";
import { KubeError } from "./kube-error.ts";

/** One for all calls that ended well: an error of its own for each would cost as much as the rest of the call. */
const ended = new Error("the call has ended");

/**
 * A signal that ends with the caller's own, or when no data received for too long. One call uses it as a plain
 * deadline; a watch touches it with every byte.
 */
export class Deadline {
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal | undefined;
  readonly #what: string;
  #limitMs = Number.POSITIVE_INFINITY;
  #heardAtMs = 0;
  #cancel: (() => void) | undefined;

  /** @param what names the request in the error */
  constructor(clock: Clock, what: string, parent?: AbortSignal) {
    this.#clock = clock;
    this.#what = what;
    this.#parent = parent;
    if (parent?.aborted === true) this.#endWithParent();
    else parent?.addEventListener("abort", this.#endWithParent, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on, the signal ends when nothing is heard for so long; it replaces an earlier limit. */
  limit(limitMs: number): void {
    this.#limitMs = limitMs;
    this.#heardAtMs = this.#clock.nowMs();
    this.#watch(limitMs);
  }

  /** Something was heard. Costs one look at the clock: the running timer finds out when it fires. */
  touch(): void {
    this.#heardAtMs = this.#clock.nowMs();
  }

  /** Ends the signal and everything that listens; to be called on every way out. */
  end(): void {
    this.#cancel?.();
    this.#parent?.removeEventListener("abort", this.#endWithParent);
    this.#controller.abort(ended);
  }

  #watch(delayMs: number): void {
    this.#cancel?.();
    this.#cancel = this.#clock.after(delayMs, () => {
      const restMs = this.#heardAtMs + this.#limitMs - this.#clock.nowMs();
      if (restMs > 0) {
        this.#watch(restMs);
        return;
      }
      const message = `${this.#what}: no data received for ${Math.round(this.#limitMs)} ms`;
      this.#controller.abort(new KubeError("transient", message, { reason: "Timeout" }));
    });
  }

  readonly #endWithParent = (): void => {
    this.#controller.abort(
      new KubeError("aborted", `${this.#what}: ended by the caller`, { cause: this.#parent?.reason }),
    );
  };
}
