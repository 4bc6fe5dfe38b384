import { randomUUID } from "node:crypto";
import { backgroundClock } from "../../../limits/clock.ts";
import type { NatsConnectionHandle } from "../../nats/connection/connect.ts";
import type { Layout } from "../../nats/layout.ts";
import type { PublishResult } from "../../nats/messages/publish.ts";
import { removeMessage } from "../../nats/messages/stored-messages.ts";
import { createAttemptsStream, type AttemptsStream } from "../../nats/streams/attempts-stream.ts";
import { createDeadLettersStream, type DeadLettersStream } from "../../nats/streams/dead-letters-stream.ts";
import { createDeliveriesStream, type DeliveriesStream } from "../../nats/streams/deliveries-stream.ts";
import { createEventsStream, type EventsStream } from "../../nats/streams/events-stream.ts";
import { createStreamWrites, type StreamWrites } from "../../nats/streams/stream-writes.ts";
import { noTenant, ownIdPrefix, pingType } from "../events/envelope.ts";
import { eventHash } from "../ids.ts";
import { eventHeaders } from "../records/event-record.ts";

/** The streams of a pod, whose writes are noted. */
interface WatchedStreams {
  readonly writes: StreamWrites;
  readonly events: EventsStream;
  readonly deliveries: DeliveriesStream;
  readonly attempts: AttemptsStream;
  readonly deadLetters: DeadLettersStream;
}

/** No stream has a message with this sequence. The servers of a stream agree on its removal all the same. */
const noSeq = Number.MAX_SAFE_INTEGER;
/** Key of no partner. */
const noPartner = "-";

/** Creates the streams that this pod writes. */
export function createWatchedStreams(nats: NatsConnectionHandle, layout: Layout): WatchedStreams {
  const { streams } = layout;
  const [events, deliveries] = [createEventsStream(nats, layout), createDeliveriesStream(nats, layout)];
  const [attempts, deadLetters] = [createAttemptsStream(nats, layout), createDeadLettersStream(nats, layout)];
  const probeOf = (name: string) => ({ name, probe: () => removeMessage(nats, name, noSeq) });
  const writes = createStreamWrites(
    [
      // Producers may send nothing to a pod that is not ready, so it tries by itself.
      { ...probeOf(streams.events), publish: () => publishProbe(nats, streams.events, events) },
      ...[streams.deliveries, streams.attempts, streams.deadLetters].map(probeOf),
    ],
    backgroundClock,
  );
  const inEvents = (publish: () => Promise<PublishResult>) => writes.note(streams.events, publish);
  const inDeliveries = (publish: () => Promise<PublishResult>) => writes.note(streams.deliveries, publish);
  const inAttempts = (publish: () => Promise<PublishResult>) => writes.note(streams.attempts, publish);
  return {
    writes,
    events: { ...events, store: (event) => inEvents(() => events.store(event)) },
    deliveries: {
      ...deliveries,
      publishFirst: (delivery) => inDeliveries(() => deliveries.publishFirst(delivery)),
      schedule: (...step) => inDeliveries(() => deliveries.schedule(...step)),
      move: (...step) => inDeliveries(() => deliveries.move(...step)),
    },
    attempts: {
      ...attempts,
      append: (...record) => inAttempts(() => attempts.append(...record)),
      appendFirst: (...record) => inAttempts(() => attempts.appendFirst(...record)),
    },
    deadLetters: {
      ...deadLetters,
      append: (deadLetter) => writes.note(streams.deadLetters, () => deadLetters.append(deadLetter)),
    },
  };
}

/** Stores a ping for no partner and removes it. Every version routes it to nobody. */
async function publishProbe(nats: NatsConnectionHandle, stream: string, events: EventsStream): Promise<PublishResult> {
  const eventId = `${ownIdPrefix}probe:${randomUUID()}`;
  const ts = new Date(nats.clock.now()).toISOString();
  const body = { event_id: eventId, type: pingType, version: "1.0", ts, producer: noPartner, data: {} };
  const envelope = { eventId, ...body, tenant: noTenant };
  const result = await events.store({
    tenant: noTenant,
    idhash: eventHash(eventId),
    isExclusive: true,
    headers: eventHeaders(envelope, randomUUID(), { only: noPartner }),
    bytes: Buffer.from(JSON.stringify(body)),
  });
  // What stays is a ping for nobody in the list of events, which ages like any other.
  if (result.kind === "stored") await removeMessage(nats, stream, result.seq).catch(() => undefined);
  return result;
}
