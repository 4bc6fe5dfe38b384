import { join } from "node:path";
import { resolveTool } from "../../tools/resolve.ts";
import type { ToolName } from "../../tools/tool-table.ts";
import type { Configuration } from "./configuration.ts";
import type { Credentials } from "./credentials.ts";
import type { Layout } from "./layout.ts";
import { apiPort, nodeAddress, nodeAddresses, nodeName, podRanges, serviceRanges } from "./network.ts";

/** One server of the node and how to call it. */
export interface DaemonSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

const builtPrograms = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kube-proxy",
  "kubelet",
  "coredns",
] as const satisfies readonly ToolName[];

/** Paths of the programs that are not Debian's. */
export type Programs = Readonly<Record<(typeof builtPrograms)[number], string>>;

/** Finds the programs, or builds them. @throws Error with a sentence about what to install */
export async function resolvePrograms(): Promise<Programs> {
  const found: [string, string][] = [];
  for (const name of builtPrograms) found.push([name, await resolveTool(name)]);
  return Object.fromEntries(found) as Programs;
}

/** Everything that the servers' flags name. */
export interface NodePlan {
  readonly layout: Layout;
  readonly programs: Programs;
  readonly credentials: Credentials;
  readonly configuration: Configuration;
}

const etcdUrl = "http://127.0.0.1:2379";

/** What comes first: the API server with its store, and the container runtime. */
export function firstDaemons(plan: NodePlan): readonly DaemonSpec[] {
  return [
    { name: "etcd", command: plan.programs.etcd, args: etcdArgs(plan) },
    { name: "kube-apiserver", command: plan.programs["kube-apiserver"], args: apiServerArgs(plan) },
    { name: "containerd", command: "containerd", args: [`--config=${plan.configuration.containerd}`] },
  ];
}

/** What needs the API server. */
export function laterDaemons(plan: NodePlan): readonly DaemonSpec[] {
  const kubeconfig = (client: keyof Credentials["kubeconfigs"]): string =>
    `--kubeconfig=${plan.credentials.kubeconfigs[client]}`;
  const spec = (name: keyof Programs, args: readonly string[]): DaemonSpec => ({
    name,
    command: plan.programs[name],
    args,
  });
  return [
    spec("kube-controller-manager", [kubeconfig("kube-controller-manager"), ...controllerManagerArgs(plan)]),
    spec("kube-scheduler", [kubeconfig("kube-scheduler"), "--leader-elect=false"]),
    spec("kube-proxy", [kubeconfig("kube-proxy"), ...proxyArgs]),
    spec("kubelet", [kubeconfig("kubelet"), ...kubeletArgs(plan)]),
    spec("coredns", [`-conf=${plan.configuration.coredns}`]),
  ];
}

function etcdArgs({ layout }: NodePlan): readonly string[] {
  return [
    `--data-dir=${layout.etcd}`,
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    "--listen-peer-urls=http://127.0.0.1:2380",
    "--unsafe-no-fsync",
    "--log-level=warn",
  ];
}

function apiServerArgs({ layout, credentials, configuration }: NodePlan): readonly string[] {
  return [
    `--etcd-servers=${etcdUrl}`,
    `--advertise-address=${nodeAddress}`,
    `--secure-port=${apiPort}`,
    `--tls-cert-file=${credentials.apiServer.cert}`,
    `--tls-private-key-file=${credentials.apiServer.key}`,
    `--client-ca-file=${credentials.ca}`,
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--service-account-issuer=https://issuer.node.test",
    `--service-account-key-file=${credentials.serviceAccountKey}`,
    `--service-account-signing-key-file=${credentials.serviceAccountKey}`,
    `--service-cluster-ip-range=${serviceRanges.join(",")}`,
    `--kubelet-certificate-authority=${credentials.ca}`,
    `--kubelet-client-certificate=${credentials.apiServerToKubelet.cert}`,
    `--kubelet-client-key=${credentials.apiServerToKubelet.key}`,
    // By name, the API server would have to look the node up.
    "--kubelet-preferred-address-types=InternalIP",
    "--allow-privileged=true",
    `--audit-policy-file=${configuration.audit}`,
    `--audit-log-path=${layout.audit}`,
  ];
}

function controllerManagerArgs({ layout, credentials }: NodePlan): readonly string[] {
  return [
    `--service-account-private-key-file=${credentials.serviceAccountKey}`,
    `--root-ca-file=${credentials.ca}`,
    "--use-service-account-credentials=true",
    `--flex-volume-plugin-dir=${join(layout.kubelet, "plugins")}`,
    "--leader-elect=false",
  ];
}

const proxyArgs = [
  "--proxy-mode=iptables",
  `--cluster-cidr=${podRanges.join(",")}`,
  `--hostname-override=${nodeName}`,
  // Limits on tracked connections are this machine's, and not the namespace's to set.
  "--conntrack-max-per-core=0",
  "--conntrack-tcp-timeout-established=0",
  "--conntrack-tcp-timeout-close-wait=0",
];

function kubeletArgs({ layout, configuration }: NodePlan): readonly string[] {
  return [
    `--config=${configuration.kubelet}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${nodeAddresses.join(",")}`,
    `--root-dir=${layout.kubelet}`,
    `--cgroup-root=/${layout.cgroup}`,
    `--volume-plugin-dir=${join(layout.kubelet, "plugins")}`,
  ];
}
