import type { Logger } from "pino";
import { createLineLimit } from "../../bounds/line-limit.ts";
import type { ErrorCode } from "../../errors/table.ts";

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

/** True for refusals of authentication and authorization. */
export function isAudited(status: number): boolean {
  return status === 401 || status === 403;
}

/** An audit in a log; a line says how many before it were left out. */
export function createAudit(log: Logger, now: () => number): Audit {
  const limit = createLineLimit(now);
  return (refused) => {
    const leftOut = limit();
    if (leftOut === undefined) return;
    log.warn({ audit: "refused", ...refused, ...(leftOut === 0 ? {} : { leftOut }) }, "access refused");
  };
}
