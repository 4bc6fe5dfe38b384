import { stat } from "node:fs/promises";
import { allowAll } from "../../crds/policy.ts";
import type { ShardCounts } from "../../crds/shards/shards.ts";
import { createKubeClient } from "../../kube/client/client.ts";
import { openClusterAccess } from "../../kube/client/cluster-access.ts";
import type { ClusterAccess } from "../../kube/client/credentials.ts";
import { singleTry } from "../../kube/client/retry.ts";
import type { Shutdown } from "./shutdown.ts";
import type { ConfigState } from "../config/config-source.ts";
import { FolderRecordFile } from "../config/folder/folder-record.ts";
import { FolderSource } from "../config/folder/folder-source.ts";
import type { FolderState } from "../config/folder/folder-state.ts";
import { KubernetesSource } from "../config/kubernetes/kubernetes-source.ts";
import { type ConfigMapRecord, createStreamRecord, streamRecordName } from "../config/kubernetes/stream-record.ts";
import { ShardCopies } from "../config/kubernetes/shard-copies.ts";
import type { Settings } from "../config/settings/settings.ts";
import { holdDataFolder, startEmbeddedNats } from "./data-folder.ts";
import type { NatsAccess } from "../nats/connection/nats-access.ts";
import { type Program, startProgram } from "./program.ts";
import type { Prepared, ProgramOptions, ProgramPlan } from "./program-plan.ts";
import { StartError, startStep } from "./start-error.ts";
import { folderLog, shardLog } from "./config-log.ts";
import { version } from "../version.ts";

interface RuntimeOptions extends ProgramOptions {
  readonly config: ConfigPlace;
  readonly nats: NatsPlace;
  /** Unique among the pods that share NATS. */
  readonly podName: string;
  /** Time for which requests are still answered after the stop request, while `/readyz` returns 503. */
  readonly unreadyMs: number;
}

/** A start with its streams in place does not wait longer for the API server. */
const recordTimeoutMs = 3_000;

/** Source of the configuration. */
export type ConfigPlace =
  | ({ readonly kind: "kubernetes" } & KubernetesPlace)
  /** A folder as of `heliograph run`. */
  | { readonly kind: "folder"; readonly path: string };

interface KubernetesPlace {
  /** Of the Secrets. @default the pod's own, or that of the kubeconfig's context */
  readonly namespace?: string;
  /** Name prefix of the Secrets. */
  readonly prefix: string;
  /** Name of the ConfigMap with the record of the streams. @default by the prefix */
  readonly streamRecord?: string;
  readonly counts: ShardCounts;
  /** @default the pod's service account */
  readonly kubeconfig?: string;
  /** Folder of copies for a start without the API server. @default none are kept */
  readonly cacheFolder?: string;
}

/** Source of NATS. */
export type NatsPlace =
  | { readonly kind: "server"; readonly access: NatsAccess }
  | { readonly kind: "embedded"; readonly dataFolder: string; readonly natsServer?: string };

/**
 * Runs the product as one pod of several, on a configuration that the operator compiles. It trusts only the issuers of
 * the settings. Resolves when it is ready: every shard applied, NATS connected, both APIs served.
 * @returns undefined when `stopping` was aborted before
 * @throws StartError with one sentence for the operator
 */
export async function startRuntime(options: RuntimeOptions, stopping: AbortSignal): Promise<Program | undefined> {
  const { config } = options;
  if (config.kind === "kubernetes") {
    return startProgram(
      planOf(options, (settings, shutdown) => prepareKubernetes(options, config, settings, shutdown)),
      stopping,
    );
  }
  const found = await startStep("folder", `the configuration ${config.path} cannot be read`, () => stat(config.path));
  if (!found.isDirectory())
    throw new StartError("folder", `the configuration ${config.path} is a file; name a folder or "kubernetes"`);
  return startProgram(
    planOf(options, (settings, shutdown) => prepareFolder(options, config.path, settings, shutdown)),
    stopping,
  );
}

function planOf<State extends ConfigState>(
  options: RuntimeOptions,
  prepare: ProgramPlan<State>["prepare"],
): ProgramPlan<State> {
  return { ...options, pod: options.podName, prepare, waitsForNats: options.nats.kind === "server" };
}

/** The parts that are the same for every source of the configuration. */
async function prepareCommon({ nats, podName, log }: RuntimeOptions, shutdown: Shutdown) {
  if (nats.kind === "embedded") await holdDataFolder(nats.dataFolder, shutdown);
  const natsAccess = async (): Promise<NatsAccess> =>
    nats.kind === "server" ? nats.access : startEmbeddedNats({ ...nats, log }, shutdown);
  return { natsAccess, podId: podName, issuers: [] };
}

async function prepareKubernetes(
  options: RuntimeOptions,
  place: KubernetesPlace,
  { streams }: Settings,
  shutdown: Shutdown,
): Promise<Prepared<ConfigState>> {
  const { log } = options;
  const { prefix, counts, kubeconfig, cacheFolder, streamRecord: recordName = streamRecordName(prefix) } = place;
  const access = await startStep("kubernetes", "the API server cannot be used", () => {
    return openClusterAccess(kubeconfig === undefined ? {} : { path: kubeconfig }, { environment: process.env });
  });
  const namespace = place.namespace ?? access.namespace;
  if (namespace === undefined)
    throw new StartError("kubernetes", "the namespace of the configuration is not known; set it with --namespace");
  const openCopies = (folder: string) =>
    startStep("data", `the folder ${folder} cannot be used`, () => ShardCopies.open(folder, `${namespace}-${prefix}`));
  const copies = cacheFolder === undefined ? {} : { copies: await openCopies(cacheFolder) };
  const userAgent = `heliograph/${version}`;
  const common = { access, namespace, prefix, counts, log, userAgent, ...copies };
  return {
    ...(await prepareCommon(options, shutdown)),
    streamRecord: openRecord(access, { namespace, name: recordName, userAgent }, shutdown),
    openConfig: ({ registry, onWaiting, stopping }) =>
      KubernetesSource.open({ ...common, registry, onWaiting }, stopping),
    logState: shardLog(log, streams),
  };
}

interface RecordPlace {
  readonly namespace: string;
  /** Name of the ConfigMap. */
  readonly name: string;
  readonly userAgent: string;
}

function openRecord(
  access: ClusterAccess,
  { namespace, name, userAgent }: RecordPlace,
  shutdown: Shutdown,
): ConfigMapRecord {
  // One request at the start and one write per installation are not worth a metric.
  const metrics = { requests: { inc: () => undefined } };
  const client = createKubeClient({ access, userAgent, metrics, retry: singleTry(recordTimeoutMs) });
  shutdown.add("record of the streams", () => client.close());
  return createStreamRecord(client, namespace, name);
}

async function prepareFolder(
  options: RuntimeOptions,
  folder: string,
  { streams }: Settings,
  shutdown: Shutdown,
): Promise<Prepared<FolderState>> {
  const { nats } = options;
  const record = nats.kind === "embedded" ? { record: new FolderRecordFile(nats.dataFolder) } : undefined;
  const open = () => FolderSource.open(folder, { policy: allowAll, ...record });
  return {
    ...(await prepareCommon(options, shutdown)),
    openConfig: () => startStep("folder", `the folder ${folder} cannot be read`, open),
    logState: folderLog(options.log, streams),
  };
}
