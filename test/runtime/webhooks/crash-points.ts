import type { NatsConnectionHandle } from "../../../runtime/nats/connection/connect.ts";
import type { Layout } from "../../../runtime/nats/layout.ts";
import { createSender, type Sender } from "../../../runtime/webhooks/sending/send.ts";

/**
 * Points of a delivery at which a process may die, as its requests to NATS and to its partner show them: `routed_one`
 * after a delivery is stored, `loaded` before the POST, `sent` after it, `recorded`, `passed_on` once the next attempt
 * or the dead letter is stored, `acknowledged`.
 */
export type CrashPoint = "routed_one" | "loaded" | "sent" | "recorded" | "passed_on" | "acknowledged";

/** The members of an attempt record, a delivery and a dead letter that name their event. */
interface Stored {
  readonly eventId?: string;
  readonly event_id?: string;
  readonly settlement?: object;
  readonly direct?: true;
}

/** A connection and a sender for an engine. */
interface Watched {
  readonly nats: NatsConnectionHandle;
  readonly sender: Sender;
}

/** Wraps a connection so that every point of a delivery is reported when it is reached. */
export function watchCrashPoints(
  nats: NatsConnectionHandle,
  layout: Layout,
  reach: (point: CrashPoint, eventId: string) => void,
): Watched {
  /** Events with a record that is not acknowledged yet, by the stream that holds their message. */
  const recorded = new Map<string, string[]>(
    [layout.streams.events, layout.streams.deliveries].map((name) => [name, []]),
  );
  const [prefix = ""] = layout.filters.attempts.split(".");
  const stored = (subject: string, payload: Uint8Array | string): void => {
    const [first, kind = ""] = subject.split(".");
    const point = first === prefix ? pointOf[kind] : undefined;
    if (point === undefined) return;
    const { eventId, event_id: id = eventId ?? "", settlement, direct } = parsed(payload);
    if (point === "recorded") {
      if (settlement === undefined) return;
      recorded.get(direct === true ? layout.streams.events : layout.streams.deliveries)?.push(id);
    }
    reach(point, id);
  };
  const requests: NatsConnectionHandle["requests"] = {
    ...nats.requests,
    request: async (subject, payload, options) => {
      const answer = await nats.requests.request(subject, payload, options);
      stored(subject, payload);
      return answer;
    },
  };
  const outbox: NatsConnectionHandle["outbox"] = {
    ...nats.outbox,
    publish: (subject, payload, options) => {
      nats.outbox.publish(subject, payload, options);
      if (String(payload) !== "+ACK") return;
      const waiting = [...recorded].find(([stream]) => subject.includes(`.${stream}.`))?.[1];
      const eventId = waiting?.shift();
      if (eventId !== undefined) reach("acknowledged", eventId);
    },
  };
  return { nats: { ...nats, requests, outbox }, sender: watchedSender(reach) };
}

const pointOf: Readonly<Record<string, CrashPoint>> = {
  dlv: "routed_one",
  att: "recorded",
  sch: "passed_on",
  dlq: "passed_on",
};

function parsed(payload: Uint8Array | string): Stored {
  return JSON.parse(typeof payload === "string" ? payload : Buffer.from(payload).toString()) as Stored;
}

function watchedSender(reach: (point: CrashPoint, eventId: string) => void): Sender {
  const sender = createSender();
  return {
    send: async (request) => {
      const [, eventId = ""] = Object.entries(request.headers).find(([name]) => /^x-event-id$/iu.test(name)) ?? [];
      reach("loaded", eventId);
      const outcome = await sender.send(request);
      reach("sent", eventId);
      return outcome;
    },
    close: () => sender.close(),
  };
}
