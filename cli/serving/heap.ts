import { totalmem } from "node:os";
import { setFlagsFromString } from "node:v8";
import { memoryOfProcess, planMemory, type MemoryPlan } from "../../limits/memory-plan.ts";

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

/** Environment of the C library, which reads it before `main`. A value of the user stays. */
const allocator = { MALLOC_ARENA_MAX: "2" };
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
