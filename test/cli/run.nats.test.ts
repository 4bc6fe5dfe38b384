import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { request } from "undici";
import { freePort } from "../support/free-port.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { waitFor } from "../support/wait.ts";
import { startWebhookPartner } from "../support/webhook-partner.ts";
import {
  eventText,
  get,
  makeInstallation,
  partnerText,
  postEvent,
  type Installation,
  type Running,
} from "./installation.ts";

let installation: Installation;

beforeEach(async () => {
  installation = await makeInstallation();
});

afterEach(async () => installation.remove());

const warningsOf = (program: Running) => program.logLines().filter(({ msg }) => /--processes/u.test(String(msg)));

describe("heliograph run", () => {
  test("prints one line when it is ready, delivers an event and shows its attempt", async () => {
    const partner = await startWebhookPartner();
    await installation.write("partner.yaml", partnerText("acme", partner.url));
    const program = await installation.start();
    const { line } = program;
    expect(line).toMatchObject({ ready: true, config_hash: expect.stringMatching(/^[0-9a-f]{64}$/u) });
    expect((await get(`${line.admin_url}/readyz`)).status).toBe(200);
    expect((await get(`${line.admin_url}/configz`)).body).toMatchObject({ hash: line.config_hash, partners: 1 });

    const token = await installation.token();
    const body = eventText("evt-1");
    const accepted = await postEvent(line.url, token, body);
    expect(accepted).toMatchObject({ status: 202, body: { event_id: "evt-1", tenant: "lumen", duplicate: false } });
    expect((await postEvent(line.url, token, body)).body).toMatchObject({ duplicate: true });
    expect(await postEvent(line.url, token, eventText("evt-1", { data: {} }))).toMatchObject({
      status: 409,
      body: { code: "event_id_reused" },
    });

    await waitFor(() => partner.of("evt-1").length > 0, { timeoutMs: 20_000, what: "the delivery" });
    const [delivery] = partner.of("evt-1");
    expect(delivery?.headers).toMatchObject({ "x-signature": expect.stringMatching(/^v1=/u), "x-attempt": "1" });
    const attempts = await waitFor(
      async () => {
        const { body: event } = await get(`${line.url}/webhooks/events/evt-1`, token);
        const [first] = event["deliveries"] as { readonly state: string; readonly attempts: readonly unknown[] }[];
        return first?.state === "delivered" && first.attempts;
      },
      { timeoutMs: 20_000, what: "the delivery to show" },
    );
    expect(attempts).toMatchObject([{ attempt: 1, status: 200 }]);
    expect(program.stdout().trimEnd().split("\n")).toHaveLength(1);
    await partner.close();
  });

  test("drains and ends with 0 on SIGTERM, and ends its nats-server", async () => {
    const program = await installation.start();
    program.signal("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 0 });
    await expect(get(`${program.line.url}/v1/metrics/health`)).rejects.toThrow(/ECONNREFUSED/u);
    const port = Number(new URL(program.line.nats_url).port);
    const taken = createServer().listen(port, "127.0.0.1");
    await once(taken, "listening");
    taken.close();
  });

  test("is one process with the deprecated --processes, warns once, and shows nothing of several", async () => {
    const program = await installation.start("--processes", "4");
    const { line } = program;
    expect(warningsOf(program)).toMatchObject([{ level: 40, processes: "4" }]);
    expect(Object.keys(line)).toEqual(["ready", "url", "admin_url", "nats_url", "pid", "config_hash"]);
    expect(line.pid).toBe(program.pid);
    const { body } = await get(`${line.admin_url}/readyz`);
    const names = (body["parts"] as readonly { readonly name: string }[]).map(({ name }) => name);
    expect(names).toEqual(["process", "config", "nats", "streams", "webhooks"]);
    const metrics = await (await request(`${line.admin_url}/metrics`)).body.text();
    expect(metrics).toContain("\nheliograph_pod_ready 1\n");
    expect(metrics).not.toMatch(/^heliograph_process/mu);
  });

  test("uses the NATS it is given and leaves it running", async () => {
    const nats = await startNatsServer();
    const program = await installation.start("--nats", nats.url);
    expect(program.line.nats_url).toBe(nats.url);
    expect(warningsOf(program)).toEqual([]);
    const answer = await postEvent(program.line.url, await installation.token(), eventText("evt-1"));
    expect(answer.status).toBe(202);
    program.signal("SIGINT");
    expect(await program.ended()).toMatchObject({ code: 0 });
    expect(process.kill(nats.pid, 0)).toBe(true);
    await nats.stop();
  });

  test("reports that it is not ready, and why, while NATS is away, and is ready again after", async () => {
    const nats = await startNatsServer();
    const { line } = await installation.start("--nats", nats.url);
    await nats.kill9();
    const isAway = async () => (await get(`${line.admin_url}/readyz`)).status === 503;
    await waitFor(isAway, { timeoutMs: 20_000, what: "the loss of NATS to show" });
    const away = await get(`${line.admin_url}/readyz`);
    expect(away.body["parts"]).toContainEqual({ name: "nats", ok: false, detail: "not connected" });
    expect((await get(`${line.admin_url}/healthz`)).body).toMatchObject({ status: "degraded" });
    const refused = await postEvent(line.url, await installation.token(), eventText("evt-1"));
    expect(refused).toMatchObject({ status: 503, body: { code: "events_unavailable" } });
    await nats.restart();
    const isReady = async () => (await get(`${line.admin_url}/readyz`)).status === 200;
    expect(await waitFor(isReady, { timeoutMs: 20_000, what: "NATS to be back" })).toBe(true);
    await nats.stop();
  });
});

describe("heliograph run ends with its own code and one sentence", () => {
  const sentenceOf = (stderr: string) => stderr.split("\n").filter((line) => line.startsWith("heliograph: "));

  async function refused(...flags: string[]) {
    const { code, stdout, stderr } = await installation.launch(...flags).ended();
    return { code, stdout, sentences: sentenceOf(stderr) };
  }

  const one = (pattern: RegExp) => [expect.stringMatching(pattern)];

  test("for a port and an admin port in use", async () => {
    const port = await freePort();
    const other = createServer().listen(port, "127.0.0.1");
    await once(other, "listening");
    const sentences = one(
      /^heliograph: the (?:admin )?port cannot be opened: 127\.0\.0\.1:\d+ is in use by another program\.$/u,
    );
    expect(await refused("--port", String(port))).toEqual({ code: 7, stdout: "", sentences });
    expect(await refused("--admin-port", String(port))).toEqual({ code: 7, stdout: "", sentences });
    other.close();
  });

  test("for a folder that is not there", async () => {
    await installation.remove();
    const sentences = one(/^heliograph: the folder .*config cannot be read: ENOENT/u);
    expect(await refused()).toEqual({ code: 3, stdout: "", sentences });
  });

  test("for NATS that cannot be reached", async () => {
    const sentences = one(/^heliograph: NATS cannot be used: cannot connect to NATS at nats:\/\/127\.0\.0\.1:\d+: /u);
    expect(await refused("--nats", `nats://127.0.0.1:${await freePort()}`)).toEqual({ code: 8, stdout: "", sentences });
  });

  test("for NATS without JetStream", async () => {
    const nats = await startNatsServer({ config: "accounts { A { users: [{user: a, password: a}] } }" });
    const { code, sentences } = await refused("--nats", nats.url.replace("//", "//a:a@"));
    expect({ code, sentences }).toEqual({ code: 8, sentences: one(/^heliograph: NATS cannot be used: .*JetStream/u) });
    await nats.stop();
  });

  test("for a data folder that another program uses", async () => {
    await installation.start();
    const sentences = one(/^heliograph: the data folder .*data is in use by another program\.$/u);
    expect(await refused()).toEqual({ code: 6, stdout: "", sentences });
  });

  test("for a data folder that cannot be made", async () => {
    const file = join(installation.folder, "file.txt");
    await writeFile(file, "");
    const sentences = one(/^heliograph: the data folder .*file\.txt\/data cannot be used: ENOTDIR/u);
    expect(await refused("--data", join(file, "data"))).toEqual({ code: 5, stdout: "", sentences });
  });

  test("for a nats-server that is not there", async () => {
    const sentences = one(/^heliograph: the nats-server cannot be started: .*\/nowhere\/nats-server/u);
    expect(await refused("--nats-server", "/nowhere/nats-server")).toEqual({ code: 9, stdout: "", sentences });
  });

  test("for settings that are not valid, naming the field", async () => {
    await mkdir(installation.data);
    const file = join(installation.data, "settings.yaml");
    await writeFile(file, "name: ok\nstreams: {replicas: 2}\n");
    const sentences = one(
      /^heliograph: the settings .* cannot be used: .*settings\.yaml:2: streams\.replicas: must be one of 1, 3, 5\.$/u,
    );
    expect(await refused("--settings", file)).toEqual({ code: 4, stdout: "", sentences });
  });

  test("for streams that would delete an event before its last retry", async () => {
    await installation.write(
      "partner.yaml",
      partnerText("acme", "http://127.0.0.1:9", { "retry.maxAgeSeconds": 2_000_000 }),
    );
    const sentences = one(
      /^heliograph: the settings delete stored messages too early: streams\.events\.\S+ is 1814400, .*default\/acme/u,
    );
    expect(await refused()).toEqual({ code: 4, stdout: "", sentences });
  });
});

describe("signals", () => {
  test("a second one ends the program at once with 130", async () => {
    const partner = await startWebhookPartner(() => ({ delayMs: 60_000 }));
    await installation.write("partner.yaml", partnerText("acme", partner.url, { "endpoint.timeoutSeconds": 30 }));
    const program = await installation.start();
    await postEvent(program.line.url, await installation.token(), eventText("evt-1"));
    await waitFor(() => partner.received.length > 0, { timeoutMs: 20_000, what: "the attempt" });
    program.signal("SIGTERM");
    const isDraining = () => program.logLines().some(({ msg }) => msg === "draining");
    await waitFor(isDraining, { timeoutMs: 20_000, what: "the drain" });
    program.signal("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 130 });
    await partner.close();
  });
});
