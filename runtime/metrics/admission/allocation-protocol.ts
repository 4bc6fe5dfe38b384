import type { Rate } from "../../../limits/token-bucket.ts";
import type { BucketStore } from "./token-source.ts";

/** Topic of the messages between pods about quotas. */
export const quotaTopic = "quota";
/** Most buckets in one message. */
export const requestsMax = 256;

/** The tokens of one bucket that a pod requests from the owner, or returns to it. */
export interface AllocationRequest extends Rate {
  readonly key: string;
  /** Needed tokens. In a return: unused tokens, or a debt below zero. */
  readonly count: number;
}

/** The message of a pod to an owner pod. */
export interface AllocationMessage {
  readonly borrow: readonly AllocationRequest[];
  readonly back: readonly AllocationRequest[];
  /** The number of pods that share the tokens beyond the need. */
  readonly pods: number;
}

/** The response of the owner to each request. */
export interface Granted {
  /** At least the needed tokens, or 0. */
  readonly tokens: number;
  /** The tokens that are left in the bucket. */
  readonly left: number;
}

/** Part of a pod's even share of the rest that is allocated beyond the need. */
const aheadShare = 0.5;

/** Applies a message to the own buckets: takes back returned tokens and allocates requested ones. */
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

/** Parses a message of another pod; undefined when it is not valid. */
export function parseAllocationMessage(message: unknown): AllocationMessage | undefined {
  const { borrow, back, pods } = (message ?? {}) as Readonly<Record<string, unknown>>;
  if (!areAllocationRequests(borrow) || !areAllocationRequests(back) || !isAmount(pods)) return undefined;
  return borrow.every(({ count }) => count >= 0) ? { borrow, back, pods } : undefined;
}

/** Parses the response to `count` requests; undefined when it is not valid. */
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
