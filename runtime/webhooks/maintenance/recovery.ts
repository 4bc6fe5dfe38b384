import type { Advisory, AdvisoriesStream } from "../../nats/streams/advisories-stream.ts";
import type { Bucket } from "../../nats/streams/buckets.ts";
import type { LaneState } from "../../nats/streams/deliveries-stream.ts";
import { laneQueues, parseDelivery, type LaneQueue } from "../../nats/layout.ts";
import type { PublishResult } from "../../nats/messages/publish.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { deliveryMessage, parseDeliveryRecord, type DeliveryRecord } from "../records/delivery-record.ts";
import type { RegisteredPartner } from "../partners/partner-registry.ts";
import type { Partner } from "../partners/partner.ts";
import type { Router, RouterDeps } from "../delivery/router.ts";
import { readEvent } from "../records/event-record.ts";

export interface RecoveryDeps {
  readonly context: RouterDeps;
  readonly router: Pick<Router, "recover">;
  readonly advisories: AdvisoriesStream;
  /** Names of the streams that advisories speak of. */
  readonly streams: { readonly events: string; readonly deliveries: string };
  readonly partners: () => readonly Partner[];
  /** {@link RegisteredPartner} by token. */
  readonly registry: Bucket;
  /** Age from which a message that nobody hands out is an orphan. @default 15 seconds */
  readonly orphanAgeMs?: number | undefined;
}

/**
 * Long enough that the usual backlog is not read; what was settled a moment ago is not stored again however young it
 * is.
 */
const orphanAgeMsDefault = 15_000;
/** Messages looked at in one turn. */
const batchMax = 512;

/**
 * Obeys advisories: what a consumer will not hand out again is stored again, with one hop more, so that whoever gets it
 * looks first at what became of it.
 */
export async function handleAdvisories(deps: RecoveryDeps): Promise<void> {
  await deps.advisories.take((advisory) => handle(deps, advisory));
}

async function handle(deps: RecoveryDeps, advisory: Advisory): Promise<void> {
  const { context, streams, router } = deps;
  const isEvent = advisory.stream === streams.events;
  const message = await (isEvent ? context.events.at(advisory.seq) : context.deliveries.at(advisory.seq));
  if (message === undefined) {
    const isLoss = advisory.kind === "terminated" && !isEvent;
    context.log[isLoss ? "error" : "info"]({ ...advisory }, "a message that an advisory speaks of is gone");
    return;
  }
  const event = isEvent ? readEvent(message) : undefined;
  if (event !== undefined) {
    await router.recover(event);
  } else if (!isEvent) {
    await renew(context, message);
  }
  context.metrics.rescued.inc({ reason: advisory.kind });
  context.log.error({ ...advisory }, "rescued a message that would not have been handed out again");
}

/** Stores a delivery again in its place; false when it is settled or moved by now. */
async function renew({ deliveries }: RouterDeps, message: StoredMessage): Promise<boolean> {
  const delivery = parseDeliveryRecord(message);
  const { lane } = parseDelivery(message.subject) ?? {};
  if (delivery === undefined || lane === undefined) {
    return false;
  }
  const next = { ...delivery, hop: delivery.hop + 1 };
  const { subject, seq, data } = message;
  const forward = (step: DeliveryRecord): Promise<PublishResult> =>
    deliveries.move(deliveryMessage(step, lane, data), { subject, seq });
  const answer = await forward(next);
  return (answer.kind === "duplicate" ? await forward({ ...next, hop: next.hop + 1 }) : answer).kind === "stored";
}

/**
 * Looks for deliveries that nobody will ever hand out: below the point up to which their consumer has settled
 * everything, or of partners that nobody knows. After a server is killed a few acknowledged messages can come back like
 * that. Each call looks at the next few messages that are old enough. Source: design §4 ("Traps").
 */
export function createOrphanSearch(deps: RecoveryDeps): () => Promise<void> {
  const nextSeq: Record<LaneQueue, number> = { first: 1, retry: 1 };
  return async () => {
    if ((await deps.context.deliveries.size()).messages === 0) return;
    for (const queue of laneQueues) {
      nextSeq[queue] = await searchFrom(deps, queue, nextSeq[queue]);
    }
  };
}

/** Where to go on: at the start again when the end, or what is too young, was reached. */
async function searchFrom(deps: RecoveryDeps, queue: LaneQueue, seq: number): Promise<number> {
  const { context, partners } = deps;
  const youngestMs = context.now() - (deps.orphanAgeMs ?? orphanAgeMsDefault);
  // Most of the time the oldest is young, and its successors are not worth reading.
  const [oldest] = await context.deliveries.waiting(queue, seq, 1);
  if (oldest === undefined || oldest.storedAtMs > youngestMs) {
    return 1;
  }
  const messages = (await context.deliveries.waiting(queue, seq, batchMax)).filter(
    ({ storedAtMs }) => storedAtMs <= youngestMs,
  );
  const known = new Set(partners().map(({ key }) => key));
  const states = new Map<string, LaneState | undefined>();
  for (const message of messages) {
    await checkOne(deps, queue, message, { known, states });
  }
  const last = messages.at(-1);
  return last === undefined || messages.length < batchMax ? 1 : last.seq + 1;
}

/** What one search has found so far: keys of known partners, and the states of lanes. */
interface Found {
  readonly known: ReadonlySet<string>;
  readonly states: Map<string, LaneState | undefined>;
}

async function checkOne(
  deps: RecoveryDeps,
  queue: LaneQueue,
  message: StoredMessage,
  { known, states }: Found,
): Promise<void> {
  const { lane, partner } = parseDelivery(message.subject) ?? {};
  if (lane === undefined || partner === undefined) return;
  if (!states.has(lane)) states.set(lane, await stateOf(deps, queue, lane));
  await (known.has(partner) ? renewOrphan(deps, message, states.get(lane)) : adopt(deps, partner));
}

/** Retries without a consumer get one, which those who pull the lane find: nobody else knows of them. */
async function stateOf(
  { context: { deliveries, log } }: RecoveryDeps,
  queue: LaneQueue,
  lane: string,
): Promise<LaneState | undefined> {
  const state = await deliveries.laneState(queue, lane);
  if (state !== undefined || queue === "first") return state;
  await deliveries.ensureConsumer({ queue, lane, maxAckPending: 1, metadata: { lane } });
  log.warn({ lane }, "retries that had no consumer");
  return await deliveries.laneState(queue, lane);
}

async function renewOrphan(deps: RecoveryDeps, message: StoredMessage, state: LaneState | undefined): Promise<void> {
  const isOrphan = state !== undefined && message.seq <= state.settledSeq;
  if (isOrphan && (await renew(deps.context, message))) {
    deps.context.metrics.rescued.inc({ reason: "orphan" });
    deps.context.log.warn({ subject: message.subject, seq: message.seq }, "a delivery that nobody would hand out");
  }
}

/** Something is stored for a partner that nobody knows: once it is on the list, it goes like that of removed ones. */
async function adopt({ registry, context }: RecoveryDeps, token: string): Promise<void> {
  if ((await registry.get(token)) === undefined) {
    const entry: RegisteredPartner = { token, uid: "", label: token };
    await registry.put(token, JSON.stringify(entry));
    context.log.warn({ partner: token }, "something waits for a partner that nobody knows");
  }
}
