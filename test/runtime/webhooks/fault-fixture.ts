import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Registry } from "prom-client";
import type { NatsConnectionHandle } from "../../../runtime/nats/connection/connect.ts";
import { createEventsStream } from "../../../runtime/nats/streams/events-stream.ts";
import { ensureTopology } from "../../../runtime/nats/streams/topology.ts";
import { parseAttempts } from "../../../runtime/webhooks/records/attempt-records.ts";
import { createDeliveryMetrics } from "../../../runtime/webhooks/telemetry/delivery-metrics.ts";
import { createDeliverySpans } from "../../../runtime/webhooks/telemetry/delivery-spans.ts";
import { eventHash } from "../../../runtime/webhooks/ids.ts";
import { createIngest } from "../../../runtime/webhooks/ingest/ingest.ts";
import { createAttemptsStream } from "../../../runtime/nats/streams/attempts-stream.ts";
import { createLayout } from "../../../runtime/nats/layout.ts";
import type { WebhookPartnerServer } from "../../support/webhook-partner.ts";
import { waitFor } from "../../support/wait.ts";
import { isEmpty } from "./engine-cases.ts";
import { eventBytes, streamsOf, testSettings } from "./engine-fixture.ts";
import type { WorkerOrder } from "./worker-process.ts";

/** Called with what cleans up after a test. */
type Cleanup = (clean: () => Promise<void>) => void;

/** Starts an engine in a process of its own; resolves when it pulls. */
export async function startWorker(order: WorkerOrder, atEnd: Cleanup): Promise<ChildProcess> {
  const worker = fork(new URL("worker-process.ts", import.meta.url), [JSON.stringify(order)]);
  atEnd(() => killWorker(worker));
  const [message] = (await Promise.race([once(worker, "message"), once(worker, "exit")])) as [unknown];
  if (message !== "ready") throw new Error(`the worker ended with ${String(message)} before it was ready`);
  return worker;
}

/** Ends a worker as a crash would. */
export async function killWorker(worker: ChildProcess): Promise<void> {
  if (worker.exitCode === null && worker.signalCode === null) {
    const gone = once(worker, "exit");
    worker.kill("SIGKILL");
    await gone;
  }
}

/** Stores events without an engine. */
export async function producer(
  prefix: string,
  handle: NatsConnectionHandle,
  replicas?: number,
): Promise<(id: string) => Promise<unknown>> {
  const layout = await ensureTopology(handle, streamsOf(prefix, undefined, replicas).streams);
  let count = 0;
  const ingest = createIngest({
    events: createEventsStream(handle, layout),
    personalData: testSettings.personalData,
    isConnected: () => handle.isConnected(),
    nonce: () => `producer.${(count += 1)}`,
    metrics: createDeliveryMetrics(new Registry()),
    spans: createDeliverySpans(undefined),
  });
  return (eventId) => ingest(eventBytes(eventId), { tenants: ["*"] });
}

/** `e-0`, `e-1`, … */
export function idsOf(count: number, prefix = "e"): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

/**
 * Brings every event, a few at once; whoever is not answered brings it again, as producers do.
 *
 * @param atOnce few enough let the deliveries keep up, so that most first attempts are made straight from their events
 */
export async function produceAll(
  ids: readonly string[],
  produce: (id: string) => Promise<unknown>,
  atOnce = 64,
): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    for (let id = ids[next++]; id !== undefined; id = ids[next++]) {
      const eventId = id;
      await waitFor(async () => (await produce(eventId), true), { timeoutMs: 60_000, what: eventId, pollMs: 50 });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

/** What became of events at one partner. */
interface FaultCount {
  /** Events that never came. */
  readonly lost: number;
  /** Attempts that came more than once. */
  readonly doubled: number;
  /** Of those, attempts of which every POST left a record: nobody had to make them again. */
  readonly needless: number;
}

/** Counts by what the partner received and what is recorded. */
export async function countFaults(
  partner: WebhookPartnerServer,
  ids: readonly string[],
  handle: NatsConnectionHandle,
  prefix: string,
): Promise<FaultCount> {
  const attempts = createAttemptsStream(handle, createLayout(prefix));
  const lost = ids.filter((id) => partner.of(id).length === 0).length;
  const doubled = ids.flatMap((id) => {
    const numbers = partner.of(id).map(({ attempt }) => attempt);
    return [...new Set(numbers)].filter((n) => numbers.filter((m) => m === n).length > 1).map((n) => [id, n] as const);
  });
  let needless = 0;
  for (const [id, number] of doubled) {
    const records = parseAttempts(await attempts.list("acme", eventHash(id))).filter(
      (record) => record.number === number,
    );
    needless += records.length >= partner.of(id).filter(({ attempt }) => attempt === number).length ? 1 : 0;
  }
  return { lost, doubled: doubled.length, needless };
}

/** A partner whose events go through an engine with streams of its own. */
interface DirectCase {
  readonly nats: NatsConnectionHandle;
  readonly prefix: string;
  readonly partner: Pick<WebhookPartnerServer, "of">;
  readonly produce: (id: string) => Promise<unknown>;
}

let warmCount = 0;
const roundsMax = 5;
const directTimeoutMs = 60_000;

/** Sends events until one is delivered without a stored delivery. */
export async function untilDirect({ nats, prefix, partner, produce }: DirectCase): Promise<void> {
  const sendOne = async (): Promise<boolean> => {
    const before = await storedDeliveries(nats, prefix);
    const id = `warm-${(warmCount += 1)}`;
    await produce(id);
    await waitFor(() => partner.of(id).length === 1, { timeoutMs: directTimeoutMs, what: id, pollMs: 1 });
    return (await storedDeliveries(nats, prefix)) === before;
  };
  await waitFor(sendOne, { timeoutMs: directTimeoutMs, what: "a delivery that is not stored", pollMs: 1 });
}

/**
 * Sends some events together that the partner answers late. Resolves with their ids when all have arrived and no
 * delivery is stored. A stall of the machine makes the engine store one: then the events end, and others are sent.
 *
 * @param end makes the partner answer. @default it answers by itself
 */
export async function sendDirectly(
  it: DirectCase,
  count: number,
  end: (id: string) => void = () => undefined,
): Promise<readonly string[]> {
  const { nats, prefix, partner, produce } = it;
  for (let round = 1; round <= roundsMax; round += 1) {
    await untilDirect(it);
    const before = await storedDeliveries(nats, prefix);
    const ids = Array.from({ length: count }, (_, index) => `direct-${round}-${index}`);
    await Promise.all(ids.map(produce));
    const all = (): boolean => ids.every((id) => partner.of(id).length === 1);
    await waitFor(all, { timeoutMs: directTimeoutMs, what: ids.join(), pollMs: 1 });
    if ((await storedDeliveries(nats, prefix)) === before) return ids;
    ids.forEach(end);
    await untilDrained(nats, prefix, directTimeoutMs);
  }
  throw new Error(`no ${count} attempts straight from their events in ${roundsMax} rounds`);
}

/** Deliveries that were ever stored. */
export async function storedDeliveries({ manager }: NatsConnectionHandle, prefix: string): Promise<number> {
  return (await manager.streams.info(createLayout(prefix).streams.deliveries)).state.last_seq;
}

/** Resolves when nothing waits for delivery any more. */
export async function untilDrained(handle: NatsConnectionHandle, prefix: string, timeoutMs: number): Promise<void> {
  await waitFor(() => isEmpty(handle, createLayout(prefix)), { timeoutMs, what: "an empty queue" });
}
