import type { BaseLogger } from "pino";

/** What the engine logs to. */
export type Log = Pick<BaseLogger, "info" | "warn" | "error">;
