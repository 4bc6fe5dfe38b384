import { retryUntilReply, pauseAfter } from "../../nats/connection/retry-until-reply.ts";
import type { PayloadSelection } from "../events/payload-selection.ts";
import { deliveryId, partnerKey, eventHash } from "../ids.ts";
import type { Partner, Recipient } from "../partners/partner.ts";
import { isUnstored, readAttempts, type AttemptRecord } from "../records/attempt-records.ts";
import { isLater, type DeliveryRecord, deliveryMessage } from "../records/delivery-record.ts";
import {
  type StoredEvent,
  routedByText,
  parseRoutingNote,
  sentBytes,
  type RoutingNote,
} from "../records/event-record.ts";
import { settlementRow } from "../settlement/settlement-table.ts";
import type { DeliveryContext } from "../delivery/delivery-context.ts";
import { readStoredState } from "../delivery/redelivery.ts";
import { type UnsentReason, endUnsent } from "../delivery/apply-settlement.ts";
import { storeStep } from "../delivery/store-step.ts";
import type { Backlogs } from "./backlog-limit.ts";
import type { ListPartner } from "../partners/partner-registry.ts";
import { setTimeout as sleep } from "node:timers/promises";

/** A step of a delivery that is to be stored. */
export interface MissingStep {
  readonly partner: Recipient;
  readonly step: DeliveryRecord;
}

/** What is read about the deliveries of an event. */
interface MissingStepsDeps extends Pick<DeliveryContext, "deliveries" | "attempts" | "ending"> {
  readonly partners: () => readonly Partner[];
}

/**
 * The steps of an event that are neither live nor passed. The live messages are read first: a message that is gone by
 * then has left an attempt.
 */
export async function missingSteps(
  deps: MissingStepsDeps,
  event: StoredEvent,
  recipients: readonly Recipient[],
): Promise<readonly MissingStep[]> {
  const { ending: signal } = deps;
  const isLive = async (partner: Recipient): Promise<boolean> => {
    const { did } = firstDelivery(event, partner);
    const live = await retryUntilReply(() => deps.deliveries.live(partner.lanes, partner.key, did), { signal });
    return live.length > 0;
  };
  const areLive = await Promise.all(recipients.map(isLive));
  const attempts = await attemptsOf(deps, event);
  const others = attemptedDirectly(deps, recipients, attempts);
  if (others.length > 0) return missingSteps(deps, event, [...recipients, ...others]);
  return recipients.flatMap((partner, index) => {
    const first = firstDelivery(event, partner);
    const own = attempts.filter(({ did }) => did === first.did);
    const step = areLive[index] === true ? undefined : unstoredStep(first, own);
    return step === undefined ? [] : [{ partner, step }];
  });
}

/** The step that must be stored again, if any. Live messages are read twice: a schedule may fire between two reads. */
export async function lostDelivery(
  deps: MissingStepsDeps,
  event: StoredEvent,
  partner: Recipient,
): Promise<DeliveryRecord | undefined> {
  const first = firstDelivery(event, partner);
  const isGone = async (): Promise<boolean> => (await readStoredState(deps, first, partner)).live.length === 0;
  if (!(await isGone()) || !(await isGone())) return undefined;
  const { attempts } = await readStoredState(deps, first, partner);
  const last = attempts.toSorted((a, b) => (isLater(a, b) ? -1 : 1))[0];
  return unstoredStep(first, attempts) ?? (last === undefined ? undefined : stepAfter(first, last));
}

/** The first step, if no worker has settled it. */
function unstoredStep(first: DeliveryRecord, attempts: readonly AttemptRecord[]): DeliveryRecord | undefined {
  // The next hop: its worker looks for the record.
  return isUnstored(attempts)
    ? { ...first, hop: attempts.length === 0 ? 0 : 1, ...routedByOf(attempts[0]) }
    : undefined;
}

/** The configuration of an earlier routing: a repeat of it may find another one. */
function routedByOf(attempt: AttemptRecord | undefined): Pick<DeliveryRecord, "routedBy"> {
  return attempt?.routedBy === undefined ? {} : { routedBy: attempt.routedBy };
}

/** One hop more than the lost message, because the stream may still know its id. */
function stepAfter(first: DeliveryRecord, last: AttemptRecord) {
  const { generation, attempt, number, settlement } = last;
  const attemptsBefore = number - attempt;
  const step = { ...first, generation, attempt: attempt + 1, hop: 1, attemptsBefore, ...routedByOf(last) };
  return settlementRow(settlement).ends ? undefined : step;
}

/**
 * Partners that a direct attempt was made to and that the routing table does not name any more. Their deliveries
 * continue as stored ones do; those of a partner that is not configured end with the reason.
 */
export function attemptedDirectly(
  { partners }: Pick<MissingStepsDeps, "partners">,
  recipients: readonly Recipient[],
  attempts: readonly AttemptRecord[],
): readonly Recipient[] {
  const named = new Set(recipients.map(({ config }) => config.uid));
  const others = attempts.filter(({ direct, partner }) => direct === true && !named.has(partner.uid));
  return [...new Map(others.map(({ partner }) => [partner.uid, partner])).values()].map((partner) => {
    const key = partnerKey(partner.uid);
    const label = `${partner.namespace}/${partner.name}`;
    const removed = { key, label, lane: key, lanes: ["*"], config: { ...partner, specDigest: "" } };
    return partners().find(({ config }) => config.uid === partner.uid) ?? removed;
  });
}

