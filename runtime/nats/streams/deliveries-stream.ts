import type { ConsumerInfo } from "@nats-io/jetstream";
import { millis } from "@nats-io/transport-node";
import { createSingleFlight } from "../../bounds/single-flight.ts";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { consumerInfo, consumerNames, deleteConsumer, ensureConsumer } from "../messages/consumers.ts";
import type { HeaderFields } from "../messages/headers.ts";
import { laneConsumer, laneQueues, parseDelivery, parseLaneConsumer, type LaneQueue, type Layout } from "../layout.ts";
import { publish, publishHeader, type PublishResult } from "../messages/publish.ts";
import { startPull, type Pull, type PullOptions } from "../messages/pull.ts";
import {
  readAt,
  readBatch,
  readBatchFrom,
  readLast,
  removeMessage,
  type StoredMessage,
} from "../messages/stored-messages.ts";

/** A delivery's message for the stream. */
export interface DeliveryToStore {
  readonly lane: string;
  readonly partner: string;
  readonly did: string;
  /** Recipe: `messageId` of `runtime/webhooks/ids.ts`. */
  readonly messageId: string;
  readonly headers: HeaderFields;
  readonly body: Uint8Array;
}

/** The message that a worker holds. */
export interface HeldMessage {
  readonly subject: string;
  readonly seq: number;
}

/** What the server says of a lane's consumer. */
export interface LaneState {
  /** Messages that wait or are in flight. */
  readonly messages: number;
  /** Sequence up to which everything is settled, as far as the consumer knows. */
  readonly settledSeq: number;
  /** How much longer nothing is handed out, in milliseconds. */
  readonly pausedMs: number;
}

/** What a stream holds. */
interface StreamSize {
  readonly messages: number;
  readonly bytes: number;
}

