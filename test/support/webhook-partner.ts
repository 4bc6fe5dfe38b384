import { createServer, type IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { leaveCutOff, listenOnLoopback } from "./loopback.ts";

/** One request that a partner received. */
export interface ReceivedDelivery {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly eventId: string;
  readonly attempt: number;
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** What a partner answers. @default status 200 at once */
export interface PartnerAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly delayMs?: number;
}

/** A recipient of webhooks on the loopback interface that remembers everything. */
export interface WebhookPartnerServer {
  readonly url: string;
  readonly received: readonly ReceivedDelivery[];
  /** Deliveries of one event. */
  of(eventId: string): readonly ReceivedDelivery[];
  close(): Promise<void>;
}

/** Starts a recipient; `answer` is asked for each request, after it was remembered. */
export async function startWebhookPartner(
  answer: (delivery: ReceivedDelivery) => PartnerAnswer | Promise<PartnerAnswer> = () => ({}),
  host = "127.0.0.1",
): Promise<WebhookPartnerServer> {
  const received: ReceivedDelivery[] = [];
  const byEvent = new Map<string, ReceivedDelivery[]>();
  const server = createServer((request, response) => {
    void read(request).then(async (delivery) => {
      received.push(delivery);
      byEvent.set(delivery.eventId, [...(byEvent.get(delivery.eventId) ?? []), delivery]);
      const { status = 200, headers = {}, body = "", delayMs = 0 } = await answer(delivery);
      if (delayMs > 0) await sleep(delayMs);
      response.writeHead(status, headers).end(body);
    }, leaveCutOff);
  });
  const loopback = await listenOnLoopback(server, host);
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${loopback.port}/webhooks/v1/{domain}`,
    received,
    of: (eventId) => byEvent.get(eventId) ?? [],
    close: () => loopback.close(),
  };
}

async function read(request: IncomingMessage): Promise<ReceivedDelivery> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  return {
    path: request.url ?? "",
    headers,
    body: Buffer.concat(chunks),
    eventId: headers["x-event-id"] ?? "",
    attempt: Number(headers["x-attempt"]),
    atMs: Date.now(),
  };
}
