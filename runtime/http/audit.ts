import type { Logger } from "pino";
import type { ErrorCode } from "../errors/table.ts";

/** A request, or a part of one, that its sender has no right to. */
export interface RefusedAccess {
  readonly code: ErrorCode;
  /** Words for the caller, which hold no secret. */
  readonly detail: string;
  readonly correlationId: string;
  readonly method: string;
  /** The route's pattern. */
  readonly route: string;
  /** Address of the connection's other end. */
  readonly address: string | undefined;
  /** Undefined for a caller who is not known. */
  readonly client?: string | undefined;
  /** Of the item of a bulk request. */
  readonly item?: string;
}

/** Writes one line for each refusal, as long as there are not too many. */
export type Audit = (refused: RefusedAccess) => void;

/** Lines per second, on the whole and at once: whoever is refused must not fill disks. */
const linesPerSecondMax = 20;
const linesAtOnceMax = 200;

/** Whether a refusal is one of access: who the caller is, or what it may do. */
export function isAudited(status: number): boolean {
  return status === 401 || status === 403;
}

/** An audit in a log; a line says how many before it were left out. */
export function createAudit(log: Logger, now: () => number): Audit {
  let room = linesAtOnceMax;
  let atMs = now();
  let leftOut = 0;
  return (refused) => {
    const nowMs = now();
    room = Math.min(linesAtOnceMax, room + (Math.max(0, nowMs - atMs) / 1000) * linesPerSecondMax);
    atMs = nowMs;
    if (room < 1) {
      leftOut += 1;
      return;
    }
    room -= 1;
    log.warn({ audit: "refused", ...refused, ...(leftOut === 0 ? {} : { leftOut }) }, "access refused");
    leftOut = 0;
  };
}
