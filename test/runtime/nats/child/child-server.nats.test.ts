import { fork } from "node:child_process";
import { once } from "node:events";
import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startChildServer, type ChildServerOptions } from "../../../../runtime/nats/child/child-server.ts";
import { connectNats } from "../../../../runtime/nats/connection/connect.ts";
import { ensureTopology } from "../../../../runtime/nats/streams/topology.ts";
import { ensureConsumer } from "../../../../runtime/nats/messages/consumers.ts";
import { publish } from "../../../../runtime/nats/messages/publish.ts";
import { isRunning } from "../../../../runtime/nats/child/running-process.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";
import { waitFor } from "../../../support/wait.ts";
import { resolveTool } from "../../../tools/resolve.ts";
import { memoryLog, testSettings } from "../../webhooks/engine-fixture.ts";

const timeoutMs = 20_000;
let folder: TemporaryFolder;
let environment: Readonly<Record<string, string>>;

beforeEach(async () => {
  folder = await temporaryFolder("child");
  environment = { HELIOGRAPH_NATS_SERVER: await resolveTool("nats-server") };
});
afterEach(async () => {
  await folder.remove();
});

function options(): ChildServerOptions {
  return { dataFolder: folder.path, log: memoryLog().log, environment };
}

async function stopAfter<T extends { stop(): Promise<void> }>(
  server: T,
  use: (server: T) => Promise<void>,
): Promise<void> {
  try {
    await use(server);
  } finally {
    await server.stop();
  }
}

