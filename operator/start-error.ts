/** Cause of a failed start. */
export type StartFault = "kubeconfig" | "policy" | "port";

/** A failed start. The message is one sentence for the user. */
export class StartError extends Error {
  override readonly name = "StartError";
  readonly fault: StartFault;

  constructor(fault: StartFault, message: string, cause?: unknown) {
    super(message, { cause });
    this.fault = fault;
  }
}

/** Runs a step of the start. Its error becomes a {@link StartError} that begins with `what`. */
export async function startStep<T>(fault: StartFault, what: string, step: () => T | Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw new StartError(fault, `${what}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}
