/** The result of a step, or its error if that is of a class. @throws any other error */
export function resultOrError<Result, Kind extends Error>(
  step: () => Result,
  kind: abstract new (...args: never[]) => Kind,
): Result | Kind {
  try {
    return step();
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
}
