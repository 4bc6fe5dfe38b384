import type { ConsumerInfo } from "@nats-io/jetstream";
import { millis } from "@nats-io/transport-node";
import { createSingleFlight } from "../../../limits/bounded-map.ts";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { led, readStreamInfo } from "../messages/stream-info.ts";
import { consumerInfo, consumerNames, deleteConsumer, ensureConsumer } from "../messages/consumers.ts";
import type { HeaderFields } from "../messages/headers.ts";
import { laneConsumer, laneQueues, parseDelivery, parseLaneConsumer, type LaneQueue, type Layout } from "../layout.ts";
import { publish, publishHeader, type PublishResult } from "../messages/publish.ts";
import { startPull, type Pull, type PullOptions } from "../messages/pull.ts";
import {
  readAt,
  readBatch,
  readLast,
  readSize,
  removeMessage,
  type StoredMessage,
  type StreamSize,
} from "../messages/stored-messages.ts";

/** The message of a delivery. */
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

/** State of the consumer of a lane. */
export interface LaneState {
  /** Messages that wait or are in flight. */
  readonly messages: number;
  /** Sequence up to which all messages are acknowledged. */
  readonly settledSeq: number;
  /** Messages handed out so far, repetitions included. */
  readonly handedOut: number;
  /** Remaining time of a pause, in milliseconds; 0 without one. */
  readonly pausedMs: number;
}

