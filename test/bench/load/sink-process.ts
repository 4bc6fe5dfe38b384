import "./end-with-bench.ts";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { sharedNowMs } from "./clock.ts";

/** What the parent may ask of a sink. */
export type SinkOrder =
  | { readonly ask: "open"; readonly delaysMs: readonly number[] }
  | { readonly ask: "count" }
  | { readonly ask: "arrivals" }
  | { readonly ask: "forget" };

/** One request that arrived: endpoint, event id, milliseconds of the shared clock. */
export type Arrival = readonly [endpoint: number, eventId: string, atMs: number];

/** The partners of a benchmark, in a process of their own: they read a request to its end and say 200. */
let arrivals: Arrival[] = [];
const ids = new Set<string>();

function answer(response: ServerResponse): void {
  response.writeHead(200, { "content-length": "0" }).end();
}

function open(endpoint: number, delayMs: number): Promise<number> {
  const server = createServer((request, response) => {
    const eventId = String(request.headers["x-event-id"]);
    arrivals.push([endpoint, eventId, sharedNowMs()]);
    ids.add(`${endpoint} ${eventId}`);
    request.resume().once("end", () => {
      if (delayMs === 0) answer(response);
      else setTimeout(() => answer(response), delayMs);
    });
  });
  server.keepAliveTimeout = 60_000;
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

async function handleOrder(order: SinkOrder): Promise<unknown> {
  switch (order.ask) {
    case "open":
      return Promise.all(order.delaysMs.map((delayMs, endpoint) => open(endpoint, delayMs)));
    case "count":
      return { requests: arrivals.length, distinct: ids.size };
    case "arrivals":
      return arrivals;
    case "forget":
      arrivals = [];
      ids.clear();
      return null;
    default:
      throw new Error(`unknown order ${JSON.stringify(order satisfies never)}`);
  }
}

process.on("message", (order: SinkOrder) => void handleOrder(order).then((answered) => process.send?.(answered)));
