import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { resolveTool } from "../tools/resolve.ts";
import { startServerProcess, type ServerProcess } from "./server-process.ts";
import { temporaryFolder } from "./temp-folder.ts";
import { waitFor } from "./wait.ts";

/** How a test's nats-server differs from the usual one. */
interface NatsServerOptions {
  /** Where JetStream stores; kept by `stop`. @default a folder of its own, removed by `stop` */
  readonly storeDir?: string;
  /** @default one that the server picks */
  readonly port?: number;
  /** A loopback address. @default 127.0.0.1 */
  readonly host?: string;
  /**
   * How long JetStream may keep writes from the disk, as nats-server spells it: `always`, `1s`. @default nats-server's
   * own, 2 minutes
   */
  readonly syncInterval?: string;
  /** More lines for the server's configuration file (accounts, users, limits). */
  readonly config?: string;
}

/** A real nats-server with JetStream on a loopback address. */
export interface NatsServerHandle {
  readonly url: string;
  readonly port: number;
  readonly storeDir: string;
  /** The running process; changes with `restart`. */
  readonly pid: number;
  /** The last lines of the running process's log. */
  log(): string;
  /** Ends the server; removes the store if the caller did not name it. */
  stop(): Promise<void>;
  /** Ends the server as a crash would and keeps its store, for `restart`. */
  kill9(): Promise<void>;
  /** Ends the server if it runs, and starts it again on the same port and store. */
  restart(): Promise<void>;
  /** Replaces the `config` of the options and resolves when the running server has loaded it. */
  reload(config: string): Promise<void>;
  /** The same with a configuration that turns JetStream off. */
  reloadWithoutJetStream(config: string): Promise<void>;
}

const restartTriesMax = 5;
const reloadMsMax = 10_000;

function countOf(log: string): number {
  return log.split("Reloaded server configuration").length;
}

/**
 * Starts a nats-server with JetStream and resolves when it takes connections.
 *
 * @throws Error with the last lines of its log when it does not come up
 */
export async function startNatsServer(options: NatsServerOptions = {}): Promise<NatsServerHandle> {
  const command = await resolveTool("nats-server");
  const folder = await temporaryFolder("nats");
  const storeDir = options.storeDir ?? join(folder.path, "store");
  const configPath = join(folder.path, "nats-server.conf");
  await writeFile(configPath, configText(options, storeDir));
  const host = options.host ?? "127.0.0.1";
  const launch = (port: number): Promise<Launched> => launchOn(command, configPath, folder.path, { host, port });
  let current = await launch(options.port ?? 0).catch(async (error: unknown) => {
    await folder.remove();
    throw error;
  });
  const { port } = current;
  const load = async (text: string): Promise<void> => {
    const before = countOf(current.process.log());
    await writeFile(configPath, text);
    process.kill(current.process.pid, "SIGHUP");
    const isLoaded = (): boolean => countOf(current.process.log()) > before;
    await waitFor(isLoaded, { timeoutMs: reloadMsMax, what: "the reload" });
  };
  return {
    url: `nats://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    storeDir,
    get pid() {
      return current.process.pid;
    },
    log: () => current.process.log(),
    kill9: () => current.process.kill9(),
    restart: async () => {
      await current.process.stop();
      current = await retried(() => launch(port));
    },
    reload: (config) => load(configText({ ...options, config }, storeDir)),
    reloadWithoutJetStream: (config) => load(`${config}\n`),
    stop: async () => {
      await current.process.stop();
      await folder.remove();
    },
  };
}

interface Launched {
  readonly process: ServerProcess;
  readonly port: number;
}

interface Place {
  readonly host: string;
  readonly port: number;
}

async function launchOn(command: string, configPath: string, portsDir: string, place: Place): Promise<Launched> {
  const { host, port } = place;
  let found = 0;
  const server = await startServerProcess({
    name: "nats-server",
    command,
    args: ["-c", configPath, "-a", host, "-p", String(port === 0 ? -1 : port), "--ports_file_dir", portsDir],
    ready: async ({ pid }) => {
      // The server writes this file once it listens. No process can take a port of its own choice first.
      const ports: unknown = JSON.parse(await readFile(join(portsDir, `nats-server_${pid}.ports`), "utf8"));
      found = portOf(ports);
      return true;
    },
  });
  return { process: server, port: found };
}

function portOf(ports: unknown): number {
  const { nats } = ports as { readonly nats: readonly string[] };
  return Number(new URL(nats[0] ?? "").port);
}

function configText(options: NatsServerOptions, storeDir: string): string {
  const sync = options.syncInterval === undefined ? "" : `, sync_interval: ${JSON.stringify(options.syncInterval)}`;
  return `jetstream { store_dir: ${JSON.stringify(storeDir)}${sync} }\n${options.config ?? ""}\n`;
}

/** While the server was down, an outgoing connection of anybody may hold its port for a moment. */
async function retried<T>(start: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await start();
    } catch (error) {
      if (tries >= restartTriesMax) throw error;
    }
  }
}
