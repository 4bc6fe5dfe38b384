import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pauseImage } from "../images.ts";
import type { Credentials } from "./credentials.ts";
import type { Layout } from "./layout.ts";
import { clusterDomain, nodeAddress, nodeHost, podRanges } from "./network.ts";

/** Where containerd listens, inside the node. */
export const containerdSocket = "/run/containerd/containerd.sock";

/** Paths of the files that configure the servers of the node. */
export interface Configuration {
  readonly containerd: string;
  readonly kubelet: string;
  readonly coredns: string;
  /** What of the API server's audit is kept. */
  readonly audit: string;
}

/** Writes the configuration of every server that takes it as a file. */
export async function writeConfiguration(layout: Layout, credentials: Credentials): Promise<Configuration> {
  const cni = join(layout.configuration, "cni");
  await mkdir(cni, { recursive: true });
  const resolvConf = join(layout.configuration, "resolv.conf");
  const files = {
    containerd: join(layout.configuration, "containerd.toml"),
    kubelet: join(layout.configuration, "kubelet.json"),
    coredns: join(layout.configuration, "Corefile"),
    audit: join(layout.configuration, "audit.json"),
  };
  await writeFile(join(cni, "10-pods.conflist"), JSON.stringify(podNetwork, undefined, 2));
  await writeFile(resolvConf, `nameserver ${nodeAddress}\n`);
  await writeFile(files.containerd, containerdConfig(layout, cni));
  await writeFile(files.kubelet, JSON.stringify(kubeletConfig(credentials, resolvConf), undefined, 2));
  await writeFile(files.audit, JSON.stringify(auditPolicy));
  await writeFile(files.coredns, corefile(credentials));
  return files;
}

/** Who did what to which object, of what runs in pods and not in the system's own. */
const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    { level: "None", userGroups: ["system:serviceaccounts:kube-system"] },
    { level: "Metadata", userGroups: ["system:serviceaccounts"] },
    { level: "None" },
  ],
};

/** Nothing leaves the namespace, but a pod that calls its own service needs its address translated. */
const podNetwork = {
  cniVersion: "0.4.0",
  name: "pods",
  plugins: [
    {
      type: "bridge",
      bridge: "pods0",
      isDefaultGateway: true,
      ipMasq: true,
      hairpinMode: true,
      ipam: { type: "host-local", ranges: podRanges.map((subnet) => [{ subnet }]) },
    },
    { type: "portmap", capabilities: { portMappings: true } },
  ],
};

function containerdConfig(layout: Layout, cni: string): string {
  return `version = 2
root = ${JSON.stringify(layout.containerd)}
state = "/run/containerd"

[grpc]
  address = ${JSON.stringify(containerdSocket)}

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${JSON.stringify(pauseImage)}
  disable_apparmor = true
  # A process without CAP_SYS_RESOURCE may not lower a score, and runc then dies while it starts a container.
  restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = ${JSON.stringify(cni)}
`;
}

function kubeletConfig(credentials: Credentials, resolvConf: string): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: nodeAddress,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: credentials.ca },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: credentials.kubeletServer.cert,
    tlsPrivateKeyFile: credentials.kubeletServer.key,
    containerRuntimeEndpoint: `unix://${containerdSocket}`,
    clusterDNS: [nodeAddress],
    clusterDomain,
    resolvConf,
    cgroupDriver: "cgroupfs",
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    // The disk is this machine's: however full it is, the node takes pods and removes no image.
    evictionHard: { "memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%" },
    imageGCHighThresholdPercent: 100,
  };
}

function corefile(credentials: Credentials): string {
  return `${clusterDomain} in-addr.arpa ip6.arpa {
  bind ${nodeAddress}
  errors
  ready ${nodeHost}:8181
  kubernetes ${clusterDomain} in-addr.arpa ip6.arpa {
    kubeconfig ${credentials.kubeconfigs.coredns}
    ttl 5
  }
}
`;
}
