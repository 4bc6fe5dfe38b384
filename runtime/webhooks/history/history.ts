// History: the read side of events, deliveries and attempts for callers. It writes nothing.

import type { EventHistory as Event } from "../../../api/histories.ts";
import type { AttemptsStream } from "../../nats/streams/attempts-stream.ts";
import type { DeliveriesStream } from "../../nats/streams/deliveries-stream.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { type AttemptRecord, parseAttempts } from "../records/attempt-records.ts";
import { parseDeliveryRecord } from "../records/delivery-record.ts";
import {
  parseHandled,
  parsePayload,
  parseRoutedBy,
  parseRoutingNote,
  readEvent,
  type StoredEvent,
} from "../records/event-record.ts";
import { differentSelections, selectPayload, type PayloadSelection } from "../events/payload-selection.ts";
import { deliveryId, eventHash } from "../ids.ts";
import {
  viewOf,
  type HistoryView,
  rebuiltBodies,
  requestsOf,
  signaturesOf,
  isNarrowed,
  mayNamePartner,
  type PartnerAccess,
  sentBodies,
  type ShownEvent,
} from "./history-view.ts";
import type { UnconfiguredPartner } from "../partners/partner-registry.ts";
import type { Partner } from "../partners/partner.ts";
import type { RoutingTable } from "../partners/configured-partners.ts";
import type { ExplainedEvent } from "./explain-event.ts";
import type { FindBlock } from "./find-block.ts";
import { deliveryHistories, type DeliveryHistory, type Waiting, type WaitingDelivery } from "./delivery-histories.ts";

/**
 * The response to `GET /webhooks/events/:id`. The event has its bytes as received. `routed_at` is the time at which the
 * router found that no partner, or not every partner, gets the event.
 */
export type EventHistory = Pick<Event, "accepted_at" | "routed_at" | "routed_by" | "explanation"> & {
  readonly event: Uint8Array;
  readonly deliveries: readonly DeliveryHistory[];
};

export interface HistoryDeps {
  readonly events: EventsStream;
  readonly attempts: AttemptsStream;
  readonly deliveries: DeliveriesStream;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
  readonly table: () => RoutingTable;
  /** @default nothing is looked up */
  readonly findBlock?: FindBlock;
  /** The same for lists. @default nothing is looked up */
  readonly findCachedBlock?: FindBlock;
  /** Removed partners that may still have waiting deliveries. */
  readonly removed: () => Promise<readonly Unconfigured[]>;
}

/**
 * Reads the history of an event of one of these tenants (`*`: any). Undefined when there is none. Also undefined for a
 * caller that is narrowed to partners without a delivery of the event.
 *
 * @param explain explains the deliveries. @default they are not explained
 */
export async function readHistory(
  deps: HistoryDeps,
  eventId: string,
  tenants: readonly string[],
  view: HistoryView = {},
  explain?: (explained: ExplainedEvent) => Event["explanation"],
): Promise<EventHistory | undefined> {
  const message = await deps.events.find(tenants, eventHash(eventId));
  const event = message === undefined ? undefined : readEvent(message);
  if (event === undefined) return undefined;
  const partners = await waitingPartners(deps, event, deps.findBlock);
  const waiting = new Map([...(await waitingRemoved(deps, event)), ...partners]);
  // Attempts are read last: a delivery that is not live any more by then has stored its attempt.
  const stored = await deps.attempts.list(event.tenant, eventHash(eventId));
  const hidden = hiddenFrom(deps, event, { stored, waiting, view });
  const standings = standingsOf(stored, waiting, deps.now(), view, { ...event, hidden });
  const acceptedAt = new Date(event.acceptedAtMs).toISOString();
  if (isNarrowed(view) && standings.deliveries.length === 0) return undefined;
  const { deliveries, routed_by: routedBy } = standings;
  const explanation = explain?.({ event, hidden, deliveries, routedBy: routedBy?.configuration });
  return {
    event: hidden.length === 0 ? event.body : selectPayload(event.body, hidden),
    accepted_at: acceptedAt,
    ...standings,
    ...(explanation === undefined ? {} : { explanation }),
  };
}

/**
 * The selections that apply to what a narrowed caller sees of an event: those recorded with the deliveries to its
 * partners, and those that the present configuration has for them.
 */
function hiddenFrom(
  { table }: HistoryDeps,
  event: StoredEvent,
  { stored, waiting, view }: { stored: readonly StoredMessage[]; waiting: Waiting; view: HistoryView },
): PayloadSelection {
  if (!isNarrowed(view)) return [];
  const mayName = (label: string): boolean => mayNamePartner(view, label);
  const made = parseAttempts(stored).filter(({ partner }) => mayName(`${partner.namespace}/${partner.name}`));
  const live = [...waiting].filter(([label]) => mayName(label)).map(([, delivery]) => delivery);
  const present = [...table().routeOf(event).payloads].filter(([{ label }]) => mayName(label));
  const recorded = [...made, ...live].flatMap(({ routedBy }) => parsePayload(routedBy));
  return differentSelections([...recorded, ...present.flatMap(([, payload]) => payload)]);
}

