// Moves the streams of an installation to the NATS servers of another store. It changes only these servers and the
// record of the streams; helm changes everything else, before and after.
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeClient } from "../../kube/client/client.ts";
import { type KubeObject, secretType } from "../../kube/client/resource.ts";
import { connectNats, type NatsConnectionHandle } from "../nats/connection/connect.ts";
import type { NatsAccess } from "../nats/connection/nats-access.ts";
import { untilAvailable } from "../nats/connection/retry-until-reply.ts";
import { copyStreams } from "../nats/copy/copy-streams.ts";
import { createLayout } from "../nats/layout.ts";
import { readIdentities } from "../nats/streams/stream-identities.ts";
import { createStreamRecord } from "../config/kubernetes/stream-record.ts";
import { type MigratedInstallation, NotMigratable, readInstallation, type Servers } from "./installation.ts";

/** A port that leads to one of the servers. */
export interface ServerForward {
  /** `nats://` or `tls://` */
  readonly url: string;
  close(): Promise<void>;
}

/** What a migration needs. */
export interface Migration {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly release: string;
  /** Makes the first pod of the servers reachable. */
  readonly forward: (servers: Servers) => Promise<ServerForward>;
  /** Receives one sentence for each step. */
  readonly say: (sentence: string) => void;
  /** Bound on the wait for pods that end or start. @default 5 minutes */
  readonly waitMsMax?: number;
}

const waitMsMaxDefault = 5 * 60_000;
const pauseMs = 1_000;
const backupUser = "backup";

/**
 * Copies all streams, compares them, and records the copies as the streams of the installation. The source is read
 * only. It is safe to run again after any end.
 *
 * @throws NotMigratable, CopyFailed, KubeError, NoReplyError
 */
export async function migrate(migration: Migration): Promise<void> {
  const { namespace, release, client, say } = migration;
  const found = await untilQuiet(migration);
  const { source, target, streamRecord } = found;
  say(`no pod of the runtime runs; ${source.name} keeps its streams and volumes as they are`);
  const streams = await withServers(migration, source, async (from) =>
    withServers(migration, target, async (to) => {
      const copies = await copyStreams({ from, to, replicas: target.replicas, onStep: say });
      const layout = createLayout(prefixOf(copies.map(({ config }) => config.name)));
      return untilAvailable(() => readIdentities(to, layout));
    }),
  );
  const late = (await readInstallation(client, namespace, release)).runtimePods;
  if (late.length > 0) throw new NotMigratable(`the pod ${late.join(", ")} started meanwhile; run the command again`);
  await createStreamRecord(client, namespace, streamRecord).replace(streams, target.name);
  say(`${target.name} holds the streams of the installation now`);
  say(nextCommand(migration, found));
}

/** The command that gives the runtime its new servers. */
function nextCommand({ namespace, release }: Migration, { prefix, target }: Quiet): string {
  const store = target.name.slice(`${prefix}-nats`.length).replace(/^-/u, "");
  const values = [
    `nats.store=${store}`,
    `nats.replicas=${target.replicas}`,
    "nats.migration.replicas=0",
    `settings.streams.replicas=${target.replicas}`,
  ];
  const flags = `--namespace ${namespace} --reuse-values --set ${values.join(",")}`;
  return `next: helm upgrade ${release} charts/heliograph ${flags}`;
}

type Quiet = MigratedInstallation & { readonly target: Servers };

/** Waits until no pod of the runtime is left and all new servers are ready. @throws NotMigratable */
async function untilQuiet({ client, namespace, release, waitMsMax = waitMsMaxDefault }: Migration): Promise<Quiet> {
  const deadlineMs = performance.now() + waitMsMax;
  for (;;) {
    const found = await readInstallation(client, namespace, release);
    const { target } = found;
    if (target === undefined) {
      throw new NotMigratable(
        "there are no servers to copy to: set nats.migration.replicas and nats.migration.store with helm upgrade first",
      );
    }
    const obstacle = obstacleOf(found, target);
    if (obstacle === undefined) return { ...found, target };
    if (performance.now() >= deadlineMs) throw new NotMigratable(obstacle);
    await sleep(pauseMs);
  }
}

function obstacleOf({ runtimePods, source }: MigratedInstallation, target: Servers): string | undefined {
  if (runtimePods.length > 0) return `pods of the runtime still run: ${runtimePods.join(", ")}`;
  const waiting = [source, target].find(({ replicas, readyReplicas }) => readyReplicas < replicas);
  return waiting && `${waiting.readyReplicas} of ${waiting.replicas} servers of ${waiting.name} are ready`;
}

async function withServers<T>(
  migration: Migration,
  servers: Servers,
  work: (handle: NatsConnectionHandle) => Promise<T>,
): Promise<T> {
  const forward = await migration.forward(servers);
  try {
    const handle = await connectNats(await accessOf(migration, servers, forward.url));
    try {
      return await work(handle);
    } finally {
      await handle.drain();
    }
  } finally {
    await forward.close();
  }
}

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

async function accessOf({ client, namespace }: Migration, servers: Servers, url: string): Promise<NatsAccess> {
  const entry = async (name: string, key: string): Promise<string> => {
    const { data } = await client.get<Secret>(secretType, { namespace, name });
    return Buffer.from(data?.[key] ?? "", "base64").toString();
  };
  const { tlsSecret, password } = servers;
  return {
    servers: [url],
    user: backupUser,
    // The monitor writes the server's users without this line break, too.
    password: (await entry(password.secret, password.key)).replace(/\r?\n$/u, ""),
    // The addresses that a cluster announces are not reachable from here.
    followsCluster: false,
    ...(tlsSecret === undefined || !url.startsWith("tls:") ? {} : { tls: { ca: await entry(tlsSecret, "ca.crt") } }),
  };
}

const eventsSuffix = "_EVENTS";

/** The prefix of the settings, as the stream of events shows it. */
function prefixOf(names: readonly string[]): string {
  const events = names.find((name) => name.endsWith(eventsSuffix));
  if (events === undefined) throw new NotMigratable(`no stream of events among ${names.join(", ")}`);
  return events.slice(0, -eventsSuffix.length);
}
