import type { Bucket } from "../../nats/streams/buckets.ts";
import type { DeliveriesStream } from "../../nats/streams/deliveries-stream.ts";
import type { Log } from "../log.ts";
import type { Partner } from "../partners/partner.ts";

/** Size of a backlog, of all partners or of one. */
interface BacklogSize {
  readonly messages: number;
  readonly bytes: number;
}

/** Share of its limit below which a full partner accepts deliveries again. */
const resumeShare = 0.95;

/** Whether a backlog has reached its limit. A full backlog stays full until it is clearly below the limit. */
export function isOverfull(waiting: BacklogSize, limit: BacklogSize, isFull: boolean): boolean {
  const share = isFull ? resumeShare : 1;
  return waiting.messages >= limit.messages * share || waiting.bytes >= limit.bytes * share;
}

/** Tracks the partners whose backlog has reached its limit. Every pod counts for the partners that it owns. */
export type Backlogs = ReturnType<typeof createBacklogs>;

export interface BacklogsDeps {
  readonly deliveries: DeliveriesStream;
  /** Keys of partners whose backlog has reached its limit. */
  readonly bucket: Bucket;
  readonly partners: () => readonly Partner[];
  /** Whether this pod owns the partner. */
  readonly isOwn: (partner: Partner) => boolean;
  readonly log: Log;
}

/** Mean rate of a count, which lists the subjects of a partner's retries. */
const subjectsPerSecond = 20_000;
/** Partners counted per poll. */
const countsMax = 32;

/**
 * Enforces `maxBacklog`. While the whole stream holds less than any one limit, nothing is counted or read. Bytes are
 * estimated by the mean size of the messages in the stream.
 */
export function createBacklogs({ deliveries, bucket, partners, isOwn, log }: BacklogsDeps) {
  /** Time of the next count by partner key, milliseconds of the monotonic clock. */
  const nextAtMs = new Map<string, number>();
  let full: ReadonlySet<string> = new Set();
  let isRead = false;
  const read = async (): Promise<void> => {
    full = new Set(await bucket.keys());
    isRead = true;
  };
  const recount = async (partner: Partner, meanBytes: number): Promise<void> => {
    const { key, config, label } = partner;
    const limit = config.delivery.maxBacklog;
    const messages = await deliveries.waitingFor(partner.lane, key);
    const pauseMs = Math.max(500, (messages / subjectsPerSecond) * 1_000);
    nextAtMs.set(key, performance.now() + pauseMs);
    const isFull = full.has(key);
    const bytes = messages * meanBytes;
    const shouldBe = limit !== undefined && isOverfull({ messages, bytes }, limit, isFull);
    if (shouldBe !== isFull) {
      await (shouldBe ? bucket.put(key, "") : bucket.drop(key));
      const what = shouldBe ? "backlog limit reached, new deliveries dead-lettered" : "backlog below its limit again";
      log.warn({ partner: label, messages, bytes }, what);
    }
  };
  return {
    isFull: ({ key }: Pick<Partner, "key">) => full.has(key),
    /** Polls once: counts backlogs that may be full and reads the results of other pods. */
    poll: async () => {
      const all = await deliveries.size();
      const isQuiet = !partners().some((partner) => mayBeFull(partner, all));
      if (isRead && full.size === 0 && isQuiet) return;
      await read();
      const meanBytes = all.messages === 0 ? 0 : all.bytes / all.messages;
      const nowMs = performance.now();
      const first = (partner: Partner): number => nextAtMs.get(partner.key) ?? 0;
      const isDue = (partner: Partner): boolean =>
        full.has(partner.key) || (mayBeFull(partner, all) && first(partner) <= nowMs);
      const due = partners().filter((partner) => isDue(partner) && isOwn(partner));
      for (const partner of due.sort((a, b) => first(a) - first(b)).slice(0, countsMax))
        await recount(partner, meanBytes);
      if (due.length > 0) await read();
    },
  };
}

function mayBeFull({ config }: Partner, all: BacklogSize): boolean {
  const limit = config.delivery.maxBacklog;
  return limit !== undefined && isOverfull(all, limit, false);
}
