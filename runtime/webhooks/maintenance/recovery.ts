import type { Advisory, AdvisoriesStream } from "../../nats/streams/advisories-stream.ts";
import type { Bucket } from "../../nats/streams/buckets.ts";
import type { LaneState } from "../../nats/streams/deliveries-stream.ts";
import { laneQueues, parseDelivery, type LaneQueue } from "../../nats/layout.ts";
import type { PublishResult } from "../../nats/messages/publish.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { deliveryMessage, parseDeliveryRecord, type DeliveryRecord } from "../records/delivery-record.ts";
import type { RegisteredPartner } from "../partners/partner-registry.ts";
import type { Router } from "../routing/router.ts";
import type { RouterDeps } from "../routing/missing-steps.ts";
import { readEvent, type StoredEvent } from "../records/event-record.ts";
import type { MaintenanceContext } from "./background-loops.ts";

export interface RecoveryDeps {
  readonly context: MaintenanceContext;
  readonly router: Pick<Router, "recover">;
  readonly advisories: AdvisoriesStream;
  /** Names of the streams whose advisories are handled. */
  readonly streams: { readonly events: string; readonly deliveries: string };
  /** {@link RegisteredPartner} by key. */
  readonly registry: Bucket;
}

/** Age from which a message without a live consumer is an orphan: the search does not read the usual backlog. */
const orphanAgeMs = 15_000;
/** Messages that one run reads. */
const batchMax = 512;

/**
 * Handles advisories: republishes messages that their consumer will not deliver again. The new message has a higher
 * hop, so that its worker reads the stored state of the delivery first.
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
    context.log[isLoss ? "error" : "info"]({ ...advisory, reason: advisory.kind }, "message of an advisory not found");
    return;
  }
  const event = isEvent ? readEvent(message) : undefined;
  const isStored = event === undefined ? !isEvent && (await republish(context, message)) : await isRecovered(event);
  if (!isStored) {
    context.log.info({ ...advisory, reason: advisory.kind }, "message of an advisory already settled or replaced");
    return;
  }
  context.metrics.rescued.inc({ reason: advisory.kind });
  context.log.error({ ...advisory }, "message republished after its consumer reached the delivery limit");

  async function isRecovered(stored: StoredEvent): Promise<boolean> {
    return (await router.recover(stored)) > 0;
  }
}

/** Replaces the stored message of a delivery; false when the delivery was settled or moved in the meantime. */
async function republish({ deliveries }: RouterDeps, message: StoredMessage): Promise<boolean> {
  const delivery = parseDeliveryRecord(message);
  const { lane } = parseDelivery(message.subject) ?? {};
  if (delivery === undefined || lane === undefined) return false;
  const next = { ...delivery, hop: delivery.hop + 1 };
  const { subject, seq, data } = message;
  const move = (step: DeliveryRecord): Promise<PublishResult> =>
    deliveries.move(deliveryMessage(step, lane, data), { subject, seq });
  const result = await move(next);
  return (result.kind === "duplicate" ? await move({ ...next, hop: next.hop + 1 }) : result).kind === "stored";
}

/**
 * Finds deliveries that no consumer will deliver: those below the position up to which their consumer has settled all
 * messages, and those of unknown partners. A killed server can restore a few acknowledged messages in this state. Each
 * run reads the next messages that are old enough.
 */
export function createOrphanSearch(deps: RecoveryDeps): () => Promise<void> {
  const nextSeq: Record<LaneQueue, number> = { first: 1, retry: 1 };
  return async () => {
    if ((await deps.context.deliveries.size()).messages === 0) return;
    for (const queue of laneQueues) nextSeq[queue] = await searchFrom(deps, queue, nextSeq[queue]);
  };
}

/**
 * Returns the sequence of the next run: 1 after the end of the stream, or after the last message that is old enough.
 */
async function searchFrom(deps: RecoveryDeps, queue: LaneQueue, seq: number): Promise<number> {
  const { context } = deps;
  const youngestMs = context.now() - orphanAgeMs;
  // Usually the oldest message is too young, so this read avoids the larger one.
  const [oldest] = await context.deliveries.waiting(queue, seq, 1);
  if (oldest === undefined || oldest.storedAtMs > youngestMs) return 1;
  const messages = (await context.deliveries.waiting(queue, seq, batchMax)).filter(
    ({ storedAtMs }) => storedAtMs <= youngestMs,
  );
  const known = new Set(context.partners().map(({ key }) => key));
  const states = new Map<string, LaneState | undefined>();
  for (const message of messages) await checkOne(deps, queue, message, { known, states });
  const last = messages.at(-1);
  return last === undefined || messages.length < batchMax ? 1 : last.seq + 1;
}

/** Keys of configured partners, and the lane states that one run has read. */
interface SearchState {
  readonly known: ReadonlySet<string>;
  readonly states: Map<string, LaneState | undefined>;
}

async function checkOne(
  deps: RecoveryDeps,
  queue: LaneQueue,
  message: StoredMessage,
  { known, states }: SearchState,
): Promise<void> {
  const { lane, partner } = parseDelivery(message.subject) ?? {};
  if (lane === undefined || partner === undefined) return;
  if (!states.has(lane)) states.set(lane, await stateOf(deps, queue, lane));
  await (known.has(partner) ? republishOrphan(deps, message, states.get(lane)) : register(deps, partner));
}

/** Reads the state of a lane. Retries without a consumer get one, so that the owner of the lane finds them. */
async function stateOf(
  { context: { deliveries, log } }: RecoveryDeps,
  queue: LaneQueue,
  lane: string,
): Promise<LaneState | undefined> {
  const state = await deliveries.laneState(queue, lane);
  if (state !== undefined || queue === "first") return state;
  await deliveries.ensureConsumer({ queue, lane, maxAckPending: 1, metadata: { lane } });
  log.warn({ lane }, "missing consumer of retries created");
  return await deliveries.laneState(queue, lane);
}

async function republishOrphan(
  deps: RecoveryDeps,
  message: StoredMessage,
  state: LaneState | undefined,
): Promise<void> {
  const isOrphan = state !== undefined && message.seq <= state.settledSeq;
  if (isOrphan && (await republish(deps.context, message))) {
    deps.context.metrics.rescued.inc({ reason: "orphan" });
    deps.context.log.warn({ subject: message.subject, seq: message.seq }, "orphaned delivery republished");
  }
}

/** Adds an unknown partner to the registry. Its deliveries then end as those of a removed partner. */
async function register({ registry, context }: RecoveryDeps, key: string): Promise<void> {
  if ((await registry.get(key)) === undefined) {
    const entry: RegisteredPartner = { token: key, uid: "", label: key };
    await registry.put(key, JSON.stringify(entry));
    context.log.warn({ partner: key }, "delivery of an unknown partner found");
  }
}
