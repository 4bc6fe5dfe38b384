/** Does equal work once for all who want it at the same time. Everybody may leave; the work ends when nobody waits. */
export type SingleFlight = <Result>(
  key: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
) => Promise<Result>;

interface Flight {
  readonly result: Promise<unknown>;
  readonly ending: AbortController;
  isOver: boolean;
  waiting: number;
}

/** Nothing under way. */
export function createSingleFlight(): SingleFlight {
  const flights = new Map<string, Flight>();
  const start = <Result>(key: string, work: (signal: AbortSignal) => Promise<Result>): Flight => {
    const ending = new AbortController();
    const flight: Flight = { result: work(ending.signal), ending, isOver: false, waiting: 0 };
    flights.set(key, flight);
    const land = (): void => {
      flight.isOver = true;
      if (flights.get(key) === flight) flights.delete(key);
    };
    flight.result.then(land, land);
    return flight;
  };
  return async <Result>(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<Result>) => {
    signal.throwIfAborted();
    const flight = flights.get(key) ?? start(key, work);
    flight.waiting += 1;
    const leaving = Promise.withResolvers<never>();
    const leave = (): void => leaving.reject(signal.reason);
    signal.addEventListener("abort", leave);
    try {
      // Equal keys are equal work, also in type.
      return await Promise.race([flight.result as Promise<Result>, leaving.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        // Whoever comes now starts anew: this one is going.
        if (flights.get(key) === flight) flights.delete(key);
        if (!flight.isOver) flight.ending.abort();
      }
    }
  };
}
