import { ownDomain } from "../../../api/events.ts";
import { retryUntilReply } from "../../nats/connection/retry-until-reply.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";
import type { SettledDelivery } from "./delivery-context.ts";
import type { Log } from "../log.ts";
import { attemptNumber, type DeliveryRecord } from "../records/delivery-record.ts";
import { noTenant, type Envelope, isOwnType, ownIdPrefix } from "../events/envelope.ts";
import { eventHash } from "../ids.ts";
import type { NamedPartner, Partner } from "../partners/partner.ts";
import type { RoutingTable } from "../partners/configured-partners.ts";
import { eventHeaders } from "../records/event-record.ts";
import { settlementRow } from "../settlement/settlement-table.ts";

/**
 * Operational events: changes of deliveries and partners to which partners may subscribe.
 *
 * - `failing`: the third attempt of a delivery failed.
 * - `recovered`: such a delivery was accepted later.
 * - `exhausted`: a delivery is dead after its last retry.
 * - `rejected`: the partner rejected an event.
 * - `disabled`: the partner responded with 410.
 * - `breaker_open`: the circuit breaker of the partner opened.
 */
type OperationalKind = "failing" | "recovered" | "exhausted" | "rejected" | "disabled" | "breaker_open";

const types: Readonly<Record<OperationalKind, string>> = {
  failing: `${ownDomain}.delivery.failing`,
  recovered: `${ownDomain}.delivery.recovered`,
  exhausted: `${ownDomain}.delivery.exhausted`,
  rejected: `${ownDomain}.delivery.rejected`,
  disabled: `${ownDomain}.partner.disabled`,
  breaker_open: `${ownDomain}.partner.breaker_open`,
};

const version = "2026-01-01";
const storeTimeoutMs = 5_000;

/** An event about a delivery or a partner, before it is stored. */
interface OperationalEvent {
  readonly kind: OperationalKind;
  /** Equal for every repeat of the same change, so that it is stored once. */
  readonly eventId: string;
  /** Tenant of the delivered event; {@link noTenant} for an event about the partner itself. */
  readonly tenant: string;
  readonly data: Readonly<Record<string, string | number>>;
}

function deliveryEvent(
  kind: OperationalKind,
  delivery: DeliveryRecord,
  { label }: NamedPartner,
  reason: OperationalEvent["data"],
): OperationalEvent {
  const { did, generation, eventId, type, tenant } = delivery;
  const attempt = attemptNumber(delivery);
  const data = { partner: label, event_id: eventId, event_type: type, attempt, ...reason };
  return { kind, eventId: `${ownIdPrefix}${kind}:${did}:${generation}`, tenant, data };
}

/** Events of a settlement. Deliveries of operational events cause none, so that events cause no further events. */
export function eventsOfSettlement({ delivery, partner, settlement }: SettledDelivery): readonly OperationalEvent[] {
  if (isOwnType(delivery.type)) return [];
  const { event, disablesPartner } = settlementRow(settlement);
  const reason = settlement.kind === "delivered" ? {} : { reason: settlement.reason };
  const { min, max } = event.attempts;
  const isCaused = delivery.attempt >= min && delivery.attempt <= max;
  const events = isCaused ? [deliveryEvent(event.kind, delivery, partner, reason)] : [];
  return disablesPartner ? [...events, partnerDisabled(partner, reason)] : events;
}

function partnerDisabled({ key, label, config }: NamedPartner, reason: OperationalEvent["data"]): OperationalEvent {
  const eventId = `${ownIdPrefix}disabled:${key}:${config.specDigest}`;
  return { kind: "disabled", eventId, tenant: noTenant, data: { partner: label, ...reason } };
}

export interface OperationalDeps {
  readonly events: EventsStream;
  readonly table: () => RoutingTable;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
  /** `producer` of the events. */
  readonly installation: string;
  readonly nonce: () => string;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Creates the store of operational events for their subscribers. An event without a subscriber is not stored, and the
 * partner that it concerns does not get it. An event that is not stored within the time limit is lost and logged; no
 * delivery waits longer.
 */
export function createOperationalEvents(deps: OperationalDeps) {
  const storeAll = (partner: NamedPartner, events: readonly OperationalEvent[]): Promise<unknown> =>
    Promise.all(events.map((event) => store(deps, partner, event)));
  return {
    /** Never rejects. */
    settled: async (settled: SettledDelivery) => void (await storeAll(settled.partner, eventsOfSettlement(settled))),
    /** Never rejects. */
    breakerOpened: async (partner: Partner, restMs: number) => {
      const eventId = `${ownIdPrefix}breaker_open:${partner.key}:${Math.floor(deps.now())}`;
      await storeAll(partner, [
        { kind: "breaker_open", eventId, tenant: noTenant, data: { partner: partner.label, rest_ms: restMs } },
      ]);
    },
  };
}

async function store(
  deps: OperationalDeps,
  about: NamedPartner,
  { kind, eventId, tenant, data }: OperationalEvent,
): Promise<void> {
  const { installation: producer } = deps;
  const type = types[kind];
  if (deps.table().partnersFor({ type, tenant, producer, about: about.key }).length === 0) return;
  const ts = new Date(deps.now()).toISOString();
  const envelope: Envelope = { eventId, type, version, ts, producer, tenant, data };
  const body = { event_id: eventId, type, version, ts, producer, ...(tenant === noTenant ? {} : { tenant }), data };
  const headers = eventHeaders(envelope, deps.nonce(), { about: about.key });
  const bytes = Buffer.from(JSON.stringify(body));
  // The id has the delivery, whose id has the tenant; an event about the partner itself has no tenant.
  const event = { tenant, idhash: eventHash(eventId), isExclusive: true, headers, bytes };
  try {
    const result = await retryUntilReply(() => deps.events.store(event), {
      giveUpAfterMs: storeTimeoutMs,
      signal: deps.signal,
    });
    if (result.kind === "rejected")
      deps.log.warn({ eventId, partner: about.label, detail: result.detail }, "operational event not stored");
  } catch (error) {
    deps.log.warn({ err: error, eventId, partner: about.label }, "operational event not stored");
  }
}
