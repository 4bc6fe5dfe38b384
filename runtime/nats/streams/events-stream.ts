import { createSingleFlight } from "../../bounds/single-flight.ts";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { deleteConsumer, ensureConsumer } from "../messages/consumers.ts";
import { routerConsumer, type Layout } from "../layout.ts";
import { publish, publishHeader, type PublishResult } from "../messages/publish.ts";
import { startPull, type Pull, type PullOptions } from "../messages/pull.ts";
import { readAt, readBatchFrom, readLast, readLastOfTenants, type StoredMessage } from "../messages/stored-messages.ts";
import type { HeaderFields } from "../messages/headers.ts";

/** An event for the stream. */
export interface EventToStore {
  readonly tenant: string;
  readonly idhash: string;
  readonly headers: HeaderFields;
  readonly bytes: Uint8Array;
}

/** `HG_EVENTS`: what producers sent, byte for byte, each id once. */
export interface EventsStream {
  /**
   * Stores the event if no tenant has its id over the whole retention. `unexpected`: one has it, or is about to, since
   * the stream's leader also refuses an id that another message still being replicated carries.
   *
   * @throws Unanswered
   */
  store(event: EventToStore): Promise<PublishResult>;
  /** The newest event of any tenant with this id, read from the leader. @throws Unanswered */
  readOfAny(idhash: string): Promise<StoredMessage | undefined>;
  /** The stored event, read from the leader. @throws Unanswered */
  read(tenant: string, idhash: string): Promise<StoredMessage | undefined>;
  /** The event of one of these tenants (`*`: of any); the newest when several have it. */
  find(tenants: readonly string[], idhash: string): Promise<StoredMessage | undefined>;
  /** The event of each of these tenants (`*`: of all) with this id. */
  findEach(tenants: readonly string[], idhash: string): Promise<readonly StoredMessage[]>;
  /** The event with this sequence. @throws Unanswered */
  at(seq: number): Promise<StoredMessage | undefined>;
  /** Events of a tenant (`*`: of all) in order, from a sequence or a time on, as many as are quick to read. */
  scan(
    tenant: string,
    from: { readonly seq: number } | { readonly atMs: number },
    countMax: number,
  ): Promise<readonly StoredMessage[]>;
  /** Makes the router's consumer and answers when that was first done, Unix milliseconds by JetStream's clock. */
  ensureRouter(maxAckPending: number): Promise<number>;
  /** Removes the router's consumer, so that every event is looked at again by the one that is made next. */
  forgetRouter(): Promise<void>;
  pull(options: Omit<PullOptions, "stream" | "consumer">): Pull;
  /** Sequence up to which every event has been routed. */
  routedUpTo(): Promise<number>;
  /** Asked once for all who want to know at the same time. */
  size(): Promise<EventsSize>;
  /** Removes every event before this sequence. */
  dropBefore(seq: number): Promise<void>;
}

/** How full the events stream is. */
export interface EventsSize {
  readonly messages: number;
  readonly bytes: number;
  readonly firstSeq: number;
}

const scanBytesMax = 4 * 1024 * 1024;

/** The events stream of a connection. */
export function createEventsStream(handle: NatsConnectionHandle, layout: Layout): EventsStream {
  const stream = layout.streams.events;
  const once = createSingleFlight<EventsSize>();
  const findEach = (tenants: readonly string[], idhash: string): Promise<readonly StoredMessage[]> =>
    readLastOfTenants(handle, stream, tenants, (tenant) => layout.event(tenant, idhash));
  return {
    store: ({ tenant, idhash, headers, bytes }) => {
      const message = {
        subject: layout.event(tenant, idhash),
        payload: bytes,
        // Unlike the duplicate window, this holds as long as the event is kept. Source: docs/decisions/0114.
        headers: {
          ...headers,
          [publishHeader.expectedSubjectSequence]: "0",
          [publishHeader.expectedSubject]: layout.event("*", idhash),
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
    scan: (tenant, from, countMax) => {
      const subject = layout.event(tenant, "*");
      return readBatchFrom(handle, stream, { subject, ...from, countMax, bytesMax: scanBytesMax });
    },
    ensureRouter: async (maxAckPending) => {
      const consumer = { stream, name: routerConsumer, filter: layout.filters.events, maxAckPending };
      return Date.parse((await ensureConsumer(handle, consumer)).created);
    },
    forgetRouter: () => deleteConsumer(handle, stream, routerConsumer),
    pull: (options) => startPull(handle, { ...options, stream, consumer: routerConsumer }),
    routedUpTo: async () => (await handle.manager.consumers.info(stream, routerConsumer)).ack_floor.stream_seq,
    size: () => once("size", () => sizeOf(handle, stream)),
    dropBefore: async (seq) => void (await handle.manager.streams.purge(stream, { seq })),
  };
}

async function sizeOf(handle: NatsConnectionHandle, stream: string): Promise<EventsSize> {
  const { messages, bytes, first_seq: firstSeq } = (await handle.manager.streams.info(stream)).state;
  return { messages, bytes, firstSeq };
}
