import { compilePattern } from "../events/subscriptions.ts";
import { includesTenant } from "../events/tenants.ts";
import type { StoredEvent } from "../records/event-record.ts";
import type { DeliveryState } from "./delivery-histories.ts";
import type { EventSummary } from "./event-summary.ts";
import { isNarrowed, mayNamePartner, type PartnerAccess } from "./partner-access.ts";

/** Parameters of a list of events. */
export interface EventQuery extends PartnerAccess {
  /** `*`: all tenants. */
  readonly tenants: readonly string[];
  /** Accepted at or after this, Unix milliseconds. */
  readonly fromMs: number;
  /** Accepted before this, Unix milliseconds. */
  readonly toMs: number;
  /** Begin after this event id. */
  readonly afterId?: string;
  /** End before this event id. */
  readonly beforeId?: string;
  /** Type or pattern. @default all types */
  readonly type?: string;
  /** `namespace/name`: only events with a delivery to it. */
  readonly partner?: string;
  /** Only events with a delivery in this state, to {@link partner} if given. */
  readonly state?: DeliveryState;
  /** Only events with a delivery whose last attempt had such a status, likewise. */
  readonly status?: StatusRange;
  /** Only events with a delivery of this reason, likewise. */
  readonly reason?: string;
  /** `desc`: the newest first. @default asc */
  readonly order?: "desc";
  /** Last sequence of the previous page, if that was of older events. @default the first page */
  readonly afterSeq?: number;
  /** Last sequence of the previous page, if that was of newer events. @default the first page */
  readonly beforeSeq?: number;
  readonly limit: number;
}

/** HTTP statuses, both included; 0 stands for an attempt without a response. */
export interface StatusRange {
  readonly min: number;
  readonly max: number;
}

/** Tests an event itself. */
export function eventTest(query: EventQuery): (event: StoredEvent) => boolean {
  const isType = query.type === undefined ? () => true : compilePattern(query.type);
  return ({ tenant, type, acceptedAtMs }) =>
    includesTenant(query.tenants, tenant) && isType(type) && acceptedAtMs >= query.fromMs;
}

/** Whether only events with some deliveries are asked for. */
export function asksForDeliveries({ partner, state, status, reason, ...access }: EventQuery): boolean {
  return isNarrowed(access) || [partner, state, status, reason].some((one) => one !== undefined);
}

/** Whether the caller may see deliveries to a partner and asks for them. */
export function isPartnerWanted(query: EventQuery, partner: string): boolean {
  return mayNamePartner(query, partner) && (query.partner ?? partner) === partner;
}

/** Whether one delivery that the caller may see is as the query asks. */
export function isWanted(query: EventQuery, { deliveries }: EventSummary): boolean {
  const { partner, state, status, reason } = query;
  if (!asksForDeliveries(query)) return true;
  return deliveries.some(
    (delivery) =>
      (partner ?? delivery.partner) === delivery.partner &&
      (state ?? delivery.state) === delivery.state &&
      (reason ?? delivery.reason) === delivery.reason &&
      (status === undefined || (delivery.attempts > 0 && isWithin(status, delivery.status ?? 0))),
  );
}

/** Whether a status lies in the range. */
export function isWithin({ min, max }: StatusRange, status: number): boolean {
  return status >= min && status <= max;
}
