// Ping: a test event for one partner that a caller requests. The usual path delivers it.
import type { PartnerSummary, Ping } from "../../../api/partners.ts";
import { backgroundClock } from "../../../limits/clock.ts";
import { orEventsUnavailable, ApiError, invalidField } from "../../errors/api-error.ts";
import { retryUntilReply } from "../../nats/connection/retry-until-reply.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";
import type { Backlogs } from "../routing/backlog-limit.ts";
import type { Router } from "../routing/router.ts";
import { noTenant, type Envelope, ownIdPrefix, pingType } from "../events/envelope.ts";
import type { PartnerAccess } from "../history/history-view.ts";
import type { PartnerList } from "../history/partner-list.ts";
import { eventHash, anyTenant, includesTenant } from "../ids.ts";
import { maySendTo, type Partner } from "../partners/partner.ts";
import { eventHeaders, readEvent, type StoredEvent } from "../records/event-record.ts";
import { parseBody } from "../replay/parse-body.ts";

/** A caller that requests a ping. */
interface PingCaller extends PartnerAccess {
  /** `*`: all tenants. */
  readonly tenants: readonly string[];
}

/** Pings of partners, for callers. */
export interface Pings {
  /**
   * Stores a test event and its delivery to one partner, whatever the partner subscribes to.
   *
   * @param body the bytes of a request, or none
   * @throws ApiError `invalid_json`, `invalid_request`, `partner_not_found`, `partner_not_active`, `rate_exceeded`,
   *   `events_unavailable`
   */
  ping(label: string, body: Uint8Array, caller: PingCaller): Promise<Ping>;
}

interface PingDeps {
  readonly events: Pick<EventsStream, "store" | "read" | "readOfAny">;
  readonly list: Pick<PartnerList, "find">;
  readonly router: Pick<Router, "recover">;
  readonly backlogs: Pick<Backlogs, "isFull">;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
  /** `producer` of the events. */
  readonly installation: string;
  readonly nonce: () => string;
}

const version = "2026-11-23";
const secondMs = 1_000;
/** Time limit of each of the two steps: storing the event, and storing its delivery. */
const giveUpAfterMs = 4_000;

interface PartnerFacts {
  readonly state: PartnerSummary["state"];
  /** Why it is held. @default it is not */
  readonly held: string | undefined;
  /** What is missing, such as `SecretNotFound: namespace/name`. @default nothing */
  readonly missing?: string | undefined;
  /** True when a signing key is valid now and nothing else prevents deliveries. */
  readonly hasKey: boolean;
  /** True when its backlog has reached its limit. */
  readonly isFull: boolean;
}

export function createPings(deps: PingDeps): Pings {
  return {
    ping: async (label, body, caller) => {
      const { tenant: requested } = body.length === 0 ? {} : await parseBody("ping", body);
      const { partner, summary } = await deps.list.find(label, caller);
      const tenant = tenantOf(partner, caller, requested);
      const reason = inactiveReason({
        state: summary.state,
        held: partner.config.held,
        missing: partner.config.heldBy,
        hasKey: maySendTo(partner, deps.now()),
        isFull: deps.backlogs.isFull(partner),
      });
      if (reason !== undefined) throw new ApiError("partner_not_active", reason);
      const event = await store(deps, partner, tenant);
      await storeDelivery(deps, event);
      return { event_id: event.eventId, tenant, partner: label };
    },
  };
}

/** @throws ApiError `invalid_request` */
function tenantOf({ config }: Partner, caller: PingCaller, requested: string | undefined): string {
  const subscribed = config.subscriptions.flatMap(({ tenants }) => tenants);
  const tenant = pingTenant(subscribed, caller.tenants, requested);
  if (tenant !== undefined) return tenant;
  const detail =
    requested === undefined
      ? "tenant is required: the token and the partner share no tenant by its name"
      : "tenant must be one that the token and a subscription of the partner allow";
  throw invalidField("invalid_request", "tenant", detail);
}

