import type { Version } from "./version.ts";

/** A folder with a go.mod of its own, whose programs are built and cached together. */
export interface ToolSource {
  /** The folder below test/tools, and the first part of the cache folder's name. */
  readonly folder: string;
  /** The Go packages whose programs are built. */
  readonly packages: readonly string[];
  /** The module in go.mod that gives the build its version. */
  readonly versionModule: string;
  readonly tags: string;
  /** Linker flags beyond `-s -w`, from the version of `versionModule`. */
  readonly linkerFlags: (version: string) => string;
  /** Further names by which the first program is called; it looks at the name to know what to be. */
  readonly links: readonly string[];
  /** The Debian package that holds the same programs, should its version suffice. */
  readonly debianPackage?: string;
  /** Debian builds the programs without their version: the version of the package counts. @default false */
  readonly isMuteInDebian?: boolean;
  /** What a first build costs, as said while it runs. */
  readonly cost: string;
}

/** One program that tests or the demo start. */
export interface Tool {
  readonly source: ToolSource;
  /** The oldest version that is good enough, unless a caller says otherwise. */
  readonly minimum: Version;
  readonly versionArgs: readonly string[];
  /** Environment variable that names the program's path. */
  readonly pathVariable?: string;
  /** Environment variable that names a folder which may hold the program. */
  readonly folderVariable?: string;
}

const natsServer: ToolSource = {
  folder: "nats-server",
  packages: ["github.com/nats-io/nats-server/v2"],
  versionModule: "github.com/nats-io/nats-server/v2",
  tags: "",
  linkerFlags: () => "",
  links: [],
  debianPackage: "nats-server",
  cost: "about a minute, once",
};

const prometheus: ToolSource = {
  folder: "prometheus",
  packages: ["github.com/prometheus/prometheus/cmd/prometheus", "github.com/prometheus/prometheus/cmd/promtool"],
  versionModule: "github.com/prometheus/prometheus",
  tags: "netgo remove_all_sd",
  linkerFlags: (version) => `-X github.com/prometheus/common/version.Version=${prometheusVersion(version)}`,
  links: [],
  debianPackage: "prometheus",
  cost: "about five minutes on two cores, once",
};

const victoriaMetricsModule = "github.com/VictoriaMetrics/VictoriaMetrics";

const victoriaMetrics: ToolSource = {
  folder: "victoria-metrics",
  packages: [`${victoriaMetricsModule}/app/victoria-metrics`],
  versionModule: victoriaMetricsModule,
  tags: "",
  linkerFlags: (version) => `-X ${victoriaMetricsModule}/lib/buildinfo.Version=victoria-metrics-${version}`,
  links: [],
  debianPackage: "victoria-metrics",
  isMuteInDebian: true,
  cost: "about a minute and a half, once",
};

/** The whole program, although only its query frontend runs: that is no program of its own. */
const thanos: ToolSource = {
  folder: "thanos",
  packages: ["github.com/thanos-io/thanos/cmd/thanos"],
  versionModule: "github.com/thanos-io/thanos",
  tags: "",
  linkerFlags: () => "",
  links: [],
  cost: "about two and a half minutes on two cores, once",
};

const vmalert: ToolSource = {
  folder: "vmalert",
  packages: [`${victoriaMetricsModule}/app/vmalert`],
  versionModule: victoriaMetricsModule,
  tags: "",
  linkerFlags: () => "",
  links: [],
  cost: "half a minute, once",
};

const kubernetes: ToolSource = {
  folder: "kubernetes",
  packages: ["."],
  versionModule: "k8s.io/kubernetes",
  tags: "",
  linkerFlags: kubernetesLinkerFlags,
  links: ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "kubectl"],
  cost: "about six minutes on two cores, once",
};

const coredns: ToolSource = {
  folder: "coredns",
  packages: ["."],
  versionModule: "github.com/coredns/coredns",
  tags: "",
  linkerFlags: () => "",
  links: [],
  cost: "about a minute, once",
};

const helm3: ToolSource = {
  folder: "helm",
  packages: ["helm.sh/helm/v3/cmd/helm"],
  versionModule: "helm.sh/helm/v3",
  tags: "",
  linkerFlags: helm3LinkerFlags,
  links: [],
  cost: "about two minutes, once",
};

