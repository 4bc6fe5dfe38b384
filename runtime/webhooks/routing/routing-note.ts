import { setTimeout as sleep } from "node:timers/promises";
import { pauseAfter, untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import { eventHash } from "../ids.ts";
import type { Partner } from "../partners/partner.ts";
import type { StoredEvent } from "../records/event-record.ts";
import { routedByText, parseRoutingNote, type RoutingNote } from "../records/event-notes.ts";
import type { DeliveryContext } from "../delivery/delivery-context.ts";

/** Keeps a note far below the size that NATS allows per message. */
const refusedMax = 1_024;

/** Refusals of a note after which the event continues without it. */
const triesMax = 5;

/** Result of the routing table for one event. */
export interface Route {
  readonly partners: readonly Partner[];
  /** Partners whose subscriptions match but whose right was withdrawn. */
  readonly refused: readonly Partner[];
  /** Hash of the configuration; undefined if unknown. */
  readonly configuration?: string | undefined;
}

/**
 * Stores a note about an event that no partner gets, or that a withdrawn right keeps from some. Other events have no
 * note. The note is the last write of a routing, so its presence shows that the routing is complete.
 *
 * @throws Unanswered when the process must end first
 */
export async function storeRoutingNote(
  context: DeliveryContext,
  event: StoredEvent,
  { partners, refused, configuration }: Route,
): Promise<void> {
  if (partners.length > 0 && refused.length === 0) return;
  const { ending: signal, metrics, log } = context;
  const names = refused.slice(0, refusedMax).map(({ config: { uid, namespace, name } }) => ({ uid, namespace, name }));
  const at = new Date(context.now()).toISOString();
  const routedBy = configuration === undefined ? {} : { routedBy: routedByText(configuration) };
  const note: RoutingNote = { kind: "routed", at, deliveries: partners.length, refused: names, ...routedBy };
  const { tenant, eventId } = event;
  const append = () => context.attempts.append(tenant, eventHash(eventId), JSON.stringify(note));
  for (let tries = 1; (await untilAnswered(append, { signal })).kind === "refused"; tries += 1) {
    if (tries === triesMax) {
      log.error({ eventId, tenant }, "routing note not stored, event continued without it");
      break;
    }
    await sleep(pauseAfter(tries), undefined, { signal, ref: false });
  }
  if (event.only === undefined)
    metrics.unrouted.inc({ reason: refused.length > 0 ? "not_permitted" : "no_subscription" });
}

/** Reads the routing note of an event from the leader. @throws Unanswered when the process must end first */
export async function readRoutingNote(
  context: DeliveryContext,
  { tenant, eventId }: StoredEvent,
): Promise<RoutingNote | undefined> {
  const { attempts, ending: signal } = context;
  return parseRoutingNote(await untilAnswered(() => attempts.read(tenant, eventHash(eventId)), { signal }));
}