describe("a child nats-server", () => {
  test("has JetStream, refuses clients without its password and ends with stop", async () => {
    const server = await startChildServer(options());
    await stopAfter(server, async () => {
      const handle = await connectNats(server.access);
      await ensureTopology(handle, testSettings.streams);
      await handle.drain();
      const { password: _left, user: _user, ...stranger } = server.access;
      await expect(connectNats(stranger)).rejects.toThrow(/cannot connect to NATS/u);
    });
    expect(isRunning(server.pid)).toBe(false);
  });

  test("starts when its file of ports is empty at first", async () => {
    const slow = join(folder.path, "slow-nats-server");
    const ports = join(folder.path, "nats", "nats-server_$$.ports");
    const own = environment["HELIOGRAPH_NATS_SERVER"] ?? "";
    await writeFile(slow, `#!/bin/sh\n[ "$1" = -c ] && : > "${ports}"\nexec "${own}" "$@"\n`, { mode: 0o700 });
    const log = memoryLog().log;
    const started = startChildServer({ dataFolder: folder.path, log, environment: { HELIOGRAPH_NATS_SERVER: slow } });
    await stopAfter(await started, async ({ pid }) => expect(isRunning(pid)).toBe(true));
  });

  test("stores its passwords in files that only this user can read", async () => {
    await stopAfter(await startChildServer(options()), async () => {
      const modes = await Promise.all(
        ["server.json", "nats-server.conf"].map(async (name) => (await stat(join(folder.path, "nats", name))).mode),
      );
      expect(modes.map((mode) => mode & 0o777)).toEqual([0o600, 0o600]);
    });
  });

  test("keeps its port, passwords and messages after a restart of this process", async () => {
    const first = await startChildServer(options());
    const access = first.access;
    const handle = await connectNats(access);
    const layout = await ensureTopology(handle, testSettings.streams);
    await publish(handle, { subject: layout.attempts("acme", "x"), payload: "kept" });
    await handle.drain();
    await first.stop();
    const { log, lines } = memoryLog();
    await stopAfter(await startChildServer({ ...options(), log }), async (second) => {
      // Another program of this machine may have taken the port meanwhile.
      const isTaken = lines.some(({ message }) => message.includes("another port chosen"));
      expect(second.access).toEqual(isTaken ? { ...access, servers: second.access.servers } : access);
      const again = await connectNats(second.access);
      expect((await again.manager.streams.info(layout.streams.attempts)).state.messages).toBe(1);
      await again.drain();
    });
  });

  test("is restarted on the same port when it ends, and connections reconnect", async () => {
    await stopAfter(await startChildServer(options()), async (server) => {
      const handle = await connectNats(server.access);
      const before = server.pid;
      process.kill(before, "SIGKILL");
      await waitFor(() => server.pid !== before && handle.isConnected(), { timeoutMs, what: "the new server" });
      expect((await ensureTopology(handle, testSettings.streams)).streams.events).toBe("HG_EVENTS");
      await handle.drain();
    });
  });

  test("whose files are deleted is not restarted after a write error, which would lose what it has open", async () => {
    const { log, lines } = memoryLog();
    const server = await startChildServer({ ...options(), log });
    await stopAfter(server, async () => {
      const { pid } = server;
      const handle = await connectNats(server.access);
      await ensureTopology(handle, testSettings.streams);
      await rm(join(folder.path, "nats", "store"), { recursive: true });
      const accept = (bytes: number) =>
        publish(handle, { subject: "hg.evt.t.1", payload: Buffer.alloc(bytes) }).then(
          ({ kind }) => kind,
          () => "unanswered",
        );
      expect(await accept(1)).toBe("stored");
      const isLogged = (): boolean => lines.some(({ message }) => message.includes(" are gone from the volume"));
      await waitFor(isLogged, { timeoutMs, what: "the report" });
      // The server's own health counts a stream only while it has a folder, which a consumer makes again.
      const consumer = { stream: "HG_EVENTS", name: "c", filter: "hg.evt.>", maxAckPending: 1 };
      await ensureConsumer(handle, consumer);
      // A block of 8 MB cannot be followed by the next.
      await waitFor(async () => (await accept(900_000)) !== "stored", { timeoutMs, what: "the write error" });
      // Each try takes two seconds. The health is read as often, and a server may be restarted after the first five.
      for (const tries of [1, 2, 3]) expect([tries, await accept(1)]).toEqual([tries, "unanswered"]);
      expect([server.pid, isRunning(pid)]).toEqual([pid, true]);
      await handle.drain();
    });
  });

  test("refuses a folder that another process holds and names the process", async () => {
    await stopAfter(await startChildServer(options()), async () => {
      await expect(startChildServer(options())).rejects.toThrow(
        `The data folder ${folder.path} is in use by process ${process.pid}`,
      );
    });
  });

  test("is adopted with its store after its parent was killed, without a search for its program", async () => {
    const parent = fork(new URL("child-server-parent.ts", import.meta.url), [folder.path], { env: { ...environment } });
    const [{ pid }] = (await once(parent, "message")) as [{ pid: number }];
    parent.kill("SIGKILL");
    await once(parent, "exit");
    expect(isRunning(pid)).toBe(true);
    const withoutProgram = { PATH: folder.path, XDG_CACHE_HOME: folder.path };
    await stopAfter(await startChildServer({ ...options(), environment: withoutProgram }), async (server) => {
      expect(server.pid).toBe(pid);
    });
    expect(isRunning(pid)).toBe(false);
  });

  test("is not confused with a later process of the same id", async () => {
    const first = await startChildServer(options());
    await first.stop();
    const statePath = join(folder.path, "nats", "server.json");
    const state = JSON.parse(await readFile(statePath, "utf8")) as object;
    await writeFile(statePath, JSON.stringify({ ...state, pid: process.pid }));
    await stopAfter(await startChildServer(options()), async (server) => {
      expect(server.pid).not.toBe(process.pid);
    });
  });

  test("that is not found causes an error with a remedy", async () => {
    await expect(
      startChildServer({ ...options(), environment: { PATH: folder.path, XDG_CACHE_HOME: folder.path } }),
    ).rejects.toThrow("nats-server was not found: put version 2.14 or newer on PATH");
  });

  test("that is too old causes an error with its version", async () => {
    const old = join(folder.path, "nats-server");
    await writeFile(old, "#!/bin/sh\necho 'nats-server: v2.12.3'\n");
    await chmod(old, 0o755);
    await expect(
      startChildServer({ ...options(), environment: { PATH: folder.path, XDG_CACHE_HOME: folder.path } }),
    ).rejects.toThrow(`${old} has version 2.12.3, but nats-server 2.14 or newer is needed`);
  });
});
