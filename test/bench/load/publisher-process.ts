import "./end-with-bench.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "undici";
import { sharedNowMs } from "./clock.ts";

/** The order of a publisher process. */
export interface PublishOrder {
  /** Of each pod, which publishers use in turn. */
  readonly urls: readonly string[];
  readonly token: string;
  /** Publishers at once, each with a connection of its own. */
  readonly publishers: number;
  readonly first: number;
  readonly count: number;
  readonly eventBytes: number;
  /** Event `n` has type `bench.<n mod types>.done`. */
  readonly types: number;
  /** Events per second over all publishers; 0 is as fast as they go. */
  readonly ratePerSecond: number;
  /** Whether a response that is no success, or none, is followed by the same event again. */
  readonly repeats: boolean;
  /** Event `n` is of tenant `n mod tenants`. @default one tenant */
  readonly tenants?: number;
  /** Whether ids begin with the tenant. @default false */
  readonly isPrefixed?: boolean;
  /** Events in one request. @default 1 */
  readonly batch?: number;
}

/** When each event was first sent, by id, in milliseconds of the shared clock; and how long answers took. */
export interface PublishResult {
  readonly sentAtMs: readonly (readonly [eventId: string, atMs: number])[];
  readonly replyMs: readonly number[];
  readonly repeated: number;
}

const repeatPauseMs = 20;

/** The request of event `n` and those of its batch after it. */
function requestBody(n: number, order: PublishOrder): string {
  const { batch = 1, first, count } = order;
  if (batch === 1) return eventText(n, order);
  const last = Math.min(n + batch, first + count);
  return `[${Array.from({ length: last - n }, (_, place) => eventText(n + place, order)).join(",")}]`;
}

/** Bytes of event `n`, padded to the size asked for. */
function eventText(n: number, order: PublishOrder): string {
  const tenant = order.tenants === undefined ? "bench" : `tenant-${n % order.tenants}`;
  const event = {
    event_id: order.isPrefixed === true ? `${tenant}.evt-${n}` : `evt-${n}`,
    type: `bench.${n % order.types}.done`,
    version: "2026-01-01",
    ts: "2026-01-01T00:00:00.000Z",
    tenant,
    data: { n, place: String(n % order.types), currency: "EUR", note: "" },
  };
  const note = "x".repeat(Math.max(0, order.eventBytes - JSON.stringify(event).length));
  return JSON.stringify({ ...event, data: { ...event.data, note } });
}

async function publishAll(order: PublishOrder): Promise<PublishResult> {
  const sentAtMs: [string, number][] = [];
  const replyMs: number[] = [];
  const headers = { authorization: `Bearer ${order.token}`, "content-type": "application/json" };
  const startedAtMs = sharedNowMs();
  let next = order.first;
  let repeated = 0;
  const post = async (client: Client, body: string): Promise<boolean> => {
    const response = await client.request({ path: "/events", method: "POST", headers, body }).catch(() => undefined);
    if (response === undefined || response.statusCode >= 300 || (order.batch ?? 1) === 1) {
      await response?.body.dump().catch(() => undefined);
      return response !== undefined && response.statusCode < 300;
    }
    const { results } = (await response.body.json()) as { readonly results: readonly { readonly status: number }[] };
    return results.every(({ status }) => status < 300);
  };
  const publisher = async (_: undefined, place: number): Promise<void> => {
    const client = new Client(order.urls[place % order.urls.length] ?? "");
    while (next < order.first + order.count) {
      const n = next;
      next += order.batch ?? 1;
      if (order.ratePerSecond > 0)
        await sleep(Math.max(0, startedAtMs + ((n - order.first) * 1_000) / order.ratePerSecond - sharedNowMs()));
      const body = requestBody(n, order);
      const atMs = sharedNowMs();
      sentAtMs.push([`evt-${n}`, atMs]);
      while (!(await post(client, body))) {
        if (!order.repeats) throw new Error(`event ${n} was not taken`);
        repeated += 1;
        await sleep(repeatPauseMs);
      }
      replyMs.push(sharedNowMs() - atMs);
    }
    await client.close();
  };
  await Promise.all(Array.from({ length: order.publishers }, publisher));
  return { sentAtMs, replyMs, repeated };
}

process.on("message", (order: PublishOrder) => void publishAll(order).then((result) => process.send?.(result)));
