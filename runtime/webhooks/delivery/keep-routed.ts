import { setTimeout as sleep } from "node:timers/promises";
import { pauseAfter, untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import { eventHash } from "../ids.ts";
import type { Partner } from "../partners/partner.ts";
import type { StoredEvent } from "../records/event-record.ts";
import { parseRouted, type RoutedNote } from "../records/routed-note.ts";
import type { DeliveryContext } from "./delivery-context.ts";

/** Keeps a note far below what NATS takes in one message. */
const refusedMax = 1_024;

/** Answers that refuse a note before the event goes on without it. */
const triesMax = 5;

/** What the routing table says of one event. */
export interface Route {
  readonly partners: readonly Partner[];
  /** Partners that would want it had the right not been withdrawn. */
  readonly refused: readonly Partner[];
}

/**
 * Keeps a note of an event that no partner gets, or not every one; nothing is written about any other. It is written
 * when everything else of the routing is done, so that it also says that.
 *
 * @throws Unanswered when the process must end first
 */
export async function keepRouted(
  context: DeliveryContext,
  event: StoredEvent,
  { partners, refused }: Route,
): Promise<void> {
  if (partners.length > 0 && refused.length === 0) {
    return;
  }
  const { ending: signal, metrics, log } = context;
  const names = refused.slice(0, refusedMax).map(({ config: { uid, namespace, name } }) => ({ uid, namespace, name }));
  const at = new Date(context.now()).toISOString();
  const note: RoutedNote = { kind: "routed", at, deliveries: partners.length, refused: names };
  const { tenant, eventId } = event;
  const append = () => context.attempts.append(tenant, eventHash(eventId), JSON.stringify(note));
  for (let tries = 1; (await untilAnswered(append, { signal })).kind === "refused"; tries += 1) {
    if (tries === triesMax) {
      log.error({ eventId, tenant }, "note about the routing of an event not stored, going on without it");
      break;
    }
    await sleep(pauseAfter(tries), undefined, { signal, ref: false });
  }
  metrics.unrouted.inc({ reason: refused.length > 0 ? "not_permitted" : "no_subscription" });
}

/** Reads the note about an event from the leader. @throws Unanswered when the process must end first */
export async function readRouted(
  context: DeliveryContext,
  { tenant, eventId }: StoredEvent,
): Promise<RoutedNote | undefined> {
  const { attempts, ending: signal } = context;
  return parseRouted(await untilAnswered(() => attempts.read(tenant, eventHash(eventId)), { signal }));
}
