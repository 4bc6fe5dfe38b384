import type { Logger } from "pino";
import { fullBucket, refilled, spent, type Rate } from "../bounds/token-bucket.ts";
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

/** Lines, on the whole and at once: whoever is refused must not fill disks. */
const linesRate: Rate = { perSecond: 20, burst: 200 };

/** Whether a refusal is one of access: who the caller is, or what it may do. */
export function isAudited(status: number): boolean {
  return status === 401 || status === 403;
}

/** An audit in a log; a line says how many before it were left out. */
export function createAudit(log: Logger, now: () => number): Audit {
  let room = fullBucket(linesRate, now());
  let leftOut = 0;
  return (refused) => {
    room = refilled(room, linesRate, now());
    if (room.tokens < 1) {
      leftOut += 1;
      return;
    }
    room = spent(room, 1);
    log.warn({ audit: "refused", ...refused, ...(leftOut === 0 ? {} : { leftOut }) }, "access refused");
    leftOut = 0;
  };
}
