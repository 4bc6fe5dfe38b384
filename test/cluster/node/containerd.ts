import type { RunResult } from "../../tools/run.ts";
import { containerdSocket } from "./configuration.ts";
import { nodeEnv } from "./empty-node.ts";
import type { Layout } from "./layout.ts";
import { runInNode } from "./namespaces.ts";

const importMsMax = 2 * 60_000;

/** Hands the images of an archive to the kubelet's containerd; a failed import is a result, not an error. */
export function importImages(initPid: number, layout: Layout, archive: string): Promise<RunResult> {
  const ctr = ["ctr", "--address", containerdSocket, "--namespace", "k8s.io"];
  return runInNode(initPid, "node", [...ctr, "images", "import", archive], {
    env: nodeEnv(layout),
    timeoutMs: importMsMax,
  });
}
