import { untilAborted } from "./clock.ts";

/**
 * Runs one call per key and shares its result, or its error, with all concurrent callers. A caller with a signal stops
 * waiting when that is aborted; any other caller waits until the call ends. The call is aborted when its last caller
 * has stopped waiting.
 *
 * @throws what the call throws; the signal's reason when the signal is aborted
 */
export type SingleFlight<Shared = unknown> = <Result extends Shared>(
  key: string,
  call: (signal: AbortSignal) => Promise<Result>,
  signal?: AbortSignal,
) => Promise<Result>;

interface Flight {
  readonly result: Promise<unknown>;
  readonly ending: AbortController;
  isOver: boolean;
  callers: number;
}

/** Creates a single-flight without calls. Equal keys stand for equal calls, so that their results have one type. */
export function createSingleFlight<Shared = unknown>(): SingleFlight<Shared> {
  const flights = new Map<string, Flight>();
  const remove = (key: string, flight: Flight): void => {
    if (flights.get(key) === flight) flights.delete(key);
  };
  const start = (key: string, call: (signal: AbortSignal) => Promise<unknown>): Flight => {
    const ending = new AbortController();
    const flight: Flight = { result: call(ending.signal), ending, isOver: false, callers: 0 };
    flights.set(key, flight);
    const end = (): void => {
      flight.isOver = true;
      remove(key, flight);
    };
    flight.result.then(end, end);
    return flight;
  };
  return async <Result extends Shared>(
    key: string,
    call: (signal: AbortSignal) => Promise<Result>,
    signal?: AbortSignal,
  ) => {
    signal?.throwIfAborted();
    const flight = flights.get(key) ?? start(key, call);
    flight.callers += 1;
    try {
      return (await (signal === undefined ? flight.result : untilAborted(flight.result, signal))) as Result;
    } finally {
      flight.callers -= 1;
      if (flight.callers === 0) {
        // The next caller starts a new call, because this one is aborted.
        remove(key, flight);
        if (!flight.isOver) flight.ending.abort();
      }
    }
  };
}
