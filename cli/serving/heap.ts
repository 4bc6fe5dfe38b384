import { totalmem } from "node:os";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { backgroundClock, type Clock } from "../../limits/clock.ts";
import { mebibyteBytes, memoryOfProcess, planMemory, type MemoryPlan } from "../../limits/memory-plan.ts";

/**
 * Counts bytes outside of the heap like bytes in it. By default, V8 sweeps the whole heap for 20 to 40 ms after each 32
 * MB of them. Responses of stores reach that several times a second.
 */
export function countBytesOutsideLikeInside(): void {
  setFlagsFromString("--external-memory-accounted-in-global-limit");
}

/** The memory that a command line requests. */
interface RequestedMemory {
  /** @default the machine decides */
  readonly memoryBytes?: number;
}

/** Sizes of the process of a command line on this machine. */
export function memoryPlanOf({ memoryBytes }: RequestedMemory): MemoryPlan {
  return planMemory(memoryOfProcess(memoryBytes, { limit: process.constrainedMemory(), total: totalmem() }));
}

/** A program as it was started. */
export interface Start {
  readonly execPath: string;
  readonly execArgv: readonly string[];
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A start that replaces the running one. */
interface Restart {
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Environment of the C library, which reads it before `main`. A value of the user stays. Bytes above the threshold go
 * back to the system once they are freed; without one, the library raises it with each of them, and keeps what is freed
 * between what is not. The threshold is above the 64 KiB that Node allocates for each read of a socket.
 */
const allocator = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "66000" };
const heapBound = /--max[-_](?:old[-_]space|heap)[-_]size/u;

/**
 * The same start with the flags of a plan. V8 reads them before the heap exists, so that a running program cannot set
 * them.
 * @returns undefined when a bound of the heap is in force, from here or from the user
 */
export function restartOf(
  { execPath, execArgv, argv, env }: Start,
  { flags }: Pick<MemoryPlan, "flags">,
): Restart | undefined {
  if (heapBound.test([...execArgv, env["NODE_OPTIONS"]].join(" "))) return undefined;
  const kept = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    path: execPath,
    args: [execPath, ...execArgv, ...flags, ...argv.slice(1)],
    env: { ...allocator, ...Object.fromEntries(kept) },
  };
}

/** Bounds the heap by the memory. The process starts again in place, with the same id and streams. */
export function boundHeap(requested: RequestedMemory): void {
  countBytesOutsideLikeInside();
  const restart = restartOf(process, memoryPlanOf(requested));
  // Windows has no such call: there the heap stays without a bound of ours.
  if (restart === undefined || process.platform === "win32") return;
  process.execve?.(restart.path, restart.args, restart.env);
}

/** What {@link trimWhenIdle} measures and does. */
export interface IdleHeap {
  /** CPU per time since the last call. Unlike the time of the event loop, it does not count other programs. */
  readonly busyShare: () => number;
  /** Memory of the heap, and of bytes outside that it holds. */
  readonly bytes: () => number;
  /** Frees all garbage and returns the memory to the system. */
  readonly trim: () => void;
}

const checkMs = 5_000;
/** An idle pod that polls its folder and NATS uses about 0.02. */
const idleShareMax = 0.05;
const idleChecksMin = 2;
/** Checks from one trim to the next, five minutes: a request that arrives during a trim waits for it. */
const restChecks = 60;
/** Least growth since the last trim, and the least one before the rest has ended. */
const [grownBytesMin, grownBytesSoon] = [16 * mebibyteBytes, 64 * mebibyteBytes];

/**
 * Returns memory to the system when the process is idle and its heap has grown since the last time. V8 frees garbage
 * when the heap grows: without this, an idle process keeps the garbage of its start or of its last load, and a young
 * generation of full size. It does so once more after the rest, when what caches held has expired. See
 * docs/decisions/0278-an-idle-process-returns-memory.md.
 *
 * @returns stops it
 */
export function trimWhenIdle(heap: IdleHeap = ownHeap(), clock: Pick<Clock, "after"> = backgroundClock): () => void {
  let [idleChecks, rest, trimmedBytes, isLast] = [0, 0, 0, true];
  let cancel: () => void;
  const check = (): void => {
    cancel = clock.after(checkMs, check);
    idleChecks = heap.busyShare() <= idleShareMax ? idleChecks + 1 : 0;
    rest = Math.max(0, rest - 1);
    const hasGrown = heap.bytes() >= trimmedBytes + (rest > 0 ? grownBytesSoon : grownBytesMin);
    const mayHaveExpired = !isLast && rest === 0;
    if (idleChecks < idleChecksMin || !(hasGrown || mayHaveExpired)) return;
    heap.trim();
    [rest, trimmedBytes, isLast] = [restChecks, heap.bytes(), !hasGrown];
  };
  cancel = clock.after(checkMs, check);
  return () => cancel();
}

function ownHeap(): IdleHeap {
  let [lastMs, lastCpu] = [performance.now(), process.cpuUsage()];
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: object) => void;
  setFlagsFromString("--no-expose-gc");
  return {
    busyShare() {
      const [nowMs, nowCpu] = [performance.now(), process.cpuUsage()];
      const cpuMs = (nowCpu.user + nowCpu.system - lastCpu.user - lastCpu.system) / 1_000;
      const share = cpuMs / (nowMs - lastMs);
      [lastMs, lastCpu] = [nowMs, nowCpu];
      return share;
    },
    bytes() {
      const { total_physical_size: heap, external_memory: outside } = getHeapStatistics();
      return heap + outside;
    },
    // Only this flavor also shrinks the young generation.
    trim: () => collect({ type: "major", execution: "sync", flavor: "last-resort" }),
  };
}
