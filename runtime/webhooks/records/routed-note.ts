import { setTimeout as sleep } from "node:timers/promises";
import type { PartnerConfig } from "../../../crds/config.ts";
import { pauseAfter, untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { DeliveryContext } from "../delivery/delivery-context.ts";
import { eventHash } from "../ids.ts";
import type { Partner } from "../partners/partner.ts";
import type { StoredEvent } from "./event-record.ts";

/** Says that the router gave an event to nobody, or not to some partners; kept among the attempts of the event. */
export interface RoutedNote {
  readonly kind: "routed";
  /** When the event was routed, ISO 8601 UTC by JetStream's clock. */
  readonly at: string;
  /** Deliveries that were made of it. */
  readonly deliveries: number;
  /** Partners whose right to get the event was withdrawn; at most {@link refusedMax}. */
  readonly refused: readonly Pick<PartnerConfig, "uid" | "namespace" | "name">[];
}

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

/** The first note among the messages of an event: an event is routed once, though a repeat may store its note again. */
export function parseRouted(messages: readonly Pick<StoredMessage, "data">[]): RoutedNote | undefined {
  for (const { data } of messages) {
    const note = parseNote(data);
    if (note !== undefined) return note;
  }
  return undefined;
}

function parseNote(data: Uint8Array): RoutedNote | undefined {
  try {
    const value = JSON.parse(Buffer.from(data).toString()) as Partial<RoutedNote> | null;
    return value?.kind === "routed" && value.at !== undefined ? (value as RoutedNote) : undefined;
  } catch {
    return undefined;
  }
}