const helm4: ToolSource = {
  folder: "helm4",
  packages: ["helm.sh/helm/v4/cmd/helm"],
  versionModule: "helm.sh/helm/v4",
  tags: "",
  linkerFlags: (version) => `-X helm.sh/helm/v4/internal/version.version=${version}`,
  links: ["helm4"],
  cost: "about three minutes, once",
};

const kind: ToolSource = {
  folder: "kind",
  packages: ["sigs.k8s.io/kind"],
  versionModule: "sigs.k8s.io/kind",
  tags: "",
  linkerFlags: () => "",
  links: [],
  cost: "a quarter of a minute, once",
};

/** A program of `cmd/`. Each is always built, so that every machine gets the same result. */
function judge(folder: string, module: string, cost: string): ToolSource {
  return {
    folder,
    packages: [`${module}/cmd/${folder}`],
    versionModule: module,
    tags: "",
    linkerFlags: () => "",
    links: [],
    cost,
  };
}

const helmUnittest = judge("helm-unittest", "github.com/helm-unittest/helm-unittest", "about two minutes, once");
const helmDocs = judge("helm-docs", "github.com/norwoodj/helm-docs", "about a minute, once");
const kubeconform = judge("kubeconform", "github.com/yannh/kubeconform", "a quarter of a minute, once");
const kubeScore = judge("kube-score", "github.com/zegl/kube-score", "about a minute, once");

const resourceHealth: ToolSource = {
  folder: "resource-health",
  packages: ["."],
  versionModule: "github.com/fluxcd/cli-utils",
  tags: "",
  linkerFlags: () => "",
  links: [],
  cost: "half a minute, once",
};

const actionlint = judge("actionlint", "github.com/rhysd/actionlint", "a quarter of a minute, once");
const crane = judge("crane", "github.com/google/go-containerregistry", "half a minute, once");

const cosign: ToolSource = {
  ...judge("cosign", "github.com/sigstore/cosign/v3", "about three minutes, once"),
  linkerFlags: (version) => `-X sigs.k8s.io/release-utils/version.gitVersion=${version}`,
};

const natsBackup: ToolSource = {
  folder: "nats-backup",
  packages: ["."],
  versionModule: "github.com/nats-io/jsm.go",
  tags: "",
  linkerFlags: () => "",
  links: [],
  cost: "about a minute, once",
};

const otlpReceiver: ToolSource = {
  folder: "otlp-receiver",
  packages: ["."],
  versionModule: "go.opentelemetry.io/collector/receiver/otlpreceiver",
  tags: "",
  linkerFlags: () => "",
  links: [],
  cost: "half a minute, once",
};

const prometheusClient: ToolSource = {
  folder: "prometheus-client",
  packages: ["."],
  versionModule: "github.com/prometheus/client_golang",
  tags: "",
  linkerFlags: () => "",
  links: [],
  cost: "a quarter of a minute, once",
};

const cloudEventsClient: ToolSource = {
  folder: "cloudevents-client",
  packages: ["."],
  versionModule: "github.com/cloudevents/sdk-go/v2",
  tags: "",
  linkerFlags: () => "",
  links: [],
  cost: "a quarter of a minute, once",
};

const prometheusMinimum: Version = [3, 9, 0];
const kubernetesMinimum: Version = [1, 33, 0];

function kubernetesProgram(versionArgs: readonly string[], minimum: Version = kubernetesMinimum): Tool {
  return { source: kubernetes, minimum, versionArgs, folderVariable: "KUBEBUILDER_ASSETS" };
}

/**
 * Every program by its name. nats-server 2.14 has message schedules; Prometheus 3.9 has native histograms without a
 * feature flag; VictoriaMetrics 1.79 is Debian's; Kubernetes 1.33 is the oldest whose CEL libraries the resources use.
 */
