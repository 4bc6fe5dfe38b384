// The program beside each nats-server of the chart. It makes the server load renewed certificates and changed users,
// exports its metrics and answers its probes. It does not connect to NATS and reads no message.
import { statfs } from "node:fs/promises";
import type { Logger } from "pino";
import { runPeriodically } from "../../../limits/periodic.ts";
import { createSingleFlight } from "../../../limits/single-flight.ts";
import { createCertificateReload } from "./certificate-reload.ts";
import { createLiveness, readJetStreamOn } from "./liveness.ts";
import { readDocument, readMonitor } from "./monitor-client.ts";
import { startMonitorServer } from "./monitor-server.ts";
import { createServerUsers } from "./server-users.ts";
import { serverMetrics, type ServerReading } from "./server-metrics.ts";
import { createStoreFiles, missingText } from "../store/store-files.ts";

/** Places of the pod of one nats-server. */
export interface MonitorOptions {
  /** Monitoring port of nats-server, such as `http://127.0.0.1:8222`. */
  readonly monitor: string;
  /** Folder of the mounted certificate. */
  readonly tlsFolder: string;
  readonly pidFile: string;
  /** Folder of the mounted passwords, and the file that the server includes. @default the server has no users */
  readonly users?: { readonly authFolder: string; readonly usersFile: string };
  /** Folder on the volume of JetStream. */
  readonly dataFolder: string;
  /** Port of metrics and probes; 0 picks a free one. */
  readonly port: number;
  readonly host?: string;
  /** Time for which a server may catch up with the others after the kubelet's limit, in milliseconds. @default 0 */
  readonly catchUpMs?: number;
  /** Period at which the files are compared, in milliseconds. @default 5000 */
  readonly checkMs?: number;
}

/** A running monitor. */
interface Monitor {
  readonly port: number;
  stop(): Promise<void>;
}

const checkMsDefault = 5_000;
const jszPath = "/jsz?streams=true&config=true";

/** Starts the monitor. @throws Error when its port cannot be opened, or the users cannot be written */
export async function startMonitor(options: MonitorOptions, log: Logger): Promise<Monitor> {
  const users = options.users === undefined ? undefined : createServerUsers(options.users, log);
  // The server starts when the port is open.
  await users?.write();
  const usersFile = options.users?.usersFile;
  const reload = createCertificateReload({ ...options, ...(usersFile === undefined ? {} : { usersFile }) }, log);
  const readPath = (path: string) => readMonitor(options.monitor, path);
  const files = createStoreFiles({
    read: () => readDocument(options.monitor, jszPath),
    dataFolder: options.dataFolder,
    onChange: (streams) =>
      streams.length === 0 ? log.info("files of all streams found") : log.error({ streams }, missingText(streams)),
  });
  const missing = (): readonly string[] => files.missing() ?? [];
  const liveness = createLiveness({
    read: readPath,
    volume: () => orAbsent(volumeOf(options.dataFolder)),
    hasFiles: () => missing().length === 0,
    catchUpMs: options.catchUpMs ?? 0,
    nowMs: () => performance.now(),
  });
  const read = async (): Promise<string> => {
    const [varz, jsz, isOn, volume] = await Promise.all([
      orAbsent(readDocument(options.monitor, "/varz")),
      orAbsent(readDocument(options.monitor, jszPath)),
      orAbsent(readJetStreamOn(readPath)),
      orAbsent(volumeOf(options.dataFolder)),
    ]);
    const isReloadPending = reload.isPending() || users?.isFaulty() === true;
    const own = { isReloadPending, reloadSignals: reload.signals() };
    // A reload that turns JetStream off leaves the health as it is: nats-server then expects none.
    const isJetStreamOn = isOn === true && Object(jsz)["disabled"] !== true;
    const streamsWithoutFiles = jsz === undefined ? undefined : files.missing()?.length;
    const known = {
      ...(volume && { volume }),
      ...(isOn !== undefined && { isJetStreamOn }),
      ...(streamsWithoutFiles !== undefined && { streamsWithoutFiles }),
    };
    return serverMetrics({ ...own, ...known, varz, jsz });
  };
  // Concurrent scrapes share one read.
  const flight = createSingleFlight<string>();
  const server = await startMonitorServer({
    ...options,
    isAlive: () => liveness.look(),
    fault: () => (missing().length === 0 ? undefined : missingText(missing())),
    metrics: () => flight("metrics", read),
  });
  const stopChecks = runPeriodically(options.checkMs ?? checkMsDefault, async () => {
    await users?.check();
    await reload.check();
    await files.check();
  });
  return {
    port: server.port,
    stop: async () => {
      stopChecks();
      await server.stop();
    },
  };
}

async function volumeOf(folder: string): Promise<NonNullable<ServerReading["volume"]>> {
  const { bsize, blocks, bavail } = await statfs(folder);
  return { sizeBytes: bsize * blocks, availableBytes: bsize * bavail };
}

async function orAbsent<T>(value: Promise<T>): Promise<T | undefined> {
  return value.catch(() => undefined);
}
