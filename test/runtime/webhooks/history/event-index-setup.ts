import type { TestContext } from "vitest";
import { backgroundClock } from "../../../../limits/clock.ts";
import type { StreamSettings } from "../../../../runtime/config/settings/settings.ts";
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import type { Layout } from "../../../../runtime/nats/layout.ts";
import { encodeHeaders } from "../../../../runtime/nats/messages/headers.ts";
import { createAttemptsStream } from "../../../../runtime/nats/streams/attempts-stream.ts";
import { createDeliveriesStream } from "../../../../runtime/nats/streams/deliveries-stream.ts";
import { createEventIndexStream } from "../../../../runtime/nats/streams/event-index-stream.ts";
import { createEventsStream } from "../../../../runtime/nats/streams/events-stream.ts";
import { ensureTopology } from "../../../../runtime/nats/streams/topology.ts";
import { createEventIndex, type EventIndex } from "../../../../runtime/webhooks/event-index/event-index.ts";
import { createIndexWriter } from "../../../../runtime/webhooks/event-index/index-writer.ts";
import type { HistoryDeps } from "../../../../runtime/webhooks/history/history.ts";
import { createEventReads, type EventReads } from "../../../../runtime/webhooks/history/event-reads.ts";
import { deliveryId, eventHash } from "../../../../runtime/webhooks/ids.ts";
import { createRoutingTable } from "../../../../runtime/webhooks/partners/configured-partners.ts";
import type { AttemptRecord } from "../../../../runtime/webhooks/records/attempt-records.ts";
import { eventHeaders } from "../../../../runtime/webhooks/records/event-record.ts";
import type { Settlement } from "../../../../runtime/webhooks/settlement/settle.ts";
import { streamsOf } from "../engine-fixture.ts";
import { compiled } from "../memory-context.ts";

export const partnerNames = ["one", "two", "three"] as const;
export const tenantNames = ["acme", "globex"] as const;
export const typeNames = ["payout.processed", "payout.failed", "order.made"] as const;

/** One attempt of a made event. */
export interface MadeAttempt {
  readonly partner: string;
  readonly settlement: Settlement;
  /** 0: no response. */
  readonly status: number;
  readonly durationMs: number;
  readonly atMs: number;
}

/** One event to store, with its attempts. */
export interface MadeEvent {
  readonly eventId: string;
  readonly tenant: string;
  readonly type: string;
  readonly attempts: readonly MadeAttempt[];
}

/** Streams that a test fills, and two pods that list them. No engine routes or delivers. */
export interface IndexCase {
  readonly nats: NatsConnectionHandle;
  readonly layout: Layout;
  readonly pods: readonly [EventReads, EventReads];
  readonly indexes: readonly [EventIndex, EventIndex];
  /** What the pods read from. */
  readonly deps: HistoryDeps;
  /** Events that the pods have read from the stream in order, without the index. */
  readonly scanned: () => number;
  /** A pod that has loaded no row. */
  readonly newPod: () => EventReads;
  /** Stores events, then all their attempts. */
  readonly store: (events: readonly MadeEvent[]) => Promise<void>;
  /** A writer of the index, as that of a new leader. @param source of the index. @default the streams */
  readonly writer: (source?: string) => () => Promise<void>;
  readonly settings: StreamSettings;
}

let count = 0;

/** Makes streams of their own. They and the connection end with the test. */
export async function indexCase(
  url: string,
  { onTestFinished }: Pick<TestContext, "onTestFinished">,
): Promise<IndexCase> {
  count += 1;
  const nats = await connectNats({ servers: [url] });
  onTestFinished(() => nats.drain());
  const settings = streamsOf(`idx${count}`).streams;
  const layout = await ensureTopology(nats, settings);
  const [events, attempts] = [createEventsStream(nats, layout), createAttemptsStream(nats, layout)];
  const stream = createEventIndexStream(nats, layout);
  // Lists ask how far events are routed.
  await events.ensureRouter(1);
  const table = createRoutingTable(partnerNames.map((name) => compiled(name)));
  let scanned = 0;
  const scan: typeof events.scan = async (...query) => {
    const found = await events.scan(...query);
    scanned += found.length;
    return found;
  };
  const deps = {
    events: { ...events, scan },
    attempts,
    deliveries: createDeliveriesStream(nats, layout),
    now: () => nats.clock.now(),
    table: () => table,
    partners: () => [],
    notApplied: () => new Map(),
    declared: () => new Map(),
    removed: async () => [],
    clock: backgroundClock,
  };
  const indexes = [0, 1].map(() => createEventIndex({ stream, attempts, clock: backgroundClock })) as [
    EventIndex,
    EventIndex,
  ];
  const [one, two] = indexes;
  const source = async (): Promise<string> => (await nats.manager.streams.info(layout.streams.events)).created;
  return {
    nats,
    layout,
    indexes,
    deps,
    scanned: () => scanned,
    newPod: () => createEventReads({ ...deps, index: createEventIndex({ stream, attempts, clock: backgroundClock }) }),
    pods: [createEventReads({ ...deps, index: one }), createEventReads({ ...deps, index: two })],
    store: (made) => storeEvents(nats, layout, made),
    writer: (other) =>
      createIndexWriter({ events, attempts, index: stream, source: async () => other ?? (await source()) }),
    settings,
  };
}

