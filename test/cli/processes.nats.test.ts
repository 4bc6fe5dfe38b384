import { connect, createServer } from "node:net";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Client, request } from "undici";
import { isRunning } from "../../runtime/nats/child/running-process.ts";
import { freePort } from "../support/free-port.ts";
import { waitFor } from "../support/wait.ts";
import { startWebhookPartner } from "../support/webhook-partner.ts";
import {
  eventText,
  get,
  makeInstallation,
  partnerText,
  postEvent,
  startedPids,
  type Installation,
  type Running,
} from "./installation.ts";

const timeoutMs = 30_000;
const soon = { "retry.scheduleSeconds": [1, 1, 1, 1, 1, 1, 1, 1], "circuitBreaker.enabled": false };

let installation: Installation;

beforeEach(async () => {
  installation = await makeInstallation();
});

afterEach(async () => installation.remove());

async function metric(program: Running, name: string): Promise<number> {
  const { body } = await request(`${program.line.admin_url}/metrics`);
  const lines = (await body.text()).split("\n").filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** Sends events on one connection, one after another, until it is told to end. */
async function publishUntil(url: string, token: string, name: string, isOver: () => boolean) {
  const sent = { accepted: [] as string[], faults: 0 };
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const options = { pipelining: 1, headersTimeout: 10_000 };
  let client = new Client(url, options);
  for (let index = 0; !isOver(); index += 1) {
    const id = `${name}-${index}`;
    try {
      const { statusCode, body } = await client.request({
        method: "POST",
        path: "/events",
        headers,
        body: eventText(id),
      });
      await body.dump();
      if (statusCode === 202) sent.accepted.push(id);
    } catch {
      sent.faults += 1;
      await client.destroy();
      client = new Client(url, options);
    }
  }
  await client.close();
  return sent;
}

describe("heliograph run with several processes", () => {
  test("is ready with the first one, and the others join", async () => {
    const program = await installation.start("--processes", "3");
    expect((await get(`${program.line.admin_url}/readyz`)).status).toBe(200);
    const accepted = await postEvent(program.line.url, await installation.token(), eventText("evt-1"));
    expect(accepted.status).toBe(202);
    const order = () => program.logLines().flatMap(({ msg, process }) => (msg === "process ready" ? [process] : []));
    await waitFor(() => order().length === 3, { timeoutMs, what: "the other processes" });
    expect(order()[0]).toBe(1);
    expect(await metric(program, "heliograph_processes_serving")).toBe(3);
    expect((await get(`${program.line.admin_url}/configz`)).body).toMatchObject({ hash: program.line.config_hash });
  });

  test("serves one port with all of them and reports as one pod", async () => {
    const partner = await startWebhookPartner();
    await installation.write("partner.yaml", partnerText("acme", partner.url));
    const program = await installation.startAll(4, "--log-level", "debug");
    const { line } = program;
    expect(line).toMatchObject({ processes: 4, pid: program.pid });
    const token = await installation.token();
    const clients = Array.from({ length: 12 }, () => new Client(line.url));
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    for (const [index, client] of clients.entries()) {
      const { statusCode, body } = await client.request({
        method: "POST",
        path: "/events",
        headers: { ...headers, "x-correlation-id": `spread-${index}` },
        body: eventText(`evt-${index}`),
      });
      await body.dump();
      expect(statusCode).toBe(202);
    }
    const logged = () => program.logLines().filter(({ correlationId }) => String(correlationId).startsWith("spread-"));
    await waitFor(() => logged().length === 12, { timeoutMs, what: "the log of each request" });
    const pids = startedPids(program);
    expect(pids).toHaveLength(4);
    expect(new Set(logged().map(({ pid }) => pid))).toEqual(new Set(pids));

    expect(await metric(program, "heliograph_processes_serving")).toBe(4);
    expect(await metric(program, 'heliograph_http_requests_total{method="POST",route="/events",status="202"}')).toBe(
      12,
    );
    const { body: report } = await get(`${line.admin_url}/configz`);
    expect(report).toMatchObject({ pod: "standalone", ready: true, hash: line.config_hash, partners: 1 });
    await waitFor(() => partner.received.length === 12, { timeoutMs, what: "the deliveries" });

    program.signal("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 0 });
    expect(pids.filter(isRunning)).toEqual([]);
    await Promise.all(clients.map((client) => client.destroy()));
    await partner.close();
  });

  test("applies an edit in each of them", async () => {
    const partner = await startWebhookPartner();
    await installation.write("partner.yaml", partnerText("acme", partner.url));
    const { line } = await installation.startAll(2);
    await installation.write("other.yaml", partnerText("other", partner.url));
    // The report changes twice when the first process applies the edit before the other.
    const hasBoth = async () => (await get(`${line.admin_url}/configz`)).body["partners"] === 2;
    await waitFor(hasBoth, { timeoutMs, what: "the edit in both processes" });
    expect((await get(`${line.admin_url}/configz`)).body).toMatchObject({ partners: 2, errors: [] });
    await partner.close();
  });

  test("loses no event, and doubles those in flight at most, when one is killed under load", async () => {
    const partner = await startWebhookPartner(() => ({ delayMs: 20 }));
    const maxInFlight = 16;
    await installation.write(
      "partner.yaml",
      partnerText("acme", partner.url, { ...soon, "delivery.maxInFlight": maxInFlight }),
    );
    const program = await installation.startAll(3);
    const { line } = program;
    const token = await installation.token();
    let isOver = false;
    const publishers = Array.from({ length: 9 }, (_, index) =>
      publishUntil(line.url, token, `p${index}`, () => isOver),
    );
    await waitFor(() => partner.received.length > 50, { timeoutMs, what: "deliveries to flow" });
    const statuses = new Set<number>();
    const [victim = 0] = startedPids(program);
    process.kill(victim, "SIGKILL");
    const hasSuccessor = async () => {
      statuses.add((await get(`${line.admin_url}/readyz`)).status);
      return startedPids(program).length === 4;
    };
    await waitFor(hasSuccessor, { timeoutMs, what: "the successor" });
    isOver = true;
    const sent = await Promise.all(publishers);
    // Of nine connections the victim had its share. No other connection failed.
    expect(sent.filter(({ faults }) => faults > 0).length).toBeLessThanOrEqual(5);
    expect(sent.filter(({ faults }) => faults === 0).length).toBeGreaterThanOrEqual(4);
    expect([...statuses]).toEqual([200]);
    expect(await metric(program, "heliograph_process_restarts_total")).toBe(1);
    expect(await metric(program, "heliograph_processes_serving")).toBe(3);

    const accepted = sent.flatMap((publisher) => publisher.accepted);
    const got = () => new Set(partner.received.map(({ eventId }) => eventId));
    const missing = () => {
      const ids = got();
      return accepted.filter((id) => !ids.has(id));
    };
    await waitFor(() => missing().length === 0, { timeoutMs: 60_000, what: "every accepted event at the partner" });
    program.signal("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 0 });
    expect(partner.received.length - got().size).toBeLessThanOrEqual(maxInFlight);
    await partner.close();
  });

  test("closes a connection that a killed process has not taken", async () => {
    const program = await installation.startAll(2);
    const [victim = 0] = startedPids(program);
    process.kill(victim, "SIGSTOP");
    const sockets = Array.from({ length: 6 }, () => connect(Number(new URL(program.line.url).port), "127.0.0.1"));
    let closed = 0;
    const answered = new Set<number>();
    for (const [index, socket] of sockets.entries()) {
      socket.on("error", () => undefined).on("close", () => (closed += 1));
      socket.on("data", () => answered.add(index));
      socket.write("GET /v1/metrics/health HTTP/1.1\r\nhost: x\r\n\r\n");
    }
    await waitFor(() => answered.size === 5, { timeoutMs, what: "the answers of the other process" });
    process.kill(victim, "SIGKILL");
    await waitFor(() => closed > 0, { timeoutMs, what: "the end of the connection" });
    expect(closed).toBe(1);
    for (const socket of sockets) socket.destroy();
  });

  test("leaves no process when the supervisor is killed, and the data folder is free", async () => {
    const before = await installation.startAll(2);
    const pids = startedPids(before);
    expect(pids).toHaveLength(2);
    before.signal("SIGKILL");
    await before.ended();
    await waitFor(() => pids.every((pid) => !isRunning(pid)), { timeoutMs, what: "the processes to end" });
    const after = await installation.startAll(2);
    expect(after.line.processes).toBe(2);
    const accepted = await postEvent(after.line.url, await installation.token(), eventText("evt-1"));
    expect(accepted.status).toBe(202);
  });

  test("opens the port that it had again when all were killed at once", async () => {
    const program = await installation.startAll(2);
    for (const pid of startedPids(program)) process.kill(pid, "SIGKILL");
    await waitFor(() => startedPids(program).length === 4, { timeoutMs, what: "both successors" });
    const accepted = await postEvent(program.line.url, await installation.token(), eventText("evt-1"));
    expect(accepted.status).toBe(202);
  });

  test("lets attempts that are under way end on SIGTERM", async () => {
    const partner = await startWebhookPartner(() => ({ delayMs: 500 }));
    await installation.write("partner.yaml", partnerText("acme", partner.url, soon));
    const before = await installation.startAll(2);
    const token = await installation.token();
    const ids = Array.from({ length: 30 }, (_, index) => `evt-${index}`);
    await Promise.all(ids.map((id) => postEvent(before.line.url, token, eventText(id))));
    await waitFor(() => partner.received.length > 0, { timeoutMs, what: "the attempts to begin" });
    before.signal("SIGTERM");
    expect(await before.ended()).toMatchObject({ code: 0 });
    const drained = partner.received.length;
    await installation.startAll(2);
    await waitFor(() => ids.every((id) => partner.of(id).length > 0), { timeoutMs, what: "the rest" });
    expect(partner.received.length).toBe(30);
    expect(drained).toBeLessThanOrEqual(30);
    await partner.close();
  });
});

describe("heliograph run with several processes ends with the code and the sentence of one", () => {
  const refused = async (...flags: string[]) => {
    const { code, stdout, stderr } = await installation.launch("--processes", "2", ...flags).ended();
    return { code, stdout, sentences: stderr.split("\n").filter((line) => line.startsWith("heliograph: ")) };
  };

  test("for a port in use", async () => {
    const port = await freePort();
    const other = createServer().listen(port, "127.0.0.1");
    await once(other, "listening");
    const sentence = `heliograph: the port cannot be opened: 127.0.0.1:${port} is in use by another program.`;
    expect(await refused("--port", String(port))).toEqual({ code: 7, stdout: "", sentences: [sentence] });
    other.close();
  });

  test("for a data folder in use", async () => {
    await installation.startAll(2);
    const sentences = [expect.stringMatching(/^heliograph: the data folder .* is in use by another program\.$/u)];
    expect(await refused()).toEqual({ code: 6, stdout: "", sentences });
  });

  test("for settings that no process can read", async () => {
    const sentences = [expect.stringMatching(/^heliograph: the settings .* cannot be used/u)];
    expect(await refused("--settings", "none.yaml")).toEqual({ code: 4, stdout: "", sentences });
  });
});
