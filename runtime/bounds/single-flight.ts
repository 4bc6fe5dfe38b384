/** Does work of one name once for all who want it while it is under way. Rejects with what the work rejects with. */
type SingleFlight<Result> = (name: string, work: () => Promise<Result>) => Promise<Result>;

/** Nothing under way. Nobody can leave: the work has a bound of its own. */
export function createSingleFlight<Result>(): SingleFlight<Result> {
  const underWay = new Map<string, Promise<Result>>();
  return (name, work) => {
    const running = underWay.get(name) ?? work().finally(() => underWay.delete(name));
    underWay.set(name, running);
    return running;
  };
}
