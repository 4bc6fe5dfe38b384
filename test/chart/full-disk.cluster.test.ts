import { execFileSync } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { jetstream, jetstreamManager, type JetStreamClient, type JetStreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { nodeMissing } from "../cluster/describe-on-cluster.ts";
import { pino } from "pino";
import { startMonitor } from "../../runtime/nats/monitor/monitor.ts";
import { freePort } from "../support/free-port.ts";
import { type NatsServerHandle, startNatsServer } from "../support/nats-server.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { rendered } from "./judges.ts";

const diskBytes = 24 * 1024 * 1024;
const ballastBytes = 8 * 1024 * 1024;
const messageBytes = 100_000;
const messagesMax = diskBytes / messageBytes;
const responseMsMax = 2_000;

let folder: TemporaryFolder;
let disk: string;
let server: NatsServerHandle;
let monitorPort: number;
let connection: NatsConnection;
/** The monitor beside the server, whose probes the kubelet uses. */
let monitor: Awaited<ReturnType<typeof startMonitor>>;

beforeEach(async () => {
  folder = await temporaryFolder("full-disk");
  disk = join(folder.path, "disk");
  await mkdir(disk);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${diskBytes}`, "tmpfs", disk]);
  await writeFile(ballast(), Buffer.alloc(ballastBytes));
  monitorPort = await freePort();
  const storeDir = join(disk, "jetstream");
  // As the chart does; without a bound of its own the server never takes all of a disk.
  const config = `http_port: ${monitorPort}\njetstream { store_dir: ${JSON.stringify(storeDir)}, max_file_store: 1G }`;
  server = await startNatsServer({ storeDir, config });
  const place = {
    monitor: `http://127.0.0.1:${monitorPort}`,
    tlsFolder: folder.path,
    pidFile: join(folder.path, "pid"),
  };
  monitor = await startMonitor({ ...place, dataFolder: disk, port: 0, host: "127.0.0.1" }, pino({ level: "silent" }));
});
afterEach(async () => {
  await connection?.close();
  await monitor?.stop();
  await server?.stop();
  execFileSync("umount", [disk]);
  await folder.remove();
});

const ballast = (): string => join(disk, "ballast");

async function opened(): Promise<{ readonly js: JetStreamClient; readonly jsm: JetStreamManager }> {
  await connection?.close();
  connection = await connect({ servers: server.url });
  return { js: jetstream(connection), jsm: await jetstreamManager(connection) };
}

/** The path of a probe of NATS in the chart. */
async function probed(name: "livenessProbe" | "readinessProbe"): Promise<string> {
  const documents = parseAllDocuments(await rendered("helm", [])).map((document) => document.toJS() as Manifest | null);
  const container = documents.find((manifest) => manifest?.kind === "StatefulSet")?.spec?.template?.spec
    ?.containers?.[0];
  return container?.[name].httpGet.path ?? "";
}

interface Manifest {
  readonly kind: string;
  readonly spec?: {
    readonly template?: {
      readonly spec?: {
        readonly containers?: ReadonlyArray<
          Readonly<Record<"livenessProbe" | "readinessProbe", { readonly httpGet: { readonly path: string } }>>
        >;
      };
    };
  };
}

const statusOf = async (path: string): Promise<number> =>
  (await fetch(`http://127.0.0.1:${monitor.port}${path}`)).status;

/** Publishes until the server is unhealthy. Returns how many were acknowledged. */
async function fill(js: JetStreamClient, subject: string): Promise<number> {
  let acknowledged = 0;
  for (let sent = 0; sent < messagesMax; sent += 1) {
    if (await isStored(js, subject, messageBytes)) acknowledged += 1;
    else if ((await statusOf("/healthz")) === 503) return acknowledged;
  }
  throw new Error("the disk took more than it holds");
}

async function isStored(js: JetStreamClient, subject: string, bytes = 1): Promise<boolean> {
  return await js.publish(subject, new Uint8Array(bytes), { timeout: responseMsMax }).then(
    () => true,
    () => false,
  );
}

describe.skipIf(nodeMissing.length > 0)("a NATS whose disk is full", () => {
  test("keeps what it acknowledged, is not restarted while its disk is full, and works again after a restart once there is space", async () => {
    const [liveness, readiness] = [await probed("livenessProbe"), await probed("readinessProbe")];
    const before = await opened();
    await before.jsm.streams.add({ name: "FULL", subjects: ["full.>"] });
    await before.jsm.streams.add({ name: "OTHER", subjects: ["other.>"] });
    const acknowledged = await fill(before.js, "full.a");
    // A start could not write either.
    expect(await statusOf(liveness)).toBe(200);
    expect(await statusOf(readiness)).toBe(200);

    await rm(ballast());
    expect(await isStored(before.js, "full.a")).toBe(false);
    expect(await isStored(before.js, "other.a")).toBe(true);
    expect(await statusOf(liveness)).toBe(503);

    await server.restart();
    const after = await opened();
    expect(await statusOf(liveness)).toBe(200);
    expect((await after.jsm.streams.info("FULL")).state.messages).toBeGreaterThanOrEqual(acknowledged);
    expect(await isStored(after.js, "full.a")).toBe(true);
  });
});
