import { hash } from "node:crypto";
import { laneLeaseMs, type LeaseClock } from "../../nats/connection/lease-clock.ts";
import type { StreamClock } from "../../nats/connection/stream-clock.ts";
import type { HeaderFields } from "../../nats/messages/headers.ts";
import type { Bucket, MarkedEntry } from "../../nats/streams/buckets.ts";

/**
 * Value of a heartbeat: the pod recovers attempts that were made straight from events, and leaves half of the places
 * to them in a take-over. Earlier versions send another value or none, so no pod makes such attempts next to them.
 */
export const beatValue = "direct-half";
const beatMs = 500;
/** Shortest time between two heartbeats. */
export const beatMsMin = 50;
/** Header of a heartbeat: age in milliseconds at which its pod counts as gone. */
const leaseHeader = "Lease-Ms";
/** Pods of earlier versions use their leases longer, and send no such header. */
const earlierLeaseMs = 2_000;

/**
 * Header of a heartbeat, and of the marker of a pod that left: a bit for each partner whose lane the pod owns, or for
 * whom it has deliveries in work. Partners may share a bit. Earlier versions send no such header.
 */
const partnersHeader = "Partners";
/** With 200 partners, a tenth of all others share their bit with one of them. */
const partnerBits = 2_048;

interface BeatDeps {
  readonly bucket: Bucket;
  readonly clock: StreamClock;
  readonly leases: LeaseClock;
}

/** When a heartbeat was sent, by the lease clock, and when JetStream stored it. */
export interface Lease {
  readonly sentMs: number;
  readonly storedAtMs: number;
}

interface Beat {
  /** The last heartbeat of each pod, or the marker of its removal. */
  readonly entries: readonly MarkedEntry[];
  /** By the lease clock. */
  readonly sentMs: number;
  readonly storedAtMs: number;
  readonly revision: number;
  /** False when the entries are those of a replica that lags behind. */
  readonly isUpToDate: boolean;
}

/** Age of a heartbeat below which its pod may still begin attempts: twice that of a pod that counts as gone. */
const livelyMs = 2 * earlierLeaseMs;
/** Above the longest attempt. */
const keptMs = 120_000;

/**
 * Stores the heartbeat of this pod and reads those of all pods. Its own, read back, gives the time of JetStream.
 *
 * @param partners keys of the partners whose attempts this pod may have under way until the next heartbeat
 * @param readMs time in which a server must return the heartbeats; called once this one is stored
 * @throws NoReplyError also when the heartbeat is stored and those of the other pods are unknown
 */
export async function sendBeat(
  { bucket, clock, leases }: BeatDeps,
  key: string,
  partners: ReadonlySet<string>,
  readMs: () => number,
): Promise<Beat> {
  const sentMs = leases.nowMs();
  const sentAtMs = clock.localMs();
  const headers = { [leaseHeader]: String(laneLeaseMs), ...partnersField(partners) };
  const revision = await bucket.put(key, beatValue, headers);
  const receivedAtMs = clock.localMs();
  const entries = await bucket.all(readMs());
  // A replica that lags behind returns an earlier heartbeat.
  const own = entries.find((entry) => entry.key === key && entry.revision === revision);
  if (own !== undefined) clock.observe({ sentAtMs, storedAtMs: own.storedAtMs, receivedAtMs });
  return { entries, sentMs, storedAtMs: own?.storedAtMs ?? clock.now(), revision, isUpToDate: own !== undefined };
}

/** Removes the heartbeat of a pod that leaves. Resolves with the partners that the marker names. Never rejects. */
export async function removeBeat(
  bucket: Bucket,
  key: string,
  partners: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const removal = bucket.remove(key, partnersField(partners));
  return removal.then(
    () => partners,
    () => new Set<string>(),
  );
}

/** Heartbeats are at multiples of their period, also after one that took most of it. */
export function msToNextBeat(nowMs: number): number {
  const ms = beatMs - (nowMs % beatMs);
  return ms < beatMsMin ? ms + beatMs : ms;
}