export const tools = {
  "nats-server": {
    source: natsServer,
    minimum: [2, 14, 0],
    versionArgs: ["--version"],
    pathVariable: "HELIOGRAPH_NATS_SERVER",
  },
  prometheus: {
    source: prometheus,
    minimum: prometheusMinimum,
    versionArgs: ["--version"],
    pathVariable: "HELIOGRAPH_PROMETHEUS",
  },
  promtool: {
    source: prometheus,
    minimum: prometheusMinimum,
    versionArgs: ["--version"],
    pathVariable: "HELIOGRAPH_PROMTOOL",
  },
  /** Asks a Prometheus API with client_golang; only ever built. */
  "prometheus-client": { source: prometheusClient, minimum: [1, 25, 0], versionArgs: [] },
  /** Sends and reads CloudEvents with the SDK for Go; only ever built. */
  "cloudevents-client": { source: cloudEventsClient, minimum: [2, 16, 0], versionArgs: [] },
  "victoria-metrics": {
    source: victoriaMetrics,
    minimum: [1, 79, 0],
    versionArgs: ["-version"],
    pathVariable: "HELIOGRAPH_VICTORIA_METRICS",
  },
  /** A query frontend in front of Prometheus; only ever built. */
  thanos: { source: thanos, minimum: [0, 42, 0], versionArgs: [] },
  /** Evaluates alert rules against a Prometheus API; only ever built, Debian has an old one too. */
  vmalert: { source: vmalert, minimum: [1, 150, 0], versionArgs: [] },
  /** The one program that holds all of Kubernetes; only ever built. */
  kubernetes: { source: kubernetes, minimum: kubernetesMinimum, versionArgs: [] },
  etcd: kubernetesProgram(["--version"], [3, 5, 0]),
  "kube-apiserver": kubernetesProgram(["--version"]),
  "kube-controller-manager": kubernetesProgram(["--version"]),
  "kube-scheduler": kubernetesProgram(["--version"]),
  "kube-proxy": kubernetesProgram(["--version"]),
  kubelet: kubernetesProgram(["--version"]),
  kubectl: kubernetesProgram(["version", "--client"], [1, 30, 0]),
  coredns: { source: coredns, minimum: [1, 11, 0], versionArgs: ["-version"] },
  /** Only ever built: whatever is called `helm` on PATH may be of either major version. */
  helm: { source: helm3, minimum: [3, 22, 0], versionArgs: [] },
  helm4: { source: helm4, minimum: [4, 3, 0], versionArgs: [] },
  "helm-unittest": { source: helmUnittest, minimum: [1, 1, 2], versionArgs: [] },
  "helm-docs": { source: helmDocs, minimum: [1, 14, 2], versionArgs: [] },
  kubeconform: { source: kubeconform, minimum: [0, 8, 0], versionArgs: [] },
  "kube-score": { source: kubeScore, minimum: [1, 20, 0], versionArgs: [] },
  actionlint: { source: actionlint, minimum: [1, 7, 12], versionArgs: [] },
  /** Images and a registry without a daemon; only ever built. */
  crane: { source: crane, minimum: [0, 22, 1], versionArgs: [] },
  cosign: { source: cosign, minimum: [3, 1, 3], versionArgs: [] },
  /** Backups as the NATS command makes them; only ever built. */
  "nats-backup": { source: natsBackup, minimum: [0, 5, 1], versionArgs: [] },
  /** The receiver of the OpenTelemetry Collector; only ever built. */
  "otlp-receiver": { source: otlpReceiver, minimum: [0, 160, 0], versionArgs: [] },
  /** What Flux and Argo CD make of an object; only ever built. */
  "resource-health": { source: resourceHealth, minimum: [1, 2, 0], versionArgs: [] },
  kind: { source: kind, minimum: [0, 30, 0], versionArgs: ["version"] },
} as const satisfies Readonly<Record<string, Tool>>;

/** The name of a program that can be resolved. */
export type ToolName = keyof typeof tools;

/** Prometheus publishes its 3.x releases as Go module versions v0.3xx. */
function prometheusVersion(moduleVersion: string): string {
  const [, minor = "0", patch = "0"] = moduleVersion.replace(/^v/u, "").split(".");
  return `${Math.floor(Number(minor) / 100)}.${Number(minor) % 100}.${patch}`;
}

/** Without these, the API server reports v0.0.0 and refuses emulation versions. */
function kubernetesLinkerFlags(version: string): string {
  const [major = "", minor = ""] = version.replace(/^v/u, "").split(".");
  const variables = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: "clean" };
  return ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"]
    .flatMap((place) => Object.entries(variables).map(([name, value]) => `-X ${place}.${name}=${value}`))
    .join(" ");
}

/** Without the Kubernetes version, `helm template` renders for 1.20 and refuses a chart that asks for a newer one. */
function helm3LinkerFlags(version: string): string {
  const targets = ["pkg/chartutil", "pkg/lint/rules"].map((place) => `-X helm.sh/helm/v3/${place}.k8sVersionMinor=36`);
  return [`-X helm.sh/helm/v3/internal/version.version=${version}`, ...targets].join(" ");
}
