import { rename, writeFile } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { createCertificateAuthority } from "../../../support/tls/certificate-authority.ts";
import { certificateOfNats, serialOf } from "../../../support/tls/served-certificate.ts";
import { waitFor } from "../../../support/wait.ts";
import { type MonitoredServer, secretOf, startMonitoredServer } from "./monitored-server.ts";

const timeoutMs = 30_000;

let monitored: MonitoredServer;

beforeEach(async () => {
  monitored = await startMonitoredServer();
});
afterEach(() => monitored.stop());

/** The runtime's own connection, which trusts the mounted authority. */
async function connected(): Promise<NatsConnectionHandle> {
  const { server, secret } = monitored;
  const handle = await connectNats({
    servers: [`tls://localhost:${server.port}`],
    tls: { caFile: join(secret.folder, "ca.crt") },
  });
  onTestFinished(() => handle.drain());
  return handle;
}

const served = async (): Promise<string> => (await certificateOfNats(monitored.server.port)).serialNumber;

const becomes = (serial: string): Promise<boolean> =>
  waitFor(async () => (await served()) === serial, { timeoutMs, what: `certificate ${serial}` });

async function metricsOf(path = "/metrics"): Promise<{ readonly status: number; readonly body: string }> {
  const response = await fetch(`http://127.0.0.1:${monitored.port}${path}`);
  return { status: response.status, body: await response.text() };
}

const valueOf = async (series: string): Promise<number | undefined> => {
  const line = (await metricsOf()).body.split("\n").find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
};

/** Publishes one message after another until told to stop. Answers how many were acknowledged. */
function publishing({ requests }: NatsConnectionHandle): () => Promise<number> {
  const end = new AbortController();
  const ended = (async (): Promise<number> => {
    let acknowledged = 0;
    for (; !end.signal.aborted; acknowledged += 1) {
      await requests.request("kept.one", "x");
      await nextTurn();
    }
    return acknowledged;
  })();
  ended.catch(() => undefined);
  return () => {
    end.abort();
    return ended;
  };
}

test("a renewed certificate is served to new clients, while a connection lives on and loses nothing", async () => {
  const handle = await connected();
  await handle.manager.streams.add({ name: "KEPT", subjects: ["kept.>"] });
  let reconnects = 0;
  handle.onReconnect(() => (reconnects += 1));
  const stopped = publishing(handle);
  const next = secretOf(monitored.authority);
  await monitored.secret.replace(next);
  await becomes(serialOf(next["tls.crt"] ?? ""));
  const acknowledged = await stopped();
  expect(acknowledged).toBeGreaterThan(0);
  expect((await handle.manager.streams.info("KEPT")).state.messages).toBe(acknowledged);
  expect(reconnects).toBe(0);
  await waitFor(async () => (await valueOf("heliograph_nats_reload_pending")) === 0, { timeoutMs, what: "the load" });
});

test("another authority is trusted by the next connection of the same process", async () => {
  const handle = await connected();
  const next = secretOf(createCertificateAuthority("second"));
  await monitored.secret.replace(next);
  await becomes(serialOf(next["tls.crt"] ?? ""));
  const reconnected = Promise.withResolvers<void>();
  handle.onReconnect(() => reconnected.resolve());
  await monitored.server.restart();
  await reconnected.promise;
  expect(handle.isConnected()).toBe(true);
});

test("a certificate without its key is not loaded, and the next usable one is", async () => {
  const before = await served();
  const next = secretOf(monitored.authority);
  await monitored.secret.replace({ ...next, "tls.key": secretOf(monitored.authority)["tls.key"] ?? "" });
  await waitFor(() => monitored.server.log().includes("Failed to reload"), { timeoutMs, what: "the refusal" });
  expect([await served(), await valueOf("heliograph_nats_reload_pending")]).toEqual([before, 1]);
  await monitored.secret.replace(next);
  await becomes(serialOf(next["tls.crt"] ?? ""));
});

