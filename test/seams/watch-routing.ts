import { connect, type NatsConnection } from "@nats-io/transport-node";
import type { Absence } from "./installation.ts";
import { startLooking } from "./looking.ts";

/** How far events are routed, and what still waits. */
export interface RoutingWatch {
  /**
   * Unix milliseconds by which an event that was accepted at this time is routed; undefined when no look shows it.
   */
  routedByMs(acceptedMs: number): number | undefined;
  /** Live items of the deliveries stream, as of the last look. */
  waiting(): number;
  /** Subjects that live items have now. */
  waitingSubjects(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

interface Look {
  /** Before the last sequence was read. */
  readonly refreshMs: number;
  readonly lastSeq: number;
  /** After the router's floor was read. */
  readonly readMs: number;
  readonly floor: number;
}

const requestMsMax = 1_000;
const subjectsMax = 10_000;

/** Looks at the streams. The floor of the router's consumer is past an event once its routing was acknowledged. */
export async function watchRouting(url: string): Promise<RoutingWatch> {
  const connection = await connect({
    servers: url,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
    waitOnFirstConnect: true,
  });
  const looks: Look[] = [];
  let waiting = Number.POSITIVE_INFINITY;
  const looking = startLooking(async () => {
    const refreshMs = Date.now();
    const events = await ask<{ state: { last_seq: number } }>(connection, "STREAM.INFO.HG_EVENTS");
    const router = await ask<{ ack_floor: { stream_seq: number } }>(connection, "CONSUMER.INFO.HG_EVENTS.router");
    looks.push({ refreshMs, lastSeq: events.state.last_seq, readMs: Date.now(), floor: router.ack_floor.stream_seq });
    waiting = (await ask<{ state: { messages: number } }>(connection, "STREAM.INFO.HG_DELIVERIES")).state.messages;
  });
  return {
    routedByMs: (acceptedMs) => {
      const first = looks.findIndex(({ refreshMs }) => refreshMs >= acceptedMs);
      const seq = looks[first]?.lastSeq ?? Number.POSITIVE_INFINITY;
      return looks.slice(Math.max(first, 0)).find(({ floor }) => floor >= seq)?.readMs;
    },
    waiting: () => waiting,
    waitingSubjects: async () => {
      const query = { subjects_filter: ">" };
      const { state } = await ask<{ state: { subjects?: Record<string, number> } }>(
        connection,
        "STREAM.INFO.HG_DELIVERIES",
        query,
      );
      return Object.keys(state.subjects ?? {}).slice(0, subjectsMax);
    },
    stop: async () => {
      await looking.stop();
      await connection.close();
    },
  };
}

/** Acknowledgements of the last moment before NATS is killed may be lost, and their messages handed out again. */
const reopenedBeforeMs = 2_000;
/** What a consumer handed out before a crash, it hands out again within two waits of two seconds. */
const redeliveredWithinMs = 6_000;

/** The end of an event's routing, when NATS was killed just after it. */
export function withRedelivery(toMs: number, absences: readonly Absence[]): number {
  const reopening = absences.filter(
    ({ verb, fromMs }) =>
      verb === "kill_nats" && fromMs - reopenedBeforeMs <= toMs && toMs <= fromMs + redeliveredWithinMs,
  );
  return Math.max(toMs, ...reopening.map((absence) => absence.toMs + redeliveredWithinMs));
}

/** Between the death of a server and the time that this process notes of it. */
const notedWithinMs = 500;

/** Whether a server that routes, or that knows what was routed, died while an event was being routed. */
export function mayRouteAgain(fromMs: number, toMs: number, absences: readonly Absence[]): boolean {
  return absences.some(
    ({ verb, fromMs: diedMs }) =>
      /_(?:pod|nats)$/u.test(verb) && diedMs >= fromMs - notedWithinMs && diedMs <= toMs + notedWithinMs,
  );
}

async function ask<T>(connection: NatsConnection, subject: string, body: object = {}): Promise<T> {
  const response = await connection.request(`$JS.API.${subject}`, JSON.stringify(body), { timeout: requestMsMax });
  const parsed = response.json<T & { error?: { description: string } }>();
  if (parsed.error !== undefined) throw new Error(`${subject}: ${parsed.error.description}`);
  return parsed;
}
