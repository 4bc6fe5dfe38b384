import { ApiError } from "../../../runtime/errors/api-error.ts";

/** The refusal that a call ends with. @throws what else it throws, or an error when it does not */
export function refusalOf(call: () => unknown): ApiError {
  try {
    call();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

/** What a refusal says in one line: its code and the fields at fault. */
export function refused(call: () => unknown): string {
  const { code, errors } = refusalOf(call);
  return [code, ...errors.map(({ field }) => field)].join(" ");
}
