import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { NatsAccess } from "../connection/nats-access.ts";
import { connect } from "@nats-io/transport-node";

/** Files of a child server below the data folder. */
export interface ChildFiles {
  readonly folder: string;
  readonly store: string;
  readonly config: string;
  readonly state: string;
  readonly log: string;
  readonly lock: string;
}

/** Stored state of the child server, readable for this user only. */
export interface ChildState {
  /** 0 until the first start chose one. */
  readonly port: number;
  readonly password: string;
  /** For the system account, which reports the health of the server. */
  readonly systemPassword: string;
  /** Process of the server that was started last; 0 for none. */
  readonly pid: number;
}

/** Users of the server. */
export const childUser = { events: "heliograph", system: "system" } as const;

const passwordBytes = 32;
const privateFolder = 0o700;
const privateFile = 0o600;
/** Time until a message is synced to disk: a power failure can lose this much. */
const syncInterval = "1s";
const logBytesMax = 8 * 1024 * 1024;
const logFilesMax = 3;
/** Each stream has its own limit. The server must not also reserve their sum on a small disk. */
const storeBytesMax = "1PB";
const memoryStoreBytesMax = 256 * 1024 * 1024;

/** Names below a data folder. */
export function childFiles(dataFolder: string): ChildFiles {
  const folder = join(dataFolder, "nats");
  const inside = (name: string): string => join(folder, name);
  return {
    folder,
    store: inside("store"),
    config: inside("nats-server.conf"),
    state: inside("server.json"),
    log: inside("nats-server.log"),
    lock: inside("heliograph.lock"),
  };
}

/** Creates the folder, for this user only. */
export async function makeFolder({ folder }: ChildFiles): Promise<void> {
  await mkdir(folder, { recursive: true, mode: privateFolder });
  await chmod(folder, privateFolder);
}

/** The stored state, or a new one with new passwords. */
export async function readState({ state }: ChildFiles): Promise<ChildState> {
  const known = await readFile(state, "utf8").then(
    (text) => JSON.parse(text) as Partial<ChildState>,
    () => ({}),
  );
  const password = (): string => randomBytes(passwordBytes).toString("base64url");
  return { port: 0, pid: 0, password: password(), systemPassword: password(), ...known };
}

/** Access to the server of a data folder, if one of these URLs is that of the server; undefined otherwise. */
export async function childAccess(dataFolder: string, urls: readonly string[]): Promise<NatsAccess | undefined> {
  const text = await readFile(childFiles(dataFolder).state, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const { port = 0, password = "" } = JSON.parse(text) as Partial<ChildState>;
  const servers = [`nats://127.0.0.1:${port}`];
  const isNamed = urls.some((url) => servers.includes(url.replace("//localhost:", "//127.0.0.1:")));
  return isNamed ? { servers, user: childUser.events, password } : undefined;
}

/** Stores the state. After a crash, the file holds the old or the new state, never a part. */
export async function writeState({ state }: ChildFiles, value: ChildState): Promise<void> {
  const aside = `${state}.new`;
  await writeFile(aside, JSON.stringify(value), { mode: privateFile });
  await rename(aside, state);
}

/** Writes the server's configuration. */
export async function writeConfig(files: ChildFiles, state: ChildState): Promise<void> {
  await writeFile(files.config, configText(files, state), { mode: privateFile });
}

function configText(files: ChildFiles, { port, password, systemPassword }: ChildState): string {
  const text = JSON.stringify;
  return `# Written at every start; changes are lost.
host: "127.0.0.1"
port: ${port === 0 ? -1 : port}
ports_file_dir: ${text(files.folder)}
log_file: ${text(files.log)}
logfile_size_limit: ${logBytesMax}
logfile_max_num: ${logFilesMax}
jetstream {
  store_dir: ${text(files.store)}
  sync_interval: ${text(syncInterval)}
  max_file_store: ${storeBytesMax}
  max_memory_store: ${memoryStoreBytesMax}
}
authorization { users: [ { user: ${childUser.events}, password: ${text(password)} } ] }
accounts { SYS { users: [ { user: ${childUser.system}, password: ${text(systemPassword)} } ] } }
system_account: SYS
`;
}

const timeoutMs = 2_000;

/** Health of a server as its system account reports it. */
interface ServerHealth {
  /**
   * In the server's own words; undefined when it is healthy. After a write error, as on a full disk, a stream accepts
   * nothing and does not respond until the server restarts.
   */
  readonly fault: string | undefined;
  /** Its streams, as its monitoring port would list them (`/jsz`). */
  readonly jsz: unknown;
}

interface Pinged<Data> {
  readonly data?: Data;
}

/** @throws Error when the server does not reply */
export async function serverHealth(port: number, user: string, password: string): Promise<ServerHealth> {
  const connection = await connect({
    servers: `nats://127.0.0.1:${port}`,
    user,
    pass: password,
    reconnect: false,
    timeout: timeoutMs,
  });
  const ping = async <Data>(what: string, options?: object): Promise<Data | undefined> => {
    const payload = options === undefined ? "" : JSON.stringify(options);
    const reply = await connection.request(`$SYS.REQ.SERVER.PING.${what}`, payload, { timeout: timeoutMs });
    return reply.json<Pinged<Data>>().data;
  };
  try {
    const health = await ping<{ readonly status?: string; readonly error?: string }>("HEALTHZ");
    const jsz = await ping("JSZ", { accounts: true, streams: true, config: true });
    return { fault: health?.status === "ok" ? undefined : (health?.error ?? "unknown"), jsz };
  } finally {
    await connection.close();
  }
}
