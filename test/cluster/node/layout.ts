import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Where the node keeps everything of one run. All of it is below `root`, which `down` removes. */
export interface Layout {
  readonly root: string;
  /** Held while a cluster is started or ended; beside `root`, since it outlives it. */
  readonly lock: string;
  /** Which processes were started, and the port of the API server. */
  readonly record: string;
  readonly kubeconfig: string;
  readonly logs: string;
  /** What pods asked of the API server, one JSON object a line. */
  readonly audit: string;
  readonly certificates: string;
  readonly configuration: string;
  readonly etcd: string;
  readonly containerd: string;
  readonly kubelet: string;
  readonly volumes: string;
  /** What the node sees as `/var/log`. */
  readonly varLog: string;
  /** What the node writes below `/var/lib`, and the folder that overlayfs wants for itself. */
  readonly varLib: string;
  readonly varLibWork: string;
  /** Kernel settings that the kubelet would change, as it wants to find them. */
  readonly settings: string;
  /** The parent of every control group that the node makes, relative to each hierarchy's root. */
  readonly cgroup: string;
}

const hashLength = 8;

/**
 * The layout below `HELIOGRAPH_CLUSTER_HOME`, by default `~/.local/state/heliograph/cluster`: one cluster per folder.
 * It must be on a disk on which overlayfs can write, and not below `/run`, `/var/lib` or `/var/log`, which the node has
 * of its own.
 */
export function nodeLayout(env: Readonly<Record<string, string | undefined>> = process.env): Layout {
  const state = env["XDG_STATE_HOME"] ?? join(homedir(), ".local", "state");
  const root = resolve(env["HELIOGRAPH_CLUSTER_HOME"] ?? join(state, "heliograph", "cluster"));
  const hash = createHash("sha256").update(root).digest("hex").slice(0, hashLength);
  return {
    root,
    lock: `${root}.lock`,
    record: join(root, "record.json"),
    kubeconfig: join(root, "kubeconfig"),
    logs: join(root, "logs"),
    audit: join(root, "logs", "audit.log"),
    certificates: join(root, "certificates"),
    configuration: join(root, "configuration"),
    etcd: join(root, "etcd"),
    containerd: join(root, "containerd"),
    kubelet: join(root, "kubelet"),
    volumes: join(root, "volumes"),
    varLog: join(root, "var-log"),
    varLib: join(root, "var-lib"),
    varLibWork: join(root, "var-lib-work"),
    settings: join(root, "settings"),
    cgroup: `heliograph-${hash}`,
  };
}