const storedAtOnce = 1_000;

async function storeEvents(nats: NatsConnectionHandle, layout: Layout, made: readonly MadeEvent[]): Promise<void> {
  await inBatches(made, ({ eventId, tenant, type }) => {
    const body = Buffer.from(JSON.stringify({ event_id: eventId, type, tenant, data: {} }));
    const headers = encodeHeaders(eventHeaders({ eventId, type, tenant } as Parameters<typeof eventHeaders>[0], "n"));
    return nats.requests.request(layout.event(tenant, eventHash(eventId)), body, { headers, timeoutMs: 30_000 });
  });
  const all = made.flatMap((event) => recordsOf(event).map((record) => ({ event, record })));
  await inBatches(all, ({ event: { tenant, eventId }, record }) => {
    return nats.requests.request(layout.attempts(tenant, eventHash(eventId)), JSON.stringify(record), {
      timeoutMs: 30_000,
    });
  });
}

async function inBatches<Item>(items: readonly Item[], store: (item: Item) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < items.length; start += storedAtOnce)
    await Promise.all(items.slice(start, start + storedAtOnce).map(store));
}

/** The records of an event's attempts, numbered for each partner. */
function recordsOf({ eventId, tenant, attempts }: MadeEvent): readonly AttemptRecord[] {
  return attempts.map(({ partner, settlement, status, durationMs, atMs }, index) => {
    const attempt = attempts.slice(0, index + 1).filter((one) => one.partner === partner).length;
    const uid = `uid-of-${partner}`;
    return {
      did: deliveryId(tenant, eventId, uid),
      generation: 0,
      attempt,
      hop: 0,
      eventId,
      tenant,
      partner: { uid, namespace: "default", name: partner },
      number: attempt,
      at: new Date(atMs).toISOString(),
      durationMs,
      timings: { totalMs: durationMs },
      outcome:
        status === 0
          ? { kind: "failure", reason: "connect_timeout", detail: "" }
          : { kind: "response", status, headers: {}, body: "", bodyTruncated: false },
      settlement,
      pod: "pod-1",
    };
  });
}

/** Numbers from 0 to below 1, always the same for a seed. Source: mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Events with up to two attempts for each of some partners, in all states. */
export function randomEvents(total: number, random: () => number, nowMs: number): readonly MadeEvent[] {
  const pick = <Item>(items: readonly [Item, ...Item[]]): Item =>
    items[Math.floor(random() * items.length)] ?? items[0];
  return Array.from({ length: total }, (_, index) => ({
    eventId: `e-${index}`,
    tenant: pick(tenantNames),
    type: pick(typeNames),
    attempts: partnerNames.flatMap((partner) => {
      const ends = pick([endedBy(200), endedBy(404), endedBy(503), endedBy(0), undefined]);
      const atMs = nowMs - total + index;
      const made = { partner, durationMs: Math.floor(random() * 500), atMs };
      const retries = random() < 0.3 ? [{ ...made, ...retried(pick([500, 503, 0])), atMs: atMs - 1_000 }] : [];
      return ends === undefined ? retries : [...retries, { ...made, ...ends }];
    }),
  }));
}

type Ended = Pick<MadeAttempt, "settlement" | "status">;

function reasonOf(status: number): `status_${number}` | "connect_timeout" {
  return status === 0 ? "connect_timeout" : `status_${status}`;
}

function endedBy(status: number): Ended {
  if (status === 200) return { status, settlement: { kind: "delivered" } };
  return { status, settlement: { kind: status === 404 ? "rejected" : "dead", reason: reasonOf(status) } };
}

function retried(status: number): Ended {
  return { status, settlement: { kind: "retry", atMs: 0, reason: reasonOf(status) } };
}
