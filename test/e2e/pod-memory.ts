import { globSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Installation } from "./installation.ts";

const mebibyte = 1024 * 1024;
const periodMs = 1_000;
const components = ["operator", "runtime", "nats"];

/** The memory of one pod, in MiB. */
export interface PodMemory {
  readonly pod: string;
  readonly component: string;
  /** What its containers request together. */
  readonly requested: number;
  /** The working set of its control group: what the kubelet counts when it evicts pods. */
  readonly used: number;
  /** The most of it since the measurement began. */
  readonly most: number;
}

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly uid: string; readonly labels: Record<string, string> };
    readonly spec: {
      readonly containers: readonly { readonly resources: { readonly requests?: { readonly memory?: string } } }[];
    };
  }[];
}

interface MeasuredPod extends Omit<PodMemory, "used" | "most"> {
  /** The file that holds the bytes in use. */
  readonly usageFile: string;
}

/** Measures the product's pods on the node of this machine until it is ended. */
export async function measurePods({ kubectl }: Installation, namespace: string) {
  const { items } = JSON.parse(await kubectl(["--namespace", namespace, "get", "pods", "--output=json"])) as PodList;
  const pods = items.flatMap(({ metadata: { name, uid, labels }, spec }): readonly MeasuredPod[] => {
    const component = labels["app.kubernetes.io/component"] ?? "";
    if (!components.includes(component)) return [];
    const requests = spec.containers.map(({ resources }) => mebibytesOf(resources.requests?.memory ?? "0Mi"));
    const requested = requests.reduce((sum, one) => sum + one, 0);
    return [{ pod: name, component, requested, usageFile: usageFileOf(uid) }];
  });
  const most = new Map<string, number>();
  const measure = (): readonly PodMemory[] =>
    pods.map(({ usageFile, ...pod }) => {
      const used = Math.ceil(workingSet(usageFile) / mebibyte);
      most.set(pod.pod, Math.max(used, most.get(pod.pod) ?? 0));
      return { ...pod, used, most: most.get(pod.pod) ?? used };
    });
  const timer = setInterval(measure, periodMs);
  return {
    measure,
    end: () => clearInterval(timer),
  };
}

/** The kubelet names the control group of a pod by its uid, below others for its class. Source: cgroups(7). */
function usageFileOf(uid: string): string {
  const [file] = ["memory/**", "**"].flatMap((place) =>
    ["memory.usage_in_bytes", "memory.current"].flatMap((name) =>
      globSync(`/sys/fs/cgroup/${place}/pod${uid}/${name}`),
    ),
  );
  if (file === undefined) throw new Error(`the pod ${uid} has no control group on this machine`);
  return file;
}

/** Bytes in use without those of files that the kernel can drop at once. */
function workingSet(usageFile: string): number {
  const stat = readFileSync(`${dirname(usageFile)}/memory.stat`, "utf8");
  const inactive = /^(?:total_inactive_file|inactive_file) (?<bytes>\d+)$/gmu;
  const bytes = [...stat.matchAll(inactive)].map(({ groups }) => Number(groups?.["bytes"]));
  return Number(readFileSync(usageFile, "utf8")) - Math.max(0, ...bytes);
}

function mebibytesOf(quantity: string): number {
  const { count, unit } = /^(?<count>\d+)(?<unit>Mi|Gi)$/u.exec(quantity)?.groups ?? {};
  if (count === undefined) throw new Error(`${quantity} is no number of Mi or Gi`);
  return Number(count) * (unit === "Gi" ? 1024 : 1);
}