/** Configuration of the consumer of a lane. */
export interface LaneConsumer {
  readonly queue: LaneQueue;
  readonly lane: string;
  readonly maxAckPending: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** `HG_DELIVERIES`: one live message per delivery. It waits for its time, is due, or is in flight. */
export interface DeliveriesStream {
  /**
   * Stores a first attempt; `unexpected` means that one is already stored.
   *
   * @throws NoReplyError
   */
  publishFirst(delivery: DeliveryToStore): Promise<PublishResult>;
  /**
   * Stores the next attempt, which is due at `atMs` by JetStream's clock, never earlier. `unexpected` means that the
   * held message is no longer live: another worker has settled it.
   *
   * @throws NoReplyError
   */
  schedule(delivery: DeliveryToStore, held: HeldMessage, atMs: number): Promise<PublishResult>;
  /**
   * Reads the live messages of a delivery from the leader. There are two only between two steps of a settlement.
   *
   * @param lanes the lanes that may hold them
   * @throws NoReplyError
   */
  live(lanes: readonly string[], partner: string, did: string): Promise<readonly StoredMessage[]>;
  /**
   * Stores an unchanged delivery in another lane; `unexpected` as for {@link schedule}.
   *
   * @throws NoReplyError
   */
  move(delivery: DeliveryToStore, held: HeldMessage): Promise<PublishResult>;
  ensureConsumer(consumer: LaneConsumer): Promise<void>;
  /** Reads the state of the consumer of a lane; undefined when it does not exist. */
  laneState(queue: LaneQueue, lane: string): Promise<LaneState | undefined>;
  /**
   * Pauses the consumer of a lane until a time, Unix milliseconds by JetStream's clock. A time in the past ends the
   * pause.
   */
  pause(queue: LaneQueue, lane: string, untilMs: number): Promise<void>;
  pull(queue: LaneQueue, lane: string, options: Omit<PullOptions, "stream" | "consumer">): Pull;
  /** Deletes the consumers of the own lane of a partner. Returns false while messages of the partner exist. */
  removePartner(partner: string): Promise<boolean>;
  /**
   * Reads messages of a partner in one place, in all lanes, from a sequence on, from any replica. Not for the hot path.
   */
  pending(partner: string, place: PendingPlace, seq: number, countMax: number): Promise<readonly StoredMessage[]>;
  /** Removes a message if it exists. */
  remove(seq: number): Promise<void>;
  /** Reads messages of a queue, in all lanes, from a sequence on, from any replica. */
  waiting(queue: LaneQueue, seq: number, countMax: number): Promise<readonly StoredMessage[]>;
  /** Reads the oldest message of a partner (`*`: of all) in a queue, in all lanes. Not for the hot path. */
  oldest(queue: LaneQueue, partner: string): Promise<StoredMessage | undefined>;
  /** Reads the message with this sequence. @throws NoReplyError */
  at(seq: number): Promise<StoredMessage | undefined>;
  /** Lists the lanes with consumers, and the queues of those. */
  lanes(): Promise<ReadonlyMap<string, readonly LaneQueue[]>>;
  /** Deletes the consumers of an unused lane. Returns false when messages may still arrive in it. */
  removeLane(lane: string): Promise<boolean>;
  /** Counts the messages that are due or in flight, by lane. */
  dueByLane(): Promise<ReadonlyMap<string, number>>;
  /**
   * Counts the messages that are due or in flight in a lane, by partner. The server lists their subjects: not for the
   * hot path.
   */
  dueByPartner(lane: string): Promise<ReadonlyMap<string, number>>;
  /** Reads the size of the stream. Concurrent calls share one request. */
  size(): Promise<Pick<StreamSize, "messages" | "bytes">>;
  /**
   * Counts the messages of a partner: those in its lanes, and those that wait for their next attempt. The server lists
   * the subjects of the latter: not for the hot path.
   */
  waitingFor(lane: string, partner: string): Promise<number>;
}

/** Places of the messages of a partner, in the order of {@link Layout.partnerFilters}. */
export const pendingPlaces = ["first", "retry", "schedule"] as const;
type PendingPlace = (typeof pendingPlaces)[number];

const pendingBytesMax = 4 * 1024 * 1024;
/** Limit of a batch of one message: the largest event and its headers. */
const oneMessageBytes = 1024 * 1024;

/** Creates the access to the deliveries stream. */
export function createDeliveriesStream(handle: NatsConnectionHandle, layout: Layout): DeliveriesStream {
  const stream = layout.streams.deliveries;
  const once = createSingleFlight<StreamSize>();
  return {
    publishFirst: ({ lane, partner, did, messageId, headers: fields, body: payload }) => {
      const expected = { [publishHeader.messageId]: messageId, [publishHeader.expectedSubjectSequence]: "0" };
      const subject = layout.firstAttempt(lane, partner, did);
      return publish(handle, { subject, payload, headers: { ...fields, ...expected } });
    },
    schedule: (delivery, held, atMs) => {
      const { lane, partner, did, body: payload } = delivery;
      // The error of the clock estimate is added, so that no attempt starts early.
      const safeAtMs = atMs + Math.ceil(handle.clock.errorMs());
      const headers = {
        ...inPlaceOf(held, delivery),
        [publishHeader.schedule]: `@at ${new Date(safeAtMs).toISOString()}`,
        [publishHeader.scheduleTarget]: layout.retry(lane, partner, did),
      };
      return publish(handle, { subject: layout.schedule(partner, did), payload, headers });
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
    move: (delivery, held) => {
      const { lane, partner, did, body: payload } = delivery;
      const subject = layout.sameQueue(held.subject, lane, partner, did);
      return publish(handle, { subject, payload, headers: inPlaceOf(held, delivery) });
    },
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
      return readBatch(handle, stream, { subject, seq, countMax, bytesMax: pendingBytesMax });
    },
    remove: (seq) => removeMessage(handle, stream, seq),
    waiting: (queue, seq, countMax) =>
      readBatch(handle, stream, { subject: layout.laneFilter(queue, "*"), seq, countMax }),
    oldest: async (queue, partner) => {
      const subject = queue === "first" ? layout.firstAttempt("*", partner, "*") : layout.retry("*", partner, "*");
      return (await readBatch(handle, stream, { subject, countMax: 1, bytesMax: oneMessageBytes }))[0];
    },
    at: (seq) => readAt(handle, stream, seq),
    lanes: async () => queuesByLane(await consumerNames(handle, stream)),
    removeLane: (lane) => removeLane(handle, layout, lane),
    dueByLane: () => dueByLane(handle, stream),
    dueByPartner: (lane) => dueByPartner(handle, layout, lane),
    size: () => once("size", () => readSize(handle, stream)),
    waitingFor: (lane, partner) => waitingFor(handle, layout, lane, partner),
  };
}

async function removePartner(handle: NatsConnectionHandle, layout: Layout, partner: string): Promise<boolean> {
  const stream = layout.streams.deliveries;
  const counts = await Promise.all(
    layout.partnerFilters(partner).map((filter) => countSubjects(handle, stream, filter)),
  );
  if (counts.some((count) => count > 0)) return false;
  await Promise.all(laneQueues.map((queue) => deleteConsumer(handle, stream, laneConsumer(queue, partner))));
  return true;
}

async function removeLane(handle: NatsConnectionHandle, layout: Layout, lane: string): Promise<boolean> {
  const stream = layout.streams.deliveries;
  const names = laneQueues.map((queue) => laneConsumer(queue, lane));
  const infos = await Promise.all(names.map((name) => consumerInfo(handle, stream, name)));
  const isBusy = infos.some((info) => info !== undefined && laneState(info).messages > 0);
  // The target of a schedule is fixed: waiting messages may still arrive in the former lane of the partner.
  if (isBusy || (await countSubjects(handle, stream, layout.schedule(lane, "*"))) > 0) return false;
  await Promise.all(names.map((name) => deleteConsumer(handle, stream, name)));
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
    if (lane !== undefined) due.set(lane, (due.get(lane) ?? 0) + laneState(led(info.name, info)).messages);
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
  for (const { partner } of found.flat().flatMap((subject) => parseDelivery(subject) ?? []))
    due.set(partner, (due.get(partner) ?? 0) + 1);
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
  // In a shared lane, or without a consumer, messages are counted by subject.
  const hasAll = lane === partner && infos[0] !== undefined;
  const filters = layout.partnerFilters(partner).slice(hasAll ? -1 : 0);
  const counts = await Promise.all(filters.map((filter) => countSubjects(handle, stream, filter)));
  const pending = infos.map((info) => (info === undefined || !hasAll ? 0 : laneState(info).messages));
  return [...counts, ...pending].reduce((sum, count) => sum + count, 0);
}

/** Each subject holds one message, so their numbers are equal. */
async function countSubjects(handle: NatsConnectionHandle, stream: string, filter: string): Promise<number> {
  return (await subjectsIn(handle, stream, filter)).length;
}

async function subjectsIn(handle: NatsConnectionHandle, stream: string, filter: string): Promise<readonly string[]> {
  const { state } = await readStreamInfo(handle, stream, { subjects_filter: filter });
  return Object.keys(state.subjects ?? {});
}

function laneState(info: ConsumerInfo): LaneState {
  return {
    messages: info.num_pending + info.num_ack_pending,
    settledSeq: info.ack_floor.stream_seq,
    handedOut: info.delivered.consumer_seq,
    pausedMs: info.paused === true ? millis(info.pause_remaining) : 0,
  };
}

/** Headers that store the message only while the held message exists. */
function inPlaceOf(held: HeldMessage, { messageId, headers }: DeliveryToStore): HeaderFields {
  return {
    ...headers,
    [publishHeader.messageId]: messageId,
    [publishHeader.expectedSubjectSequence]: String(held.seq),
    [publishHeader.expectedSubject]: held.subject,
  };
}