/** Stores the event. Its id is the same for a second, so that all pods together store one a second for each partner. */
async function store(deps: PingDeps, partner: Partner, tenant: string): Promise<StoredEvent> {
  const nowMs = deps.now();
  const eventId = `${ownIdPrefix}ping:${partner.key}:${Math.floor(nowMs / secondMs)}`;
  const nonce = deps.nonce();
  const idhash = eventHash(eventId);
  const { headers, bytes } = messageOf(deps, partner, { eventId, tenant, nowMs, nonce });
  const found = await orEventsUnavailable(async () => {
    const result = await retryUntilReply(() => deps.events.store({ tenant, idhash, headers, bytes }), {
      giveUpAfterMs,
    });
    if (result.kind === "rejected") throw new Error(result.detail);
    return retryUntilReply(() => deps.events.readOfAny(idhash), { giveUpAfterMs });
  });
  const event = found === undefined ? undefined : readEvent(found);
  // Another request of this second was first. A repetition of this one finds its own nonce.
  if (event?.nonce !== nonce)
    throw new ApiError("rate_exceeded", "A partner takes one ping a second.", { retryAfterSeconds: 1 });
  return event;
}

interface PingParts {
  readonly eventId: string;
  readonly tenant: string;
  readonly nowMs: number;
  readonly nonce: string;
}

function messageOf({ installation: producer }: PingDeps, { key, label }: Partner, parts: PingParts) {
  const { eventId, tenant, nowMs, nonce } = parts;
  const ts = new Date(nowMs).toISOString();
  const data = { test: true, partner: label };
  const envelope: Envelope = { eventId, type: pingType, version, ts, producer, tenant, data };
  const tenantMember = tenant === noTenant ? {} : { tenant };
  const body = { event_id: eventId, type: pingType, version, ts, producer, ...tenantMember, data };
  return { headers: eventHeaders(envelope, nonce, { only: key }), bytes: Buffer.from(JSON.stringify(body)) };
}

/**
 * Stores the delivery. A router does the same; but one of an older version does not know pings and leaves them out.
 *
 * @throws ApiError `events_unavailable` when it may not be stored; the delivery may still come
 */
async function storeDelivery({ router }: PingDeps, event: StoredEvent): Promise<void> {
  const late = Promise.withResolvers<never>();
  const cancel = backgroundClock.after(giveUpAfterMs, () =>
    late.reject(new Error("the delivery was not stored in time")),
  );
  const stored = router.recover(event);
  // After the time limit, nobody waits for it.
  stored.catch(() => undefined);
  try {
    await orEventsUnavailable(() => Promise.race([stored, late.promise]));
  } finally {
    cancel();
  }
}

/** Why a partner would not get a ping now, and what to do; undefined when it would. */
export function inactiveReason({ state, held, missing, hasKey, isFull }: PartnerFacts): string | undefined {
  switch (state) {
    case "held":
      return `The partner is held (${reasonOf(held, missing)}). Repair its resource, whose conditions say more.`;
    case "rejected":
      return "The definition of the partner is not applied. Repair its resource.";
    case "disabled":
      return "The endpoint responded with 410, which disabled the partner. Edit its resource to enable it again.";
    case "paused":
      return "The partner is paused. Set state: Active in its resource.";
    case "active":
      if (!hasKey) return "No signing key of the partner is valid now. Add one to its resource.";
      return isFull ? "The backlog of the partner has reached its limit. Wait until deliveries have ended." : undefined;
    default:
      throw new Error(`unknown state ${String(state satisfies never)}`);
  }
}

function reasonOf(held = "unresolved", missing?: string): string {
  return missing === undefined ? held : `${held}: ${missing}`;
}

/**
 * The tenant of a ping: the requested one, or the first that the caller and the partner share by its name. Undefined
 * when they share none by its name, or not the requested one.
 *
 * @param subscribed tenants of the partner's subscriptions; `*`: all
 * @param allowed tenants of the caller; `*`: all
 */
export function pingTenant(
  subscribed: readonly string[],
  allowed: readonly string[],
  requested: string | undefined,
): string | undefined {
  if (requested !== undefined)
    return includesTenant(subscribed, requested) && includesTenant(allowed, requested) ? requested : undefined;
  const shared = subscribed.flatMap((tenant) => {
    if (tenant === anyTenant) return allowed;
    return includesTenant(allowed, tenant) ? [tenant] : [];
  });
  return shared.find((tenant) => tenant !== anyTenant);
}
