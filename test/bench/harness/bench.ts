import { availableParallelism } from "node:os";
import type { RequestResult } from "../load/request-process.ts";
import type { Measured } from "./figures.ts";
import type { Site, Subject, Usage } from "./program.ts";

/** One for each core, as on the machine that the bars are of. */
export const severalPods = Math.min(4, availableParallelism());

/** What every part gets. */
export interface Bench {
  /** File of the compiled program. */
  readonly program: string;
  /** Rounds of each figure. */
  readonly rounds: number;
  /** Pods of the program. */
  readonly pods: number;
  /** The smallest sample, for a test of the harness. */
  readonly isSmall: boolean;
  readonly progress: (line: string) => void;
}

/** Servers that the parts of one half share. */
export interface Stage {
  close(): Promise<void>;
}

/** Parts of the bench over the same servers, by name, in the order in which they run. */
export interface Half<S extends Stage> {
  readonly name: string;
  /** Pods of the program, unless the caller of the bench says otherwise. */
  readonly pods: number;
  open(bench: Bench): Promise<S>;
  readonly parts: Readonly<Record<string, (stage: S, bench: Bench) => Promise<readonly Measured[]>>>;
}

/** Repeats a measurement. */
export async function rounds<T>(count: number, one: (round: number) => Promise<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for (let round = 0; round < count; round += 1) found.push(await one(round));
  return found;
}

/** Does some work and answers what the program used meanwhile. */
export async function withUsage<T>(subject: Subject, work: () => Promise<T>): Promise<readonly [T, Usage]> {
  const before = subject.usage();
  const result = await work();
  const after = subject.usage();
  return [
    result,
    {
      cpuSeconds: after.cpuSeconds - before.cpuSeconds,
      natsCpuSeconds: after.natsCpuSeconds - before.natsCpuSeconds,
    },
  ];
}

/** Milliseconds of all responses of a load. @throws Error when one was refused, so that no figure is of refusals */
export function times({ kinds }: RequestResult): readonly number[] {
  const refused = Object.keys(kinds).filter((kind) => !/^(?:200|304)/u.test(kind));
  if (refused.length > 0) throw new Error(`responses were refused: ${kindsText({ kinds })}`);
  return Object.values(kinds).flat();
}

export function kindsText({ kinds }: Pick<RequestResult, "kinds">): string {
  return Object.entries(kinds)
    .map(([kind, ms]) => `${ms.length} × ${kind}`)
    .join(", ");
}

/** Responses a second. */
export function rate(result: RequestResult): number {
  return times(result).length / result.seconds;
}

/** One program with its own nats-server, or several pods over one NATS. */
export function startProgram(site: Site, pods: number): Promise<Subject> {
  return pods === 1 ? site.run() : site.pods(pods);
}
