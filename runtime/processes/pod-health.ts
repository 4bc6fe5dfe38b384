import type { PartHealth } from "../http/server/admin-server.ts";

/** One process as its supervisor sees it. */
export interface ProcessView {
  /** From 1. */
  readonly index: number;
  /** True from its ready message to its end: the supervisor hands connections to it. */
  readonly isServing: boolean;
  /** True when it served before. */
  readonly hasServed: boolean;
  /** Start of the time in which it does not serve; undefined while it does, and before its first start. */
  readonly downSinceMs: number | undefined;
  /** Time of its last message. */
  readonly heardAtMs: number;
  /** Its own parts; empty before its first report. */
  readonly parts: readonly PartHealth[];
}

export interface PodHealth {
  readonly parts: readonly PartHealth[];
  readonly isReady: boolean;
}

/** A process that was silent this long does not respond. */
export const silentMs = 5000;
/** A process that was silent this long is killed and started again. */
export const hungMs = 60_000;
/**
 * Time in which a process may start while the pod is ready. The supervisor hands no connections to it, and its siblings
 * serve all callers.
 */
export const startGraceMs = 15_000;

/**
 * Health of a pod over its processes. The pod is ready when each process serves and is healthy. A process that starts
 * is exempt for {@link startGraceMs} while another one serves.
 */
export function healthOfPod(processes: readonly ProcessView[], isDraining: boolean, nowMs: number): PodHealth {
  const own: PartHealth = isDraining
    ? { name: "process", ok: false, detail: "draining" }
    : { name: "process", ok: true };
  const serving = processes.filter(({ isServing }) => isServing);
  const seen = serving.length > 0 ? serving : processes;
  const joined = joinParts(seen);
  const faults = processes.flatMap((process) => faultOf(process, nowMs) ?? []);
  const detail = faults.map(({ text }) => text).join(", ");
  const running: PartHealth =
    faults.length === 0 ? { name: "processes", ok: true } : { name: "processes", ok: false, detail };
  const isReady =
    !isDraining && serving.length > 0 && joined.every(({ ok }) => ok) && faults.every(({ isExempt }) => isExempt);
  return { parts: [own, running, ...joined], isReady };
}

interface Fault {
  readonly text: string;
  readonly isExempt: boolean;
}

function faultOf(process: ProcessView, nowMs: number): Fault | undefined {
  const { index, isServing, hasServed, downSinceMs = nowMs, heardAtMs } = process;
  if (!isServing) {
    const text = hasServed ? `process ${index} starts again` : `process ${index} starts`;
    return { text, isExempt: nowMs - downSinceMs <= startGraceMs };
  }
  return nowMs - heardAtMs > silentMs ? { text: `process ${index} does not respond`, isExempt: false } : undefined;
}

/** Each part over all processes, with the first fault. The part `process` of a process is no part of the pod. */
function joinParts(processes: readonly ProcessView[]): readonly PartHealth[] {
  const all = processes.flatMap(({ index, parts }) => parts.map((part) => ({ index, part })));
  const byName = Map.groupBy(
    all.filter(({ part }) => part.name !== "process"),
    ({ part }) => part.name,
  );
  return [...byName].map(([name, same]) => {
    const bad = same.find(({ part }) => !part.ok);
    return bad === undefined
      ? { name, ok: true }
      : { name, ok: false, detail: `process ${bad.index}: ${bad.part.detail ?? "not well"}` };
  });
}