test("a process that took the id of a server that ended is not signalled", async () => {
  const { server, secret, authority, log } = monitored;
  const pid = String(process.pid);
  await secret.replace({ ...secretOf(authority) });
  await waitFor(async () => (await valueOf("heliograph_nats_reload_signals_total")) === 1, {
    timeoutMs,
    what: "a signal",
  });
  await writeFile(join(secret.folder, "..", "nats.pid"), pid);
  await secret.replace({ ...secretOf(authority) });
  await waitFor(() => log.some((line) => line.includes(`process ${pid}`)), { timeoutMs, what: "the refusal" });
  expect(server.log()).not.toContain("exiting");
});

test("the port serves metrics and health, and no other page of the server", async () => {
  const handle = await connected();
  await handle.manager.streams.add({ name: "KEPT", subjects: ["kept.>"], max_bytes: 1_000_000 });
  await handle.requests.request("kept.one", "x");
  const { body } = await metricsOf();
  expect(body).toContain("\nheliograph_nats_up 1\n");
  expect(body).toContain('\nheliograph_nats_stream_messages{stream="KEPT"} 1\n');
  expect(body).toContain('\nheliograph_nats_stream_limit_bytes{stream="KEPT"} 1000000\n');
  const end = (await certificateOfNats(monitored.server.port)).validToDate.getTime() / 1_000;
  expect(await valueOf('heliograph_nats_certificate_not_after_seconds{listener="client"}')).toBe(end);
  expect(await valueOf("heliograph_nats_volume_available_bytes")).toBeGreaterThan(0);
  for (const path of ["/healthz", "/healthz?js-enabled-only=true", "/healthz?js-server-only=true"])
    expect(await metricsOf(path)).toEqual({ status: 200, body: '{"status":"ok"}' });
  expect((await metricsOf("/livez")).status).toBe(200);
  expect(await valueOf("heliograph_nats_jetstream_enabled")).toBe(1);
  for (const path of ["/varz", "/connz", "/healthz?details=true", "/"])
    expect((await metricsOf(path)).status).toBe(404);
});

test("a server that is away is not healthy, and its series are gone but for up", async () => {
  await monitored.server.kill9();
  expect((await metricsOf("/healthz")).status).toBe(503);
  expect((await metricsOf("/livez")).status).toBe(503);
  const { status, body } = await metricsOf();
  expect(status).toBe(200);
  expect(body).toContain("\nheliograph_nats_up 0\n");
  expect(body).not.toContain("memory_bytes");
  await monitored.server.restart();
});

test("a server whose reload turns JetStream off says so, and is not restarted, which would change nothing", async () => {
  const { server, config } = monitored;
  const handle = await connected();
  await handle.manager.streams.add({ name: "KEPT", subjects: ["kept.>"] });
  const isOn = () => valueOf("heliograph_nats_jetstream_enabled");
  expect(await isOn()).toBe(1);
  await server.reloadWithoutJetStream(config);
  expect([await isOn(), (await metricsOf("/livez")).status]).toEqual([0, 200]);
  await server.reload(config);
  expect(await isOn()).toBe(1);
});

test("a server whose files are gone says so and is not restarted, until its streams are deleted", async () => {
  const { server } = monitored;
  const handle = await connected();
  await handle.manager.streams.add({ name: "KEPT", subjects: ["kept.>"] });
  const series = "heliograph_nats_streams_without_files";
  const becomesGone = (count: number): Promise<boolean> =>
    waitFor(async () => (await valueOf(series)) === count, { timeoutMs, what: `${count} streams without files` });
  await becomesGone(0);
  await rename(server.storeDir, `${server.storeDir}.aside`);
  // nats-server makes the folders again for a new stream, and takes messages for both.
  await handle.manager.streams.add({ name: "NEXT", subjects: ["next.>"] });
  await handle.requests.request("kept.one", "x");
  await becomesGone(1);
  const { status, body } = await metricsOf("/healthz");
  expect(status).toBe(503);
  expect(JSON.parse(body)).toEqual({
    status: "unavailable",
    error: expect.stringMatching(/^the files of KEPT are gone from the volume\. .*do not restart it/u) as string,
  });
  for (const path of ["/livez", "/healthz?js-enabled-only=true", "/healthz?js-server-only=true"])
    expect((await metricsOf(path)).status).toBe(200);

  await handle.manager.streams.delete("KEPT");
  await becomesGone(0);
  expect(await metricsOf("/healthz")).toEqual({ status: 200, body: '{"status":"ok"}' });
});
