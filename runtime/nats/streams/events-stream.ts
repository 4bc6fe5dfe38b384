import { createSingleFlight } from "../../../limits/bounded-map.ts";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { readConsumerInfo, readStreamInfo } from "../messages/stream-info.ts";
import { openHeaderScan, type HeaderScan } from "../messages/header-scan.ts";
import { deleteConsumer, ensureConsumer } from "../messages/consumers.ts";
import { routerConsumer, type Layout } from "../layout.ts";
import { publish, publishHeader, type PublishResult } from "../messages/publish.ts";
import { startPull, type Pull, type PullOptions } from "../messages/pull.ts";
import {
  readAt,
  readBatch,
  readDirectly,
  readLast,
  readLastOfTenants,
  readSize,
  type StoredMessage,
  type StreamSize,
} from "../messages/stored-messages.ts";
import type { HeaderFields } from "../messages/headers.ts";

/** An event to store. */
export interface EventToStore {
  readonly tenant: string;
  readonly idhash: string;
  /** True for an id that no other tenant can have, so that no other tenant is searched. @default false */
  readonly isExclusive?: boolean;
  readonly headers: HeaderFields;
  readonly bytes: Uint8Array;
}

/** `HG_EVENTS`: the events of producers, byte for byte. Each id is stored once. */
export interface EventsStream {
  /**
   * Stores the event if its id is unused within the retention, in all tenants. The server visits each tenant for that,
   * unless the id is exclusive. `unexpected`: the id is in use, or another message with it is still being replicated.
   *
   * @throws NoReplyError
   */
  store(event: EventToStore): Promise<PublishResult>;
  /** Reads the newest event of any tenant with this id from the leader. @throws NoReplyError */
  readOfAny(idhash: string): Promise<StoredMessage | undefined>;
  /** Reads an event from the leader. @throws NoReplyError */
  read(tenant: string, idhash: string): Promise<StoredMessage | undefined>;
  /** Reads the newest event with this id among these tenants (`*`: all). */
  find(tenants: readonly string[], idhash: string): Promise<StoredMessage | undefined>;
  /** Reads the event with this id of each of these tenants (`*`: all). */
  findEach(tenants: readonly string[], idhash: string): Promise<readonly StoredMessage[]>;
  /** Reads the event with this sequence. @throws NoReplyError */
  at(seq: number): Promise<StoredMessage | undefined>;
  /** Reads the events with these sequences from any replica, without those that are gone. */
  readAll(seqs: readonly number[]): Promise<readonly StoredMessage[]>;
  /** Reads subjects and headers of all events in order, from a sequence on. @throws JetStreamApiError */
  follow(fromSeq: number): Promise<HeaderScan>;
  /** Sequences of the first and of the last event. Concurrent calls share one request. */
  bounds(): Promise<{ readonly firstSeq: number; readonly lastSeq: number }>;
  /** Reads events of a tenant (`*`: of all) in order, from a sequence or a time on, within a limit of bytes. */
  scan(
    tenant: string,
    from: { readonly seq: number } | { readonly atMs: number },
    countMax: number,
  ): Promise<readonly StoredMessage[]>;
  /** Ensures the consumer of the router. Returns the time of its creation, Unix milliseconds by JetStream's clock. */
  ensureRouter(maxAckPending: number): Promise<number>;
  /** Deletes the consumer of the router, so that the next one delivers all events again. */
  forgetRouter(): Promise<void>;
  pull(options: Omit<PullOptions, "stream" | "consumer">): Pull;
  /** Reads the sequence up to which all events are routed. Concurrent calls share one request. */
  routedUpTo(): Promise<number>;
  /** Reads the sequence of the last event that was stored. */
  lastSeq(): Promise<number>;
  /** Reads the size of the stream. Concurrent calls share one request. */
  size(): Promise<StreamSize>;
  /** Removes every event before this sequence. */
  dropBefore(seq: number): Promise<void>;
}

/** Events that routers may hold at once, over all pods: at most 64 MiB of bodies. */
export const routingMax = 256;
const scanBytesMax = 4 * 1024 * 1024;

/** Creates the access to the events stream. */
export function createEventsStream(handle: NatsConnectionHandle, layout: Layout): EventsStream {
  const stream = layout.streams.events;
  const once = createSingleFlight<StreamSize>();
  const onceRouted = createSingleFlight<number>();
  const onceBounds = createSingleFlight<{ readonly firstSeq: number; readonly lastSeq: number }>();
  const findEach = (tenants: readonly string[], idhash: string): Promise<readonly StoredMessage[]> =>
    readLastOfTenants(handle, stream, tenants, (tenant) => layout.event(tenant, idhash));
  return {
    store: ({ tenant, idhash, isExclusive = false, headers, bytes }) => {
      const message = {
        subject: layout.event(tenant, idhash),
        payload: bytes,
        // Unlike the duplicate window, this covers the whole retention. Source: docs/decisions/0114.
        headers: {
          ...headers,
          [publishHeader.expectedSubjectSequence]: "0",
          [publishHeader.expectedSubject]: layout.event(isExclusive ? tenant : "*", idhash),
        },
      };
      return publish(handle, message);
    },
    read: (tenant, idhash) => readLast(handle, stream, layout.event(tenant, idhash)),
    readOfAny: (idhash) => readLast(handle, stream, layout.event("*", idhash)),
    findEach,
    find: async (tenants, idhash) => {
      const found = await findEach(tenants, idhash);
      return found.reduce<StoredMessage | undefined>((a, b) => (a === undefined || b.seq > a.seq ? b : a), undefined);
    },
    at: (seq) => readAt(handle, stream, seq),
    readAll: (seqs) => readDirectly(handle, stream, seqs),
    follow: (seq) => openHeaderScan(handle, stream, { subjects: [layout.filters.events], from: { seq } }),
    bounds: () =>
      onceBounds("bounds", async () => {
        const { first_seq: firstSeq, last_seq: lastSeq } = (await readStreamInfo(handle, stream)).state;
        return { firstSeq, lastSeq };
      }),
    scan: (tenant, from, countMax) => {
      const subject = layout.event(tenant, "*");
      return readBatch(handle, stream, { subject, ...from, countMax, bytesMax: scanBytesMax });
    },
    ensureRouter: async (maxAckPending) => {
      const consumer = { stream, name: routerConsumer, filter: layout.filters.events, maxAckPending };
      return Date.parse((await ensureConsumer(handle, consumer)).created);
    },
    forgetRouter: () => deleteConsumer(handle, stream, routerConsumer),
    pull: (options) => startPull(handle, { ...options, stream, consumer: routerConsumer }),
    routedUpTo: () =>
      onceRouted("routed", async () => (await readConsumerInfo(handle, stream, routerConsumer)).ack_floor.stream_seq),
    lastSeq: async () => (await readStreamInfo(handle, stream)).state.last_seq,
    size: () => once("size", () => readSize(handle, stream)),
    dropBefore: async (seq) => void (await handle.manager.streams.purge(stream, { seq })),
  };
}
