import type { Rate } from "../../../bounds/token-bucket.ts";
import type { BucketStore } from "./bucket-store.ts";

/** Topic under which pods speak of quotas. */
export const quotaTopic = "quota";
/** Tokens of so many buckets are asked for or given back in one message. */
export const requestsMax = 256;

/** What a pod asks of the home of a bucket, or gives back to it. */
export interface AllocationRequest extends Rate {
  readonly key: string;
  /** Tokens that are needed; when given back, those that were not, below zero: those that are owed. */
  readonly count: number;
}

/** What pods say to each other about quotas. */
export interface AllocationMessage {
  readonly borrow: readonly AllocationRequest[];
  readonly back: readonly AllocationRequest[];
  /** Pods among whom what is above the need is spread. */
  readonly pods: number;
}

/** What a home answers for each loan. */
export interface Granted {
  /** At least as many as were needed, or none. */
  readonly tokens: number;
  /** What the bucket holds now. */
  readonly left: number;
}

/** Of what is left beyond the need, this part of a pod's even share goes with a loan. */
const aheadShare = 0.5;

/** What the home of buckets does when another pod asks. */
export function serveAllocations(buckets: BucketStore, { borrow, back, pods }: AllocationMessage): readonly Granted[] {
  for (const { key, count, ...rate } of back) buckets.spend(key, rate, -count);
  return borrow.map(({ key, count, ...rate }) => {
    const { tokens: there } = buckets.look(key, rate);
    if (there < count) return { tokens: 0, left: there };
    const tokens = count + Math.floor(((there - count) * aheadShare) / Math.max(1, pods));
    buckets.spend(key, rate, tokens);
    return { tokens, left: there - tokens };
  });
}

/** A message as it came; undefined when it is none, or has anything that no pod would say. */
export function parseAllocationMessage(message: unknown): AllocationMessage | undefined {
  const { borrow, back, pods } = (message ?? {}) as Readonly<Record<string, unknown>>;
  if (!areAllocationRequests(borrow) || !areAllocationRequests(back) || !isAmount(pods)) return undefined;
  return borrow.every(({ count }) => count >= 0) ? { borrow, back, pods } : undefined;
}

/** What was granted for each of `count` loans; undefined when the answer does not say so. */
export function readGranted(response: unknown, count: number): readonly Granted[] | undefined {
  const { granted } = (response ?? {}) as Readonly<Record<string, unknown>>;
  if (!Array.isArray(granted) || granted.length !== count) return undefined;
  const isGranted = (one: Partial<Granted> | null): boolean => isAmount(one?.tokens) && isNumber(one?.left);
  return (granted as readonly (Partial<Granted> | null)[]).every(isGranted)
    ? (granted as readonly Granted[])
    : undefined;
}

function areAllocationRequests(value: unknown): value is readonly AllocationRequest[] {
  return (
    Array.isArray(value) &&
    value.length <= requestsMax &&
    (value as readonly (Partial<AllocationRequest> | null)[]).every(isAllocationRequest)
  );
}

function isAllocationRequest(value: Partial<AllocationRequest> | null): boolean {
  return typeof value?.key === "string" && isNumber(value.count) && isAmount(value.perSecond) && isAmount(value.burst);
}

function isAmount(value: unknown): value is number {
  return isNumber(value) && value >= 0;
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
