import { Agent, request } from "undici";
import { envelopeOf, eventTypes, shapes, type EventFacts, type IngestResult } from "./contracts.ts";
import { tenants } from "./walk.ts";

/** An event of the traffic. Times are Unix milliseconds. */
export interface SentEvent extends EventFacts {
  readonly id: string;
  /** Before the first request. */
  readonly sentMs: number;
  /** When a 202 came; absent without one. */
  acceptedMs?: number;
  /** The response that ended its requests. */
  result?: Responded;
  /** Requests until then. */
  tries: number;
  /** The last response other than 202 and 422. */
  lastResponse?: string;
}

/** A response of 202 or 422, and the time of its request. */
export interface Responded {
  readonly code: IngestResult;
  /** Index of the pod. */
  readonly pod: number;
  readonly fromMs: number;
  readonly toMs: number;
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
  /** Sends no new event; resolves when each was accepted, rejected or given up. */
  stop(): Promise<void>;
}

const requestMsMax = 3_000;
const retryMs = 200;
/** Longer than any server of the walk is away. */
const patienceMs = 60_000;
const inFlightMax = 500;

/**
 * Posts events to both pods in turn. A request without a response of 202 or 422 is sent again, byte for byte, to the
 * other pod.
 */
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
      shape: pick(shapes.map((_, index) => index)),
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
  const body = JSON.stringify(envelopeOf(event.id, event, event.sentMs));
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const order = urls();
  while (event.result === undefined && Date.now() - event.sentMs < patienceMs) {
    const pod = (event.sentMs + event.tries) % order.length;
    const url = order[pod] ?? "";
    event.tries += 1;
    const fromMs = Date.now();
    try {
      const response = await request(`${url}/events`, {
        dispatcher,
        method: "POST",
        headers,
        body,
        signal: AbortSignal.timeout(requestMsMax),
      });
      const text = await response.body.text();
      const code = resultOf(response.statusCode, text);
      if (code === undefined) event.lastResponse = `${response.statusCode} ${text}`;
      else event.result = { code, pod, fromMs, toMs: Date.now() };
      if (code === "accepted") event.acceptedMs = Date.now();
    } catch (error) {
      event.lastResponse = String(error);
    }
    if (event.result === undefined) await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

/** Undefined for a response after which the request is sent again. */
function resultOf(status: number, text: string): IngestResult | undefined {
  if (status === 202) return "accepted";
  return status === 422 ? (JSON.parse(text) as { readonly code: IngestResult }).code : undefined;
}
