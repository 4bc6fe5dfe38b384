import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { freePort } from "./free-port.ts";
import { startNatsServer, type NatsServerHandle } from "./nats-server.ts";
import { waitFor } from "./wait.ts";

/** Real nats-servers that keep streams together. */
export interface NatsCluster {
  readonly nodes: readonly NatsServerHandle[];
  stop(): Promise<void>;
}

const startTriesMax = 3;

const leaderTimeoutMs = 30_000;

/**
 * Starts a cluster of nats-servers, all on 127.0.0.1, and resolves when JetStream answers at each of them.
 *
 * @param storeDirs a folder for each server, which `stop` keeps. @default folders that `stop` removes
 */
export async function startNatsCluster(size = 3, storeDirs: readonly string[] = []): Promise<NatsCluster> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await start(size, storeDirs);
    } catch (error) {
      // Somebody else may have taken one of the ports that were free a moment ago.
      if (tries >= startTriesMax) throw error;
    }
  }
}

/** The configuration of each server of a cluster, for `startNatsServer`. */
export async function clusterConfigs(size = 3): Promise<readonly string[]> {
  const ports = await Promise.all(Array.from({ length: size }, () => freePort()));
  const routes = ports.map((port) => `nats://127.0.0.1:${port}`).join(", ");
  return ports.map(
    (port, index) => `server_name: n${index}\ncluster { name: test, listen: "127.0.0.1:${port}", routes: [${routes}] }`,
  );
}

async function start(size: number, storeDirs: readonly string[]): Promise<NatsCluster> {
  const configs = await clusterConfigs(size);
  const started = await Promise.allSettled(
    configs.map((config, index) =>
      startNatsServer({ ...(storeDirs[index] === undefined ? {} : { storeDir: storeDirs[index] }), config }),
    ),
  );
  const nodes = started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const stop = async (): Promise<void> => void (await Promise.all(nodes.map((node) => node.stop())));
  const failed = started.find((result) => result.status === "rejected");
  try {
    if (failed !== undefined) throw failed.reason;
    await Promise.all(
      nodes.map(({ url }) =>
        waitFor(() => hasJetStream(url), { timeoutMs: leaderTimeoutMs, what: `JetStream at ${url}` }),
      ),
    );
    return { nodes, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function hasJetStream(url: string): Promise<boolean> {
  const connection = await connect({ servers: [url] });
  try {
    await jetstreamManager(connection, { checkAPI: true });
    return true;
  } catch {
    return false;
  } finally {
    await connection.close();
  }
}
