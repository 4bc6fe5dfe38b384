import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { signHmacV1 } from "../../../../runtime/webhooks/signing/hmac-v1.ts";
import type { Receiver, Receivers } from "./receivers.ts";

/** What the sender saw. */
export interface FloodResult {
  /** Requests that were answered 200. */
  readonly accepted: number;
  /** Requests of the sender, those without an answer included. */
  readonly requests: number;
  readonly kills: number;
  /** Requests under way at processes when they were killed: only these may be repeated by the kills. */
  readonly cutOff: number;
}

export interface FloodOptions {
  readonly events: number;
  readonly kills: number;
  readonly secret: string;
  /** From 0 to 1. */
  readonly random: () => number;
}

const duplicateShare = 0.3;
/** Share of these that go out as two copies at the same moment. */
const togetherShare = 0.15;
const inFlightMax = 32;
const pauseMs = 50;
const requestMsMax = 60_000;
const triesMax = 2_000;

/** Ids of the deliveries in the order in which they go out: each event once, and 30 % of them again. */
export function planOf(events: number, random: () => number): readonly string[] {
  const ids = Array.from({ length: events }, (_, index) => `flood-${index}`);
  const again = new Set(ids.filter(() => random() < duplicateShare));
  const plan = [...ids, ...again].map((id) => ({ id, order: random() })).sort((a, b) => a.order - b.order);
  return plan.flatMap(({ id }) => (again.has(id) && random() < togetherShare ? [id, id] : [id]));
}

/**
 * Delivers all events to random processes until each delivery is answered 200, and kills processes meanwhile.
 * @throws Error when a delivery is refused too often
 */
export async function flood(receivers: Receivers, options: FloodOptions): Promise<FloodResult> {
  const plan = planOf(options.events, options.random);
  const agent = new Agent({ connections: inFlightMax });
  const seen = { accepted: 0, requests: 0, kills: 0, cutOff: 0 };
  const restarts: Promise<void>[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < plan.length) {
      const id = plan[next] ?? "";
      next += 1;
      if (seen.kills < options.kills && next > ((seen.kills + 1) * plan.length) / (options.kills + 1)) {
        const victim = busiest(receivers.alive);
        seen.kills += 1;
        seen.cutOff += victim?.inFlight ?? 0;
        if (victim !== undefined) restarts.push(receivers.replace(victim));
      }
      await deliver(id, receivers, { ...options, agent, seen });
    }
  };
  try {
    await Promise.all(Array.from({ length: inFlightMax }, work));
    await Promise.all(restarts);
  } finally {
    await agent.destroy();
  }
  return seen;
}

/** Of several processes, killing the busiest one cuts off the most. */
function busiest(alive: readonly Receiver[]): Receiver | undefined {
  return [...alive].sort((a, b) => b.inFlight - a.inFlight)[0];
}

interface Sending extends FloodOptions {
  readonly agent: Agent;
  readonly seen: { accepted: number; requests: number };
}

async function deliver(id: string, receivers: Receivers, sending: Sending): Promise<void> {
  for (let attempt = 1; attempt <= triesMax; attempt += 1) {
    const receiver = receivers.alive[Math.floor(sending.random() * receivers.alive.length)];
    if (receiver !== undefined) {
      receiver.inFlight += 1;
      sending.seen.requests += 1;
      const status = await post(receiver.port, bodyOf(id, attempt), sending).catch(() => 0);
      receiver.inFlight -= 1;
      if (status === 200) {
        sending.seen.accepted += 1;
        return;
      }
      if (status >= 400 && status < 429) throw new Error(`${id} was refused with ${status}`);
    }
    await sleep(pauseMs);
  }
  throw new Error(`${id} was not accepted in ${triesMax} attempts`);
}

function bodyOf(eventId: string, attempt: number): Buffer {
  const ts = new Date().toISOString();
  const data = { payout_id: eventId, status: "paid" };
  return Buffer.from(
    JSON.stringify({ event_id: eventId, type: "payout.processed", version: "2026-01-01", ts, attempt, data }),
  );
}

async function post(port: number, body: Buffer, { secret, agent }: Sending): Promise<number> {
  const path = "/webhooks/v1/payout";
  const timestamp = new Date().toISOString();
  const signature = signHmacV1(Buffer.from(secret), { timestamp, method: "POST", path, body });
  const answer = await request(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-signature": signature, "x-timestamp": timestamp },
    body,
    dispatcher: agent,
    signal: AbortSignal.timeout(requestMsMax),
  });
  await answer.body.dump();
  return answer.statusCode;
}