/** How a lane is pulled. */
export interface LaneConsumer {
  readonly queue: LaneQueue;
  readonly lane: string;
  readonly maxAckPending: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** `HG_DELIVERIES`: one live message per delivery, which waits, is due or is in flight. */
export interface DeliveriesStream {
  /**
   * Stores a first attempt; `unexpected` says that the delivery already waits for one.
   *
   * @throws Unanswered
   */
  publishFirst(delivery: DeliveryToStore): Promise<PublishResult>;
  /**
   * Stores the next attempt, to be handed out not before `atMs` by JetStream's clock; `unexpected` says that the held
   * message is not the live one any more, so that somebody else has settled it.
   *
   * @throws Unanswered
   */
  schedule(delivery: DeliveryToStore, held: HeldMessage, atMs: number): Promise<PublishResult>;
  /**
   * The live messages of a delivery, read from the leader: more than one only between two steps of a settlement.
   *
   * @param lanes those in which they may be
   * @throws Unanswered
   */
  live(lanes: readonly string[], partner: string, did: string): Promise<readonly StoredMessage[]>;
  /**
   * Stores a delivery, as it is, in another lane; `unexpected` as for {@link schedule}.
   *
   * @throws Unanswered
   */
  forward(delivery: DeliveryToStore, held: HeldMessage): Promise<PublishResult>;
  ensureConsumer(consumer: LaneConsumer): Promise<void>;
  /** What a lane's consumer does; undefined when there is none. */
  laneState(queue: LaneQueue, lane: string): Promise<LaneState | undefined>;
  /**
   * Hands nothing out of the lane until then, Unix milliseconds by JetStream's clock; a time that is past ends that.
   */
  pause(queue: LaneQueue, lane: string, untilMs: number): Promise<void>;
  pull(queue: LaneQueue, lane: string, options: Omit<PullOptions, "stream" | "consumer">): Pull;
  /** Removes the consumers of a partner's own lane; false while something waits for the partner. */
  removePartner(partner: string): Promise<boolean>;
  /**
   * Messages of a partner in one place, in whatever lane, from a sequence on, from any replica. Never for the hot path.
   */
  pending(partner: string, place: PendingPlace, seq: number, countMax: number): Promise<readonly StoredMessage[]>;
  /** Takes a message out; nothing when it is gone already. */
  remove(seq: number): Promise<void>;
  /** Messages of a queue, of every lane, from a sequence on, from any replica. */
  waiting(queue: LaneQueue, seq: number, countMax: number): Promise<readonly StoredMessage[]>;
  /** The oldest message of a partner (`*`: of all) in a queue, whatever lane it is in. Never for the hot path. */
  oldest(queue: LaneQueue, partner: string): Promise<StoredMessage | undefined>;
  /** The message with this sequence. @throws Unanswered */
  at(seq: number): Promise<StoredMessage | undefined>;
  /** Lanes that have consumers, and for which queues. */
  lanes(): Promise<ReadonlyMap<string, readonly LaneQueue[]>>;
  /** Removes the consumers of a lane through which nothing goes any more; false when something still may. */
  removeLane(lane: string): Promise<boolean>;
  /** Messages that are due or in flight, by the lane that they are in. */
  dueByLane(): Promise<ReadonlyMap<string, number>>;
  /**
   * Messages that are due or in flight in a lane, by partner. The server goes through their subjects: never on the hot
   * path.
   */
  dueByPartner(lane: string): Promise<ReadonlyMap<string, number>>;
  /** Everything that waits; asked once for all who want to know at the same time. */
  size(): Promise<StreamSize>;
  /**
   * Messages that wait for a partner: in its lane, when that is its own, and for the time of their next attempt. The
   * server goes through the subjects of the latter: never on the hot path.
   */
  waitingFor(lane: string, partner: string): Promise<number>;
}

/** Where something may wait for a partner; in the order of {@link Layout.partnerFilters}. */
export const pendingPlaces = ["first", "retry", "schedule"] as const;
type PendingPlace = (typeof pendingPlaces)[number];

const pendingBytesMax = 4 * 1024 * 1024;
/** The largest event and its headers. */
const oneMessageBytes = 1024 * 1024;

/** The deliveries stream of a connection. */
export function createDeliveriesStream(handle: NatsConnectionHandle, layout: Layout): DeliveriesStream {
  const stream = layout.streams.deliveries;
  const once = createSingleFlight<StreamSize>();
  return {
    publishFirst: (delivery) => publish(handle, firstAttempt(layout, delivery)),
    schedule: (delivery, held, atMs) => {
      // Never early, however wrong this pod is about the time.
      const safeAtMs = atMs + Math.ceil(handle.clock.errorMs());
      return publish(handle, scheduled(layout, delivery, held, safeAtMs));
    },
    live: async (lanes, partner, did) => {
      const inLane = (lane: string): readonly string[] => [
        layout.firstAttempt(lane, partner, did),
        layout.retry(lane, partner, did),
      ];
      const subjects = [...lanes.flatMap(inLane), layout.schedule(partner, did)];
      const found = await Promise.all(subjects.map((subject) => readLast(handle, stream, subject)));
      return found.filter((message) => message !== undefined);
    },
    forward: (delivery, held) => publish(handle, forwarded(layout, delivery, held)),
    ensureConsumer: async ({ queue, lane, maxAckPending, metadata }) => {
      const filter = layout.laneFilter(queue, lane);
      await ensureConsumer(handle, { stream, name: laneConsumer(queue, lane), filter, maxAckPending, metadata });
    },
    laneState: async (queue, lane) => {
      const info = await consumerInfo(handle, stream, laneConsumer(queue, lane));
      return info === undefined ? undefined : laneState(info);
    },
    pause: async (queue, lane, untilMs) =>
      void (await handle.manager.consumers.pause(stream, laneConsumer(queue, lane), new Date(untilMs))),
    pull: (queue, lane, options) => startPull(handle, { ...options, stream, consumer: laneConsumer(queue, lane) }),
    removePartner: (partner) => removePartner(handle, layout, partner),
    pending: (partner, place, seq, countMax) => {
      const subject = layout.partnerFilters(partner)[pendingPlaces.indexOf(place)] ?? "";
      return readBatchFrom(handle, stream, { subject, seq, countMax, bytesMax: pendingBytesMax });
    },
    remove: (seq) => removeMessage(handle, stream, seq),
    waiting: (queue, seq, countMax) => readBatch(handle, stream, layout.laneFilter(queue, "*"), countMax, seq),
    oldest: async (queue, partner) => {
      const subject = queue === "first" ? layout.firstAttempt("*", partner, "*") : layout.retry("*", partner, "*");
      return (await readBatchFrom(handle, stream, { subject, countMax: 1, bytesMax: oneMessageBytes }))[0];
    },
    at: (seq) => readAt(handle, stream, seq),
    lanes: async () => queuesByLane(await consumerNames(handle, stream)),
    removeLane: async (lane) => {
      const names = laneQueues.map((queue) => laneConsumer(queue, lane));
      const infos = await Promise.all(names.map((name) => consumerInfo(handle, stream, name)));
      const isBusy = infos.some((info) => info !== undefined && laneState(info).messages > 0);
      // The target of a schedule is frozen: what waits may still come through the partner's former lane.
      if (isBusy || (await countSubjects(handle, stream, layout.schedule(lane, "*"))) > 0) {
        return false;
      }
      await Promise.all(names.map((name) => deleteConsumer(handle, stream, name)));
      return true;
    },
    dueByLane: () => dueByLane(handle, stream),
    dueByPartner: (lane) => dueByPartner(handle, layout, lane),
    size: () => once("size", () => sizeOf(handle, stream)),
    waitingFor: (lane, partner) => waitingFor(handle, layout, lane, partner),
  };
}

async function sizeOf(handle: NatsConnectionHandle, stream: string): Promise<StreamSize> {
  const { messages, bytes } = (await handle.manager.streams.info(stream)).state;
  return { messages, bytes };
}

async function removePartner(handle: NatsConnectionHandle, layout: Layout, partner: string): Promise<boolean> {
  const stream = layout.streams.deliveries;
  const counts = await Promise.all(
    layout.partnerFilters(partner).map((filter) => countSubjects(handle, stream, filter)),
  );
  if (counts.some((count) => count > 0)) {
    return false;
  }
  await Promise.all(laneQueues.map((queue) => deleteConsumer(handle, stream, laneConsumer(queue, partner))));
  return true;
}

function queuesByLane(consumers: readonly string[]): ReadonlyMap<string, readonly LaneQueue[]> {
  const found = new Map<string, LaneQueue[]>();
  for (const name of consumers) {
    const parsed = parseLaneConsumer(name);
    if (parsed !== undefined) found.set(parsed.lane, [...(found.get(parsed.lane) ?? []), parsed.queue]);
  }
  return found;
}

async function dueByLane(handle: NatsConnectionHandle, stream: string): Promise<ReadonlyMap<string, number>> {
  const due = new Map<string, number>();
  for await (const info of handle.manager.consumers.list(stream)) {
    const { lane } = parseLaneConsumer(info.name) ?? {};
    if (lane !== undefined) due.set(lane, (due.get(lane) ?? 0) + laneState(info).messages);
  }
  return due;
}

async function dueByPartner(
  handle: NatsConnectionHandle,
  layout: Layout,
  lane: string,
): Promise<ReadonlyMap<string, number>> {
  const filters = laneQueues.map((queue) => layout.laneFilter(queue, lane));
  const found = await Promise.all(filters.map((filter) => subjectsIn(handle, layout.streams.deliveries, filter)));
  const due = new Map<string, number>();
  for (const { partner } of found.flat().flatMap((subject) => parseDelivery(subject) ?? [])) {
    due.set(partner, (due.get(partner) ?? 0) + 1);
  }
  return due;
}

async function waitingFor(
  handle: NatsConnectionHandle,
  layout: Layout,
  lane: string,
  partner: string,
): Promise<number> {
  const stream = layout.streams.deliveries;
  const names = laneQueues.map((queue) => laneConsumer(queue, lane));
  const infos = await Promise.all(names.map((name) => consumerInfo(handle, stream, name)));
  // In a shared lane, or before there is a consumer, everything is counted by subject.
  const hasAll = lane === partner && infos[0] !== undefined;
  const filters = layout.partnerFilters(partner).slice(hasAll ? -1 : 0);
  const counts = await Promise.all(filters.map((filter) => countSubjects(handle, stream, filter)));
  const pending = infos.map((info) => (info === undefined || !hasAll ? 0 : laneState(info).messages));
  return [...counts, ...pending].reduce((sum, count) => sum + count, 0);
}

/** One message per subject: the number of subjects is that of messages. */
async function countSubjects(handle: NatsConnectionHandle, stream: string, filter: string): Promise<number> {
  return (await subjectsIn(handle, stream, filter)).length;
}

async function subjectsIn(handle: NatsConnectionHandle, stream: string, filter: string): Promise<readonly string[]> {
  const { state } = await handle.manager.streams.info(stream, { subjects_filter: filter });
  return Object.keys(state.subjects ?? {});
}

function laneState({ num_pending, num_ack_pending, ack_floor, paused, pause_remaining }: ConsumerInfo): LaneState {
  const pausedMs = paused === true ? millis(pause_remaining) : 0;
  return { messages: num_pending + num_ack_pending, settledSeq: ack_floor.stream_seq, pausedMs };
}

function firstAttempt(layout: Layout, { lane, partner, did, messageId, headers, body }: DeliveryToStore) {
  return {
    subject: layout.firstAttempt(lane, partner, did),
    payload: body,
    headers: { ...headers, [publishHeader.messageId]: messageId, [publishHeader.expectedSubjectSequence]: "0" },
  };
}

function forwarded(layout: Layout, delivery: DeliveryToStore, held: HeldMessage) {
  const { lane, partner, did, body } = delivery;
  return {
    subject: layout.sameQueue(held.subject, lane, partner, did),
    payload: body,
    headers: inPlaceOf(held, delivery),
  };
}

/** Stored only while the message that is held is still there. */
function inPlaceOf(held: HeldMessage, { messageId, headers }: DeliveryToStore): HeaderFields {
  return {
    ...headers,
    [publishHeader.messageId]: messageId,
    [publishHeader.expectedSubjectSequence]: String(held.seq),
    [publishHeader.expectedSubject]: held.subject,
  };
}

function scheduled(layout: Layout, delivery: DeliveryToStore, held: HeldMessage, atMs: number) {
  const { lane, partner, did, body } = delivery;
  return {
    subject: layout.schedule(partner, did),
    payload: body,
    headers: {
      ...inPlaceOf(held, delivery),
      [publishHeader.schedule]: `@at ${new Date(atMs).toISOString()}`,
      [publishHeader.scheduleTarget]: layout.retry(lane, partner, did),
    },
  };
}