export function attemptsOf(
  deps: MissingStepsDeps,
  { tenant, eventId }: StoredEvent,
): Promise<readonly AttemptRecord[]> {
  return retryUntilReply(() => readAttempts(deps.attempts, tenant, eventId), { signal: deps.ending });
}

export function firstDelivery(event: StoredEvent, partner: Pick<Recipient, "key" | "config">): DeliveryRecord {
  const { tenant, eventId, type, producer, acceptedAtMs, trace } = event;
  return {
    did: deliveryId(tenant, eventId, partner.config.uid),
    partner: partner.key,
    tenant,
    eventId,
    type,
    acceptedAtMs,
    generation: 0,
    attempt: 1,
    hop: 0,
    attemptsBefore: 0,
    ...(producer === undefined ? {} : { producer }),
    ...(trace === undefined ? {} : { trace }),
  };
}

const backlogFull: UnsentReason = {
  reason: "backlog_full",
  detail: "the backlog of the partner has reached its limit, nothing was sent",
};

interface DeliveryToEnsure extends MissingStep {
  readonly event: StoredEvent;
  readonly isMissing: () => Promise<boolean>;
  /** False when another router may have the event. */
  readonly isHeld: () => boolean;
}

/** Stores a delivery unless it has gone on, or the event is lost to another router. */
export async function ensureDelivery(
  deps: RouterDeps,
  { event, partner, step, isMissing, isHeld }: DeliveryToEnsure,
): Promise<"stored" | "gone_on" | "lost"> {
  await deps.listPartner(partner);
  if (!isHeld()) return "lost";
  const body = sentBytes(event, step.routedBy);
  // A delivery that has begun continues.
  if (step.hop === 0 && deps.backlogs.isFull(partner)) {
    const unsent = { delivery: step, partner, body, before: [] };
    // A delivery whose dead letter is rejected waits in the backlog.
    if ((await endUnsent(deps, unsent, backlogFull)) !== undefined) return "gone_on";
  }
  const isStored = await storeStep(deps, {
    step,
    publish: (delivery) => deps.deliveries.publishFirst(deliveryMessage(delivery, partner.lane, body)),
    hasGoneOn: async () => !(await isMissing()),
    partner: partner.label,
    warning: "delivery not stored yet",
  });
  if (!isStored) return "gone_on";
  if (event.only === undefined) deps.metrics.routed.inc();
  return "stored";
}

export interface RouterDeps extends DeliveryContext {
  readonly backlogs: Pick<Backlogs, "isFull">;
  readonly listPartner: ListPartner;
  readonly partners: () => readonly Partner[];
}

/** Keeps a note far below the size that NATS allows per message. */
const deniedMax = 1_024;

/** Rejections of a note after which the event continues without it. */
const triesMax = 5;

/** Result of the routing table for one event. */
export interface Route {
  readonly partners: readonly Partner[];
  /** Partners whose subscriptions match but whose right was withdrawn. */
  readonly denied: readonly Partner[];
  /** The part of the event that is sent, for partners that do not get all of it. */
  readonly payloads: ReadonlyMap<Recipient, PayloadSelection>;
  /** Hash of the configuration; undefined if unknown. */
  readonly configuration?: string | undefined;
}

/**
 * Stores a note about an event that no partner gets, or that a withdrawn right keeps from some. Other events have no
 * note. The note is the last write of a routing, so its presence shows that the routing is complete.
 *
 * @throws NoReplyError when the process must end first
 */
export async function storeRoutingNote(
  context: DeliveryContext,
  event: StoredEvent,
  { partners, denied, configuration }: Route,
): Promise<void> {
  if (partners.length > 0 && denied.length === 0) return;
  const { ending: signal, metrics, log } = context;
  const names = denied.slice(0, deniedMax).map(({ config: { uid, namespace, name } }) => ({ uid, namespace, name }));
  const at = new Date(context.now()).toISOString();
  const routedBy = configuration === undefined ? {} : { routedBy: routedByText(configuration) };
  const note: RoutingNote = { kind: "routed", at, deliveries: partners.length, refused: names, ...routedBy };
  const { tenant, eventId } = event;
  const append = () => context.attempts.append(tenant, eventHash(eventId), JSON.stringify(note));
  for (let tries = 1; (await retryUntilReply(append, { signal })).kind === "rejected"; tries += 1) {
    if (tries === triesMax) {
      log.error({ eventId, tenant }, "routing note not stored, event routed without it");
      break;
    }
    await sleep(pauseAfter(tries), undefined, { signal, ref: false });
  }
  if (event.only === undefined)
    metrics.unrouted.inc({ reason: denied.length > 0 ? "not_permitted" : "no_subscription" });
}

/** Reads the routing note of an event from the leader. @throws NoReplyError when the process must end first */
export async function readRoutingNote(
  context: DeliveryContext,
  { tenant, eventId }: StoredEvent,
): Promise<RoutingNote | undefined> {
  const { attempts, ending: signal } = context;
  return parseRoutingNote(await retryUntilReply(() => attempts.read(tenant, eventHash(eventId)), { signal }));
}
