import type { Bucket } from "../../nats/streams/buckets.ts";
import type { DeliveriesStream } from "../../nats/streams/deliveries-stream.ts";
import type { Log } from "../log.ts";
import type { Partner } from "../partners/partner.ts";

/** What waits, over all partners or for one. */
interface Waiting {
  readonly messages: number;
  readonly bytes: number;
}

/** Part of its limit below which a partner that was full takes deliveries again. */
const resumeShare = 0.95;

/** Whether a limit holds no more; one that was reached is left only with some room to spare. */
export function isOverfull(waiting: Waiting, limit: Waiting, isFull: boolean): boolean {
  const share = isFull ? resumeShare : 1;
  return waiting.messages >= limit.messages * share || waiting.bytes >= limit.bytes * share;
}

/** Knows for which partners too much waits. Every pod has one; each counts for the partners whose home it is. */
export interface Backlogs {
  isFull(partner: Partner): boolean;
  /** Looks once: counts where it may be needed, and reads what other pods found. */
  look(): Promise<void>;
}

export interface BacklogsDeps {
  readonly deliveries: DeliveriesStream;
  /** Keys are tokens of partners for whom too much waits. */
  readonly bucket: Bucket;
  readonly partners: () => readonly Partner[];
  /** Whether this pod is the partner's home. */
  readonly isOwn: (partner: Partner) => boolean;
  readonly log: Log;
}

/** Counting goes through the subjects of a partner's retries: about so many a second, in the mean. */
const subjectsPerSecond = 20_000;
/** Partners counted in one look. */
const countsMax = 32;

interface Count {
  readonly messages: number;
  /** When to count again, milliseconds of the monotonic clock. */
  readonly nextAtMs: number;
}

/**
 * Watches `maxBacklog`. As long as all deliveries together are fewer than a partner may have waiting, nothing is
 * counted or read at all. Bytes are judged by the mean size of what waits in the stream. Source: design §4 ("Room").
 */
export function createBacklogs({ deliveries, bucket, partners, isOwn, log }: BacklogsDeps): Backlogs {
  const counts = new Map<string, Count>();
  let full: ReadonlySet<string> = new Set();
  let isRead = false;
  const read = async (): Promise<void> => {
    full = new Set(await bucket.keys());
    isRead = true;
  };
  const lookAt = async (partner: Partner, meanBytes: number): Promise<void> => {
    const { key: token, config, label } = partner;
    const limit = config.delivery.maxBacklog;
    const messages = await deliveries.waitingFor(partner.lane, token);
    const pauseMs = Math.max(500, (messages / subjectsPerSecond) * 1_000);
    counts.set(token, { messages, nextAtMs: performance.now() + pauseMs });
    const isFull = full.has(token);
    const bytes = messages * meanBytes;
    const shouldBe = limit !== undefined && isOverfull({ messages, bytes }, limit, isFull);
    if (shouldBe !== isFull) {
      await (shouldBe ? bucket.put(token, "") : bucket.drop(token));
      const what = shouldBe
        ? "too much waits for the partner: more becomes dead letters"
        : "the partner has room again";
      log.warn({ partner: label, messages, bytes }, what);
    }
  };
  return {
    isFull: ({ key: token }) => full.has(token),
    look: async () => {
      const all = await deliveries.size();
      const isQuiet = !partners().some((partner) => mayBeFull(partner, all));
      if (isRead && full.size === 0 && isQuiet) {
        return;
      }
      await read();
      const meanBytes = all.messages === 0 ? 0 : all.bytes / all.messages;
      const nowMs = performance.now();
      const first = (partner: Partner): number => counts.get(partner.key)?.nextAtMs ?? 0;
      const isDue = (partner: Partner): boolean =>
        full.has(partner.key) || (mayBeFull(partner, all) && first(partner) <= nowMs);
      const due = partners().filter((partner) => isDue(partner) && isOwn(partner));
      for (const partner of due.sort((a, b) => first(a) - first(b)).slice(0, countsMax)) {
        await lookAt(partner, meanBytes);
      }
      if (due.length > 0) await read();
    },
  };
}

function mayBeFull({ config }: Partner, all: Waiting): boolean {
  const limit = config.delivery.maxBacklog;
  return limit !== undefined && isOverfull(all, limit, false);
}
