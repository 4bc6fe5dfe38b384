import type { User } from "./user.ts";

/** Kills one process that the first process of a container has started, and prints how many there were. */
const killOne = `
  const { readdirSync, readFileSync } = require("node:fs");
  const parent = (id) => {
    try { return readFileSync("/proc/" + id + "/stat", "utf8").split(") ")[1].split(" ")[1]; } catch { return ""; }
  };
  const started = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name) && parent(name) === "1");
  process.kill(Number(started[0]), "SIGKILL");
  process.stdout.write(String(started.length));`;

/** A runtime pod of which one process was killed. */
interface PodAfterKill {
  /** Processes before, without their supervisor. */
  readonly processes: number;
  logs(): Promise<string>;
  /** Restarts of its container. */
  restarts(): Promise<number>;
}

interface PodList {
  readonly items: ReadonlyArray<{ readonly metadata: { readonly name: string; readonly deletionTimestamp?: string } }>;
}

/** Kills one process in a runtime pod, as a crash ends it. */
export async function killOneProcess({ kubectl }: User): Promise<PodAfterKill> {
  const selector = "--selector=app.kubernetes.io/component=runtime";
  const { items } = JSON.parse(await kubectl(["get", "pods", selector, "--output=json"])) as PodList;
  const { name: pod = "" } = items.find(({ metadata }) => metadata.deletionTimestamp === undefined)?.metadata ?? {};
  const restarts = "--output=jsonpath={.status.containerStatuses[0].restartCount}";
  return {
    processes: Number(await kubectl(["exec", pod, "--", "node", "--eval", killOne])),
    logs: () => kubectl(["logs", pod]),
    restarts: async () => Number(await kubectl(["get", "pod", pod, restarts])),
  };
}

/** Bounds of the heap, in bytes, that the processes of a pod have logged. */
export function heapBoundsOf(logs: string): readonly number[] {
  return [...logs.matchAll(/"heapBytesMax":(\d+)/gu)].map(([, bytes]) => Number(bytes));
}
