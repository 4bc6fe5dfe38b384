// Authorization of requests to stores: access tokens and AWS signatures. It knows no queries.
import { untilAborted } from "../../../limits/clock.ts";
import type { Renewal } from "../../json/token-response.ts";
import { StoreError } from "../store-error.ts";

/** A credential and its times. */
export interface Issued<Value> extends Renewal {
  readonly value: Value;
}

/** A credential that is fetched on demand and renewed before it expires. */
export interface Renewed<Value> {
  /** Callers share a running fetch. @throws what the fetch throws; the signal's reason */
  get(signal: AbortSignal): Promise<Value>;
  /** Drops a credential that a server rejected, unless another one has replaced it. */
  drop(matches: (value: Value) => boolean): void;
}

/** After a rejection, the issuer gets no further request for this long: it may lock the account of the client. */
const pauseMs = 1_000;

/**
 * Keeps a credential. Its renewal begins before its end, and delays no request: a failed renewal is noticed only when
 * the credential expires.
 *
 * @param now milliseconds of a monotonic clock
 */
export function createRenewed<Value>(
  fetch: () => Promise<Issued<Value>>,
  now: () => number = () => performance.now(),
): Renewed<Value> {
  let kept: { readonly value: Value; readonly renewAtMs: number; readonly endsAtMs: number } | undefined;
  let flight: Promise<Value> | undefined;
  let pause: { readonly error: unknown; readonly endsAtMs: number } | undefined;

  const fetchOnce = async (): Promise<Value> => {
    const startedAtMs = now();
    try {
      const { value, renewMs, endMs } = await fetch();
      kept = { value, renewAtMs: startedAtMs + renewMs, endsAtMs: startedAtMs + endMs };
      return value;
    } catch (error) {
      const isPassing = error instanceof StoreError && error.isPassing;
      if (!isPassing) pause = { error, endsAtMs: now() + pauseMs };
      throw error;
    } finally {
      flight = undefined;
    }
  };
  const renew = (): Promise<Value> => {
    if (pause !== undefined && now() < pause.endsAtMs) return Promise.reject(pause.error);
    pause = undefined;
    flight ??= fetchOnce();
    return flight;
  };
  return {
    get(signal) {
      const nowMs = now();
      if (kept === undefined || nowMs >= kept.endsAtMs) return untilAborted(renew(), signal);
      if (nowMs >= kept.renewAtMs) renew().catch(() => undefined);
      return Promise.resolve(kept.value);
    },
    drop(matches) {
      if (kept !== undefined && matches(kept.value)) kept = undefined;
    },
  };
}