/** The header that names partners. */
export function partnersField(partners: ReadonlySet<string>): HeaderFields {
  const bits = Buffer.alloc(partnerBits / 8);
  for (const partner of partners) {
    const { byte, mask } = bitOf(partner);
    bits.writeUInt8(bits.readUInt8(byte) | mask, byte);
  }
  return { [partnersHeader]: bits.toString("base64") };
}

/** Whether a heartbeat names a partner; undefined when it names none, because its pod has an earlier version. */
export function namesPartner({ headers }: Pick<MarkedEntry, "headers">, partner: string): boolean | undefined {
  const bits = Buffer.from(headers?.[partnersHeader] ?? "", "base64");
  const { byte, mask } = bitOf(partner);
  return bits.length === partnerBits / 8 ? (bits.readUInt8(byte) & mask) !== 0 : undefined;
}

function bitOf(partner: string): { readonly byte: number; readonly mask: number } {
  const bit = hash("sha256", partner, "buffer").readUInt16BE() % partnerBits;
  return { byte: Math.floor(bit / 8), mask: 1 << (bit % 8) };
}

type Heartbeat = Pick<MarkedEntry, "key" | "storedAtMs" | "headers" | "isRemoved">;

/** Sorted keys of the pods whose last heartbeat is recent, and of this pod. */
export function livePods(entries: readonly Heartbeat[], own: string, nowMs: number): readonly string[] {
  const recent = entries.filter((entry) => leftMs(entry, nowMs) > 0).map(({ key }) => key);
  return [...new Set([...recent, own])].sort();
}

/** Milliseconds until the first other live pod counts as gone. */
export function untilGoneMs(others: readonly Heartbeat[], nowMs: number): number {
  const left = others.map((entry) => leftMs(entry, nowMs));
  return Math.min(...left.filter((ms) => ms > 0));
}

/** Milliseconds until the pod of a heartbeat counts as gone; 0 or less when it does. */
export function leftMs({ storedAtMs, headers, isRemoved }: Heartbeat, nowMs: number): number {
  return isRemoved ? 0 : storedAtMs + (Number(headers?.[leaseHeader]) || earlierLeaseMs) - nowMs;
}

/** What other pods may have under way, by their last heartbeats and by the markers of pods that left. */
export class OtherPods {
  readonly #last = new Map<string, MarkedEntry>();

  /** Takes what was read, by JetStream's clock. A replica that lags behind returns earlier heartbeats. */
  meet(entries: readonly MarkedEntry[], nowMs: number): void {
    for (const entry of entries)
      if (entry.revision > (this.#last.get(entry.key)?.revision ?? 0)) this.#last.set(entry.key, entry);
    for (const [key, { storedAtMs }] of this.#last) if (nowMs - storedAtMs > keptMs) this.#last.delete(key);
  }

  /**
   * Milliseconds until all attempts to a partner have ended that other pods may have under way; 0 for none.
   *
   * @param endMs time after its last heartbeat at which all attempts of a pod have ended
   * @param ownedSince revision of this pod's heartbeat since which it owns the lane. A pod that sent a later one has
   *   learned of this pod, so it begins no attempts that its heartbeat does not name
   */
  endMs(partner: string, endMs: number, nowMs: number, ownedSince: number): number {
    const ends = this.#last.values().map((last) => {
      const isNewer = last.isRemoved || last.revision > ownedSince;
      const isEnded = isNewer && namesPartner(last, partner) === false;
      const ageMs = nowMs - last.storedAtMs;
      // A live pod learns of this one with its next heartbeat.
      return isEnded ? 0 : ageMs < livelyMs ? endMs : Math.max(0, endMs - ageMs);
    });
    return Math.max(0, ...ends);
  }
}

/** The bucket key of a pod, which must be one subject token. */
export function podKey(podId: string): string {
  return podId.replaceAll(/[^\w-]/gu, "_");
}
