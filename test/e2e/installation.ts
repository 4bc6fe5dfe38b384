import { readFileSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { clusterImages, loadClusterImages } from "../image/cluster-images.ts";
import type { Cluster, Progress } from "../cluster/cluster.ts";
import { nodeLayout } from "../cluster/node/layout.ts";
import { privateRange } from "../cluster/node/network.ts";
import { clusterProvider } from "../cluster/provider.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";

/** The checkout. */
const root = dirname(dirname(import.meta.dirname));
/** The chart in the checkout. */
export const chart = join(root, "charts", "heliograph");
/** The definitions in the checkout. */
export const definitions = join(root, "crds");

/** Values of the node of `make cluster-up`, with which the suite installs on its own. */
export const nodeValuesFile = join(root, "docs", "recipes", "values-node.yaml");
/** The image of the product in the checkout. */
export const productTag = clusterImages.product;
/** The image of partner, store and load. */
export const toolsTag = "localhost/heliograph-e2e:1";
const helmMsMax = 5 * 60_000;

/** A cluster that has the images, and the programs that a user has. */
export interface Installation {
  readonly cluster: Cluster;
  /** Runs helm 3; answers what it printed. @throws Error with what it complained about */
  readonly helm: (args: readonly string[]) => Promise<string>;
  /** The same with helm 4. */
  readonly helm4: (args: readonly string[]) => Promise<string>;
  /** Runs kubectl; answers what it printed. @throws Error with what it complained about */
  readonly kubectl: (args: readonly string[], stdin?: object) => Promise<string>;
}

/** Where the suite's own node keeps its state, apart from the one that `make cluster-up` starts. */
export const suiteEnv = { ...process.env, HELIOGRAPH_CLUSTER_HOME: `${nodeLayout().root}-of-e2e` };

/** Starts the cluster and hands it the images. */
export async function startInstallation(progress: Progress): Promise<Installation> {
  const provider = await clusterProvider(suiteEnv);
  const cluster = await provider.up(progress);
  await loadImages(cluster, progress);
  return installationOf(cluster, undefined);
}

/** @param identity the cluster's administrator when undefined */
async function installationOf(cluster: Cluster, identity: Identity | undefined): Promise<Installation> {
  const [helm, helm4] = await Promise.all([resolveTool("helm"), resolveTool("helm4")]);
  const runHelm =
    (command: string) =>
    async (args: readonly string[]): Promise<string> => {
      const flags = [
        "--kubeconfig",
        cluster.kubeconfig,
        ...(identity === undefined
          ? []
          : [`--kube-as-user=${identity.user}`, ...identity.groups.map((group) => `--kube-as-group=${group}`)]),
      ];
      const { code, stdout, stderr } = await run(command, [...args, ...flags], { timeoutMs: helmMsMax });
      if (code !== 0) throw new Error(`helm ${args.slice(0, 2).join(" ")}: ${stderr.trim()}`);
      return stdout;
    };
  const flags =
    identity === undefined ? [] : [`--as=${identity.user}`, ...identity.groups.map((group) => `--as-group=${group}`)];
  return {
    cluster,
    helm: runHelm(helm),
    helm4: runHelm(helm4),
    kubectl: async (args, stdin) => {
      const { code, stdout, stderr } = await cluster.kubectl(
        [...flags, ...args],
        stdin === undefined ? "" : JSON.stringify(stdin),
      );
      if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr.trim()}`);
      return stdout;
    },
  };
}

/** Somebody as whom helm and kubectl act. */
interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
}

/**
 * Makes a namespace and somebody who may do in it what its administrators do, and with the product's resources what its
 * operator does, and nothing elsewhere.
 */
export async function memberOf({ cluster, kubectl }: Installation, namespace: string): Promise<Installation> {
  const user = `member-of-${namespace}`;
  await kubectl(["create", "namespace", namespace]);
  await kubectl(["label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted"]);
  const inNamespace = ["--namespace", namespace];
  await kubectl([...inNamespace, "create", "rolebinding", "admins", "--clusterrole=admin", `--user=${user}`]);
  const rules = [
    { apiGroups: ["heliograph.dev"], resources: ["*"], verbs: ["*"] },
    { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
    // Nobody may grant what they have not.
    { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create", "get", "update"] },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["get", "list", "watch"] },
  ];
  await kubectl([...inNamespace, "apply", "--filename=-"], {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "members" },
    rules,
  });
  await kubectl([...inNamespace, "create", "rolebinding", "members", "--role=members", `--user=${user}`]);
  return installationOf(cluster, { user, groups: ["system:authenticated"] });
}

/** Makes the definitions, for releases without them, so that none of several releases owns them. */
export async function applyDefinitions({ kubectl }: Installation): Promise<void> {
  await kubectl(["apply", "--server-side", "--force-conflicts", "--filename", definitions]);
}

/** Ends what `startInstallation` started. */
export async function endInstallation(progress: Progress): Promise<void> {
  await (await clusterProvider(suiteEnv)).down(progress);
}

async function loadImages(cluster: Cluster, progress: Progress): Promise<void> {
  await loadClusterImages(cluster, progress);
  const folder = await temporaryFolder("e2e");
  try {
    const archive = join(folder.path, "tools.tar");
    await cluster.buildImage({
      dockerfile: join(import.meta.dirname, "image", "Dockerfile"),
      context: await toolsContext(folder.path),
      tag: toolsTag,
      archive,
    });
    await cluster.loadImage(archive);
  } finally {
    await folder.remove();
  }
}

async function toolsContext(folder: string): Promise<string> {
  const context = join(folder, "tools");
  await mkdir(context);
  await copyFile(await resolveTool("prometheus"), join(context, "prometheus"));
  for (const name of ["partner.ts", "load.ts"])
    await copyFile(join(import.meta.dirname, "image", name), join(context, name));
  return context;
}

const [repository, tag] = productTag.split(":");
/** Values that run the product in the checkout. */
const imageValues = { repository, tag, pullPolicy: "Never" };

/**
 * Values of every installation of the suite: the images that the cluster has, and names for what runs beside the
 * product.
 */
export function suiteValues(namespace: string): Readonly<Record<string, unknown>> {
  const node = nodeValues();
  const everything = {
    tenants: ["*"],
    producers: ["*"],
    storeHosts: ["*"],
    clients: ["*"],
    cidrs: [privateRange],
    plaintext: true,
  };
  const scopes = ["events:write", "webhooks:read", "webhooks:replay", "metrics:read", "admin:preview"];
  return {
    image: imageValues,
    nats: {
      ...node.nats,
      persistence: { size: "1Gi" },
      maxFileStore: "900Mi",
    },
    settings: { streams: smallStreams },
    policy: { grants: [{ namespaces: [namespace], ...everything }] },
    clusterIssuer: {
      grants: [
        { subject: `system:serviceaccount:${namespace}:caller`, scopes, tenants: ["lumen"] },
        {
          subject: `system:serviceaccount:${namespace}:narrow`,
          scopes,
          tenants: ["lumen"],
          partners: [`${namespace}/other`],
        },
      ],
    },
    runtime: node.runtime,
    tests: { resources: node.tests.resources },
    operator: { ...node.operator, leaseSeconds: 14, leaseRenewSeconds: 11, leaseRetrySeconds: 1 },
  };
}

/** Values that an upgrade has to add, since the release before this one has no such values. */
export function addedValues(): Readonly<Record<string, unknown>> {
  return { image: imageValues, nats: { monitor: nodeValues().nats.monitor } };
}

/**
 * The values of every installation as the release before this one takes them.
 *
 * @param issuer of the cluster's tokens, which that release does not read from the token of a pod
 */
export function olderValues(namespace: string, issuer: string): Readonly<Record<string, unknown>> {
  const { nats, clusterIssuer, ...values } = suiteValues(namespace) as {
    readonly nats: NodeValues["nats"];
    readonly clusterIssuer: object;
  };
  const { monitor: _added, ...older } = nats;
  return { ...values, nats: older, clusterIssuer: { ...clusterIssuer, issuer } };
}

function nodeValues(): NodeValues {
  return parse(readFileSync(nodeValuesFile, "utf8")) as NodeValues;
}

interface NodeValues {
  readonly nats: { readonly monitor: object };
  readonly runtime: object;
  readonly operator: object;
  readonly tests: { readonly resources: object };
}

const mebibyte = 1024 * 1024;
const smallStreams = {
  events: { maxBytes: 200 * mebibyte },
  deliveries: { maxBytes: 200 * mebibyte },
  attempts: { maxBytes: 100 * mebibyte },
  deadLetters: { maxBytes: 100 * mebibyte },
};

/** Arguments that give helm these values, types kept. */
export function setJson(values: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(values).flatMap(([key, value]) => ["--set-json", `${key}=${JSON.stringify(value)}`]);
}