/** The stream sequence of an event; undefined when the caller may not see its history. */
export async function visibleSeq(
  deps: HistoryDeps,
  eventId: string,
  { tenants, ...access }: PartnerAccess & { readonly tenants: readonly string[] },
): Promise<number | undefined> {
  if (isNarrowed(access) && (await readHistory(deps, eventId, tenants, access)) === undefined) return undefined;
  return (await deps.events.find(tenants, eventHash(eventId)))?.seq;
}

/**
 * Encodes the history as JSON. It contains the bytes of the event as received. Parsing and encoding the event would
 * change digits, escapes and order.
 */
export function historyBytes({ event, ...rest }: EventHistory): Uint8Array {
  const members = JSON.stringify(rest).slice(1);
  return Buffer.concat([Buffer.from('{"event":'), event, Buffer.from(`,${members}`)]);
}

/**
 * The deliveries of an event by its records and live messages, for a caller.
 *
 * @param event shows the signatures of the attempts. @default none is shown
 */
export function standingsOf(
  stored: readonly StoredMessage[],
  waiting: Waiting,
  nowMs: number,
  view: HistoryView = {},
  event?: ShownEvent,
): Pick<EventHistory, "routed_at" | "routed_by" | "deliveries"> {
  const note = parseRoutingNote(stored);
  const denied = (note?.refused ?? []).map(({ namespace, name }) => `${namespace}/${name}`);
  const attempts = parseAttempts(stored);
  const visible = attempts.filter(({ partner: { namespace, name } }) => mayNamePartner(view, `${namespace}/${name}`));
  const requests = event === undefined ? {} : requestParts(event, visible, view);
  const notes = { handled: parseHandled(stored), showsClients: !isNarrowed(view), denied, nowMs, ...requests };
  const all = deliveryHistories(attempts, waiting, notes);
  // The note could reveal another partner to a narrowed caller.
  const shown = isNarrowed(view) ? undefined : note;
  const routedBy = parseRoutedBy(shown?.routedBy) ?? null;
  return { routed_at: shown?.at ?? null, routed_by: routedBy, deliveries: viewOf(all, view) };
}

/** Signatures and requests of the attempts, which share the bodies. */
function requestParts(event: ShownEvent, visible: readonly AttemptRecord[], view: HistoryView) {
  const bodies = rebuiltBodies(event, visible);
  return { signatureOf: signaturesOf(bodies, view), requestOf: requestsOf(view, sentBodies(bodies)) };
}

/**
 * Live deliveries to partners that want the event, or wanted it until the permission was withdrawn. Before the event is
 * routed, the deliveries to come are included.
 *
 * @param findBlock finds what keeps a partner waiting. @default nothing is looked up
 */
export async function waitingPartners(deps: HistoryDeps, event: StoredEvent, findBlock?: FindBlock): Promise<Waiting> {
  const { matching: wanting, denied } = deps.table().routeOf(event);
  if (wanting.length + denied.length === 0) return new Map();
  const isRouted = (await deps.events.routedUpTo()) >= event.seq;
  const find = async (
    partner: Partner,
    defaultDelivery: WaitingDelivery | undefined,
  ): Promise<readonly (readonly [string, WaitingDelivery])[]> => {
    const { label, config } = partner;
    const { held, uid } = config;
    const live = (await liveDelivery(deps, event, partner, uid)) ?? defaultDelivery;
    if (live === undefined) return [];
    const block = await findBlock?.(partner);
    const why = { ...(held === undefined ? {} : { held }), ...(block === undefined ? {} : { block }) };
    return [[label, { ...live, ...why }]];
  };
  const unrouted = isRouted ? undefined : { generation: 0 };
  const reads = [
    ...wanting.map((partner) => find(partner, unrouted)),
    ...denied.map((partner) => find(partner, undefined)),
  ];
  return new Map((await Promise.all(reads)).flat());
}

/** The wildcard of a lane in a subject. */
const anyLane = ["*"];

type Unconfigured = Pick<UnconfiguredPartner, "token" | "uid" | "label" | "isRejected">;

/** Live deliveries of the event to partners without configuration. */
async function waitingRemoved(deps: HistoryDeps, event: StoredEvent): Promise<Waiting> {
  const find = async ({ token: key, uid, label, isRejected }: Unconfigured) => {
    const live = await liveDelivery(deps, event, { key, lanes: anyLane }, uid);
    const held = isRejected ? "partner_rejected" : "partner_removed";
    return live === undefined ? [] : [[label, { ...live, held }] as const];
  };
  return new Map((await Promise.all((await deps.removed()).map(find))).flat());
}

/** The live message of the latest generation. */
async function liveDelivery(
  { deliveries }: HistoryDeps,
  event: StoredEvent,
  { key, lanes }: Pick<Partner, "key" | "lanes">,
  uid: string,
): Promise<Pick<WaitingDelivery, "generation" | "routedBy"> | undefined> {
  const live = await deliveries.live(lanes, key, deliveryId(event.tenant, event.eventId, uid));
  const [latest] = live
    .flatMap((message) => parseDeliveryRecord(message) ?? [])
    .toSorted((one, other) => other.generation - one.generation);
  if (latest === undefined) return undefined;
  const { generation, routedBy } = latest;
  return routedBy === undefined ? { generation } : { generation, routedBy };
}
