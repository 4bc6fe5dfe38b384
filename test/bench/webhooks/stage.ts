import { waitFor } from "../../support/wait.ts";
import { startProgram, withUsage, type Bench } from "../harness/bench.ts";
import { quantile } from "../harness/figures.ts";
import { makeSite, type Site, type Subject, type Usage } from "../harness/program.ts";
import { startPublishers, startSink, type Publishers, type Sink } from "../load/children.ts";
import { sharedNowMs } from "../load/clock.ts";
import type { PublishOrder, PublishResult } from "../load/publisher-process.ts";
import { webhookPartner } from "./partner.ts";

/** Publishers and endpoints in processes of their own; each part starts a program on data of its own. */
export interface WebhookStage {
  readonly sink: Sink;
  readonly publishers: Publishers;
  /** Number of the next event, so that no id comes twice. */
  next: number;
  close(): Promise<void>;
}

export const eventBytes = 512;
export const publisherCount = 64;
export const endpointCount = 10;
export const timeoutMs = 300_000;

export async function openWebhooks(): Promise<WebhookStage> {
  const [sink, publishers] = [await startSink(), await startPublishers(2)];
  return { sink, publishers, next: 0, close: async () => void (await Promise.all([sink.stop(), publishers.stop()])) };
}

/** A program of a part, with as many partners as endpoints: endpoint `n` gets the events of type `bench.<n>.done`. */
export interface Running {
  readonly stage: WebhookStage;
  readonly site: Site;
  readonly subject: Subject;
  readonly types: number;
}

interface ProgramOptions {
  /** @default as many pods as the bench has */
  readonly start?: (site: Site) => Promise<Subject>;
  /** The configuration for endpoints at these ports. @default a partner for each */
  readonly objects?: (ports: readonly number[]) => readonly object[];
  /** Types of events. @default one for each endpoint */
  readonly types?: number;
  /** Settings besides those that every part has. */
  readonly settings?: object;
}

/** A partner for each port, which gets the events of one type. */
export function partnersAt(ports: readonly number[]): readonly object[] {
  return ports.flatMap((port, place) => webhookPartner(port, place));
}

const objectsPerFile = 200;

/** Runs some work on a program with endpoints that answer after these delays. */
export async function withProgram<T>(
  stage: WebhookStage,
  bench: Bench,
  delaysMs: readonly number[],
  work: (running: Running) => Promise<T>,
  { start = (site) => startProgram(site, bench.pods), objects = partnersAt, ...options }: ProgramOptions = {},
): Promise<T> {
  const { types = delaysMs.length, settings } = options;
  const site = await makeSite(bench.program, settings);
  try {
    const ports = await stage.sink.open(delaysMs);
    const all = objects(ports);
    // A file has a limit of bytes.
    for (let first = 0; first < all.length; first += objectsPerFile)
      await site.write(`partners-${first}.yaml`, all.slice(first, first + objectsPerFile));
    const subject = await start(site);
    try {
      return await work({ stage, site, subject, types });
    } finally {
      await subject.stop();
      await stage.sink.forget();
    }
  } finally {
    await site.remove();
  }
}

export const fastEndpoints: readonly number[] = Array.from({ length: endpointCount }, () => 0);

/** Publishes events and answers the order's result; their arrivals may still be to come. */
export async function publish(
  { stage, site, subject, types }: Running,
  count: number,
  ratePerSecond: number,
  more: Partial<PublishOrder> = {},
): Promise<PublishResult> {
  const first = stage.next;
  stage.next += count;
  const token = await site.token("bench");
  return stage.publishers.publish({ ...order, urls: subject.urls, token, first, count, types, ratePerSecond, ...more });
}

const order = { publishers: publisherCount, eventBytes, repeats: true } satisfies Partial<PublishOrder>;

export async function arrived({ sink }: WebhookStage, count: number): Promise<void> {
  const what = `${count} arrivals`;
  await waitFor(async () => (await sink.count()).distinct >= count, { timeoutMs, what, pollMs: 10 });
}

/** Milliseconds from the first sending of an event to its first arrival, of the endpoints asked for. */
export async function waitsMs(
  { sink }: WebhookStage,
  { sentAtMs }: PublishResult,
  endpoints?: readonly number[],
): Promise<number[]> {
  const sentAt = new Map(sentAtMs);
  const first = new Map<string, number>();
  for (const [endpoint, eventId, atMs] of await sink.arrivals())
    if ((endpoints?.includes(endpoint) ?? true) && !first.has(eventId)) first.set(eventId, atMs);
  return [...first].flatMap(([id, atMs]) => (sentAt.has(id) ? [atMs - (sentAt.get(id) ?? Number.NaN)] : []));
}

export interface Delivered {
  readonly rate: number;
  readonly usage: Usage;
  readonly doubled: number;
  readonly waitsMs: readonly number[];
}

/** Events from the first publish to the last arrival. */
export async function deliver(running: Running, count: number, ratePerSecond = 0): Promise<Delivered> {
  const { stage, subject } = running;
  await stage.sink.forget();
  const startedMs = sharedNowMs();
  const [published, usage] = await withUsage(subject, async () => {
    const result = await publish(running, count, ratePerSecond);
    await arrived(stage, count);
    return result;
  });
  const seconds = (sharedNowMs() - startedMs) / 1_000;
  const { requests, distinct } = await stage.sink.count();
  return { rate: count / seconds, usage, doubled: requests - distinct, waitsMs: await waitsMs(stage, published) };
}

/** What the endpoints take from a loop of publishers that posts the same bytes straight to them. */
export async function bareLoop({ sink, publishers }: WebhookStage, count: number, ratePerSecond = 0): Promise<Bare> {
  const urls = (await sink.open(fastEndpoints)).map((port) => `http://127.0.0.1:${port}`);
  const startedMs = sharedNowMs();
  const { replyMs } = await publishers.publish({
    ...order,
    urls,
    token: "",
    first: 0,
    count,
    types: 10,
    ratePerSecond,
  });
  const seconds = (sharedNowMs() - startedMs) / 1_000;
  await sink.forget();
  return { rate: count / seconds, p50: quantile(replyMs, 0.5), p95: quantile(replyMs, 0.95) };
}

interface Bare {
  readonly rate: number;
  readonly p50: number;
  readonly p95: number;
}
