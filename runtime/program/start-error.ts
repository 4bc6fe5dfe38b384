/** The part that prevented the start. */
export type StartFault =
  | "folder"
  | "settings"
  | "data"
  | "locked"
  | "port"
  | "nats"
  | "nats_server"
  | "kubernetes"
  | "migration";

/** The program cannot start; the message is one sentence for the person who started it. */
export class StartError extends Error {
  override readonly name = "StartError";
  readonly fault: StartFault;

  constructor(fault: StartFault, message: string, cause?: unknown) {
    super(message, { cause });
    this.fault = fault;
  }
}

/** Runs a step of the start. An error of the step becomes a {@link StartError} that begins with `what`. */
export async function startStep<T>(fault: StartFault, what: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(fault, `${what}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}
