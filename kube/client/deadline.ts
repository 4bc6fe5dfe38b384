import type { Clock } from "../../limits/clock.ts";
import { KubeError } from "./kube-error.ts";

/** One shared error for all calls that ended well: an error per call would cost as much as the call. */
const ended = new Error("the call has ended");

/**
 * A signal that ends with the caller's signal or after a time without data. A call uses it as a plain deadline; a watch
 * touches it with every byte.
 */
export class Deadline {
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal | undefined;
  readonly #what: string;
  #limitMs = Number.POSITIVE_INFINITY;
  #receivedAtMs = 0;
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

  /** Ends the signal after this time without data. Replaces an earlier limit. */
  limit(limitMs: number): void {
    this.#limitMs = limitMs;
    this.#receivedAtMs = this.#clock.nowMs();
    this.#watch(limitMs);
  }

  /** Records received data. Reads the clock only; the running timer compares when it fires. */
  touch(): void {
    this.#receivedAtMs = this.#clock.nowMs();
  }

  /** Ends the signal and its listeners. Every exit of a call must call it. */
  end(): void {
    this.#cancel?.();
    this.#parent?.removeEventListener("abort", this.#endWithParent);
    this.#controller.abort(ended);
  }

  #watch(delayMs: number): void {
    this.#cancel?.();
    this.#cancel = this.#clock.after(delayMs, () => {
      const restMs = this.#receivedAtMs + this.#limitMs - this.#clock.nowMs();
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
