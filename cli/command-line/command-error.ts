import type { ExitName } from "./exit-codes.ts";

/** The command cannot be done; the message is one sentence that says what failed and what to do. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exit: ExitName;

  constructor(exit: ExitName, message: string, cause?: unknown) {
    super(message, { cause });
    this.exit = exit;
  }
}
