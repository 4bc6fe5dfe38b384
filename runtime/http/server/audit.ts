import type { Logger } from "pino";
import { createLineLimit } from "../../../limits/line-limit.ts";
import type { ErrorCode } from "../../errors/table.ts";

/** A request, or a part of one, that was refused for lack of rights. */
export interface RefusedAccess {
  readonly code: ErrorCode;
  /** The detail of the refusal, which holds no secret. */
  readonly detail: string;
  readonly correlationId: string;
  readonly method: string;
  /** The route's pattern. */
  readonly route: string;
  /** Remote address of the connection. */
  readonly address: string | undefined;
  /** Undefined for an unknown caller. */
  readonly client?: string | undefined;
  /** Of the item of a bulk request. */
  readonly item?: string;
}

/** Writes one line for each refusal, up to a rate limit. */
export type Audit = (refused: RefusedAccess) => void;

/** True for refusals of authentication and authorization. */
export function isAudited(status: number): boolean {
  return status === 401 || status === 403;
}

/** Creates an audit that writes to a log. A line holds the number of refusals left out before it. */
export function createAudit(log: Logger, now: () => number): Audit {
  const limit = createLineLimit(now);
  return (refused) => {
    const leftOut = limit();
    if (leftOut === undefined) return;
    log.warn({ audit: "refused", ...refused, ...(leftOut === 0 ? {} : { leftOut }) }, "access refused");
  };
}
