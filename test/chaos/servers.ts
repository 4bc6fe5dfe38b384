import { execFile } from "node:child_process";
import { mkdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { startNatsCluster, type NatsCluster } from "../support/nats-cluster.ts";
import { waitFor } from "../support/wait.ts";
import { serverCount } from "./faults.ts";
import { observe, type Observed } from "./observed.ts";
import { startService } from "./service.ts";

const run = promisify(execFile);

/** Room of each server's disk, where it can be limited. */
const diskMebibytes = 4_096;
/** What a full disk has left. */
const leftBytes = 256 * 1_024;
const currentMsMax = 120_000;
const requestMsMax = 2_000;

/** What JetStream reports about a stream. */
export interface StreamInfo {
  readonly config: { readonly name: string };
  readonly state: { readonly messages: number; readonly subjects?: Readonly<Record<string, number>> };
  readonly cluster?: {
    readonly leader?: string;
    readonly replicas?: readonly { readonly current: boolean; readonly offline?: boolean }[];
  };
}

/** Three nats-servers, each with its own disk. */
export interface Servers {
  /** One address in front of all of them. */
  readonly url: string;
  /** Whether the disks can be filled. */
  readonly canFillDisks: boolean;
  readonly observed: Observed;
  signal(target: number, signal: NodeJS.Signals): void;
  kill(target: number): Promise<void>;
  /** Starts a server that was killed. @param wiped its store is removed first */
  restart(target: number, wiped?: boolean): Promise<void>;
  /** Leaves a server no room on its disk. */
  fill(target: number): Promise<void>;
  /** Gives the room back. */
  free(target: number): Promise<void>;
  /** Resolves when each stream has a leader and current copies. */
  untilCurrent(): Promise<void>;
  streams(filter?: string): Promise<readonly StreamInfo[]>;
  stop(): Promise<void>;
}

/** Starts the servers with their stores below a folder. Disks are small file systems where this user may mount them. */
export async function startServers(folder: string): Promise<Servers> {
  const disks = await Promise.all(Array.from({ length: serverCount }, (_, index) => prepareDisk(folder, index)));
  const canFillDisks = disks.every(({ isMounted }) => isMounted);
  const unmount = async (): Promise<void> => {
    for (const { path, isMounted } of disks) if (isMounted) await run("umount", ["-l", path]);
  };
  let cluster: NatsCluster;
  try {
    cluster = await startNatsCluster(
      serverCount,
      disks.map(({ path }) => join(path, "store")),
    );
  } catch (error) {
    await unmount();
    throw error;
  }
  const { nodes } = cluster;
  const urls = nodes.map(({ url }) => url);
  const connection = await connect({ servers: urls, maxReconnectAttempts: -1, reconnectTimeWait: 200, timeout: 5_000 });
  const observed = await observe(urls);
  const service = await startService(nodes.map(({ port }) => port));
  const node = (target: number) => {
    const found = nodes[target];
    if (found === undefined) throw new Error(`there is no server ${target}`);
    return found;
  };
  const pathOf = (target: number): string => disks[target]?.path ?? "";
  return {
    url: `nats://127.0.0.1:${service.port}`,
    canFillDisks,
    observed,
    signal: (target, signal) => void process.kill(node(target).pid, signal),
    kill: (target) => node(target).kill9(),
    restart: async (target, wiped = false) => {
      if (wiped) await rm(node(target).storeDir, { recursive: true, force: true });
      await node(target).restart();
    },
    fill: async (target) => {
      const { blocks, bfree, bsize } = await statfs(pathOf(target));
      await resize(pathOf(target), (blocks - bfree) * bsize + leftBytes);
    },
    free: (target) => resize(pathOf(target), diskMebibytes * 1_024 * 1_024),
    untilCurrent: async () => {
      const areCurrent = async (): Promise<boolean> => (await streamsOf(connection)).every(isCurrent);
      await waitFor(areCurrent, { timeoutMs: currentMsMax, pollMs: 200, what: "current copies of all streams" });
    },
    streams: (filter) => streamsOf(connection, filter),
    stop: async () => {
      await observed.close();
      await connection.close();
      await service.close();
      await cluster.stop();
      await unmount();
    },
  };
}

async function prepareDisk(folder: string, index: number) {
  const path = join(folder, `disk-${index}`);
  await mkdir(path);
  const isMounted = await run("mount", ["-t", "tmpfs", "-o", `size=${diskMebibytes}m`, "tmpfs", path]).then(
    () => true,
    () => false,
  );
  return { path, isMounted };
}

async function resize(path: string, bytes: number): Promise<void> {
  await run("mount", ["-o", `remount,size=${bytes}`, path]);
}

function isCurrent({ cluster }: StreamInfo): boolean {
  const replicas = cluster?.replicas ?? [];
  return (
    (cluster?.leader ?? "") !== "" &&
    replicas.length === serverCount - 1 &&
    replicas.every(({ current, offline }) => current && offline !== true)
  );
}

async function streamsOf(connection: NatsConnection, filter?: string): Promise<readonly StreamInfo[]> {
  const { streams } = await request<{ readonly streams: readonly string[] | null }>(connection, "STREAM.NAMES");
  const query = filter === undefined ? {} : { subjects_filter: filter };
  return Promise.all((streams ?? []).map((name) => request<StreamInfo>(connection, `STREAM.INFO.${name}`, query)));
}

async function request<T>(connection: NatsConnection, api: string, body: object = {}): Promise<T> {
  const response = await connection.request(`$JS.API.${api}`, JSON.stringify(body), { timeout: requestMsMax });
  const parsed = response.json<T & { readonly error?: { readonly description: string } }>();
  if (parsed.error !== undefined) throw new Error(`${api}: ${parsed.error.description}`);
  return parsed;
}
