import { Agent, request } from "undici";
import { eventTypes, tenants } from "./walk.ts";

/** An event of the traffic. Times are Unix milliseconds. */
export interface SentEvent {
  readonly id: string;
  readonly tenant: string;
  readonly type: string;
  /** Before the first request. */
  readonly sentMs: number;
  /** When a 202 came; absent without one. */
  acceptedMs?: number;
  /** Requests until then. */
  tries: number;
  /** The last response other than 202. */
  lastResponse?: string;
}

interface TrafficOptions {
  /** Base URLs of the pods, as they are now. */
  readonly urls: () => readonly string[];
  readonly token: string;
  /** First part of every event id. */
  readonly prefix: string;
  readonly random: () => number;
  readonly perSecond: number;
}

/** Events that are posted without pause. */
interface Traffic {
  readonly events: readonly SentEvent[];
  /** Sends no new event; resolves when each has its 202 or was given up. */
  stop(): Promise<void>;
}

const requestMsMax = 3_000;
const retryMs = 200;
/** Longer than any server of the walk is away. */
const patienceMs = 60_000;
const inFlightMax = 500;

/** Posts events to both pods in turn. A request without a 202 is sent again, byte for byte, to the other pod. */
export function startTraffic(options: TrafficOptions): Traffic {
  const agent = new Agent({
    connections: 16,
    headersTimeout: requestMsMax,
    bodyTimeout: requestMsMax,
    connectTimeout: requestMsMax,
  });
  const events: SentEvent[] = [];
  const underWay = new Set<Promise<void>>();
  const pick = <T>(list: readonly T[]): T => list[Math.floor(options.random() * list.length)] as T;
  const send = (): void => {
    if (underWay.size >= inFlightMax) return;
    const event: SentEvent = {
      id: `${options.prefix}-${events.length}`,
      tenant: pick(tenants),
      type: pick(eventTypes),
      sentMs: Date.now(),
      tries: 0,
    };
    events.push(event);
    const sending = post(event, options, agent).finally(() => underWay.delete(sending));
    underWay.add(sending);
  };
  const timer = setInterval(send, 1_000 / options.perSecond);
  return {
    events,
    stop: async () => {
      clearInterval(timer);
      await Promise.all(underWay);
      await agent.destroy();
    },
  };
}

async function post(event: SentEvent, { urls, token }: TrafficOptions, dispatcher: Agent): Promise<void> {
  const body = JSON.stringify(envelopeOf(event));
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const order = urls();
  while (event.acceptedMs === undefined && Date.now() - event.sentMs < patienceMs) {
    const url = order[(event.sentMs + event.tries) % order.length] ?? "";
    event.tries += 1;
    try {
      const response = await request(`${url}/events`, {
        dispatcher,
        method: "POST",
        headers,
        body,
        signal: AbortSignal.timeout(requestMsMax),
      });
      const text = await response.body.text();
      if (response.statusCode === 202) event.acceptedMs = Date.now();
      else event.lastResponse = `${response.statusCode} ${text}`;
    } catch (error) {
      event.lastResponse = String(error);
    }
    if (event.acceptedMs === undefined) await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

function envelopeOf({ id, tenant, type, sentMs }: SentEvent): object {
  return {
    event_id: id,
    type,
    version: "2026-01-01",
    ts: new Date(sentMs).toISOString(),
    producer: "walk",
    tenant,
    data: { note: `event ${id}` },
  };
}
