/** Log of connections to NATS. A `pino` logger, or nothing. */
export interface ConnectionLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
}

/** Log of commands, which report a failed connection themselves. */
export const noConnectionLog: ConnectionLog = { info: () => undefined, warn: () => undefined };

/** The message of an error, for a field `reason`. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
