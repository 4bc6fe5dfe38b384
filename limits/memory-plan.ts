// Sizes the heap and the caches of one process from the memory that it may use. It is pure.

export const mebibyteBytes = 1024 * 1024;

/** Most bytes of each cache. */
export interface CacheBytes {
  /** Points of stores. */
  readonly points: number;
  /** Finished metrics, which windows that move are made from. */
  readonly finished: number;
  /** Responses by their query. */
  readonly responses: number;
  /** Results with several pages. */
  readonly snapshots: number;
  /** Responses by the bytes of their request. */
  readonly repeats: number;
}

/** The memory of one process. */
export interface MemoryPlan {
  /** Flags of V8, which it reads before the heap exists. */
  readonly flags: readonly string[];
  readonly caches: CacheBytes;
}

/** Memory of a process if nothing limits it. Measured: docs/decisions/archive/0147-one-flag-sizes-a-process.md. */
const usualBytes = 512 * mebibyteBytes;
/** Less does not hold the program itself. */
export const memoryBytesMin = 192 * mebibyteBytes;
/** Shares of the memory. The rest is for code, stacks, requests in flight and bytes that the allocator keeps. */
const [heapShare, cacheShare] = [0.6, 5 / 32];
/** Half of the young generation, in MiB, by the least memory for it. */
const semiSpaces = [
  [512 * mebibyteBytes, 16],
  [256 * mebibyteBytes, 8],
  [0, 4],
] as const;

/**
 * The growth of the heap, with bytes outside of it, from one sweep to the next: garbage takes up to half as much memory
 * as what lives. See docs/decisions/0327-memory-holds-what-caches-count.md.
 */
const growingPercent = 50;

/** The memory that a machine gives to a process, in bytes. */
interface MachineMemory {
  /** Of the container; absent, zero or greater than the machine without a limit. */
  readonly limit: number | undefined;
  /** Of the machine. */
  readonly total: number;
}

/**
 * The bytes that the process may use.
 * @param requested bytes. @default the limit of the container, else {@link usualBytes}
 */
export function memoryOfProcess(requested: number | undefined, { limit = 0, total }: MachineMemory): number {
  const available = limit > 0 && limit < total ? limit : Math.min(total, usualBytes);
  return Math.max(memoryBytesMin, requested ?? available);
}

/** Sizes the heap and the caches of a process with so many bytes. */
export function planMemory(bytes: number): MemoryPlan {
  const [, semiSpace] = semiSpaces.find(([least]) => bytes >= least) ?? [0, 4];
  const caches = Math.floor(bytes * cacheShare);
  return {
    flags: [
      `--heap-growing-percent=${growingPercent}`,
      `--max-semi-space-size=${semiSpace}`,
      `--max-old-space-size=${Math.floor((bytes * heapShare) / mebibyteBytes)}`,
    ],
    caches: {
      points: Math.floor((caches * 6) / 16),
      finished: Math.floor((caches * 2) / 16),
      responses: Math.floor((caches * 3) / 16),
      snapshots: Math.floor((caches * 3) / 16),
      repeats: Math.floor((caches * 2) / 16),
    },
  };
}

/** The caches of a process that nothing limits. */
export const usualCaches: CacheBytes = planMemory(usualBytes).caches;
