import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { isRunning } from "../../runtime/nats/child/running-process.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";
import { startWebhookPartner } from "../support/webhook-partner.ts";
import { eventText, get, makeInstallation, partnerText, postEvent, type Installation } from "./installation.ts";

const timeoutMs = 20_000;
/** Tried each second, without the rest that twenty failures in a row would bring. */
const soon = { "retry.scheduleSeconds": [1, 1, 1, 1, 1, 1, 1, 1], "circuitBreaker.enabled": false };

let installation: Installation;

beforeEach(async () => {
  installation = await makeInstallation();
});

afterEach(async () => installation.remove());

async function natsPid(): Promise<number> {
  const state = JSON.parse(await readFile(join(installation.data, "nats", "server.json"), "utf8")) as { pid: number };
  return state.pid;
}

describe("after kill -9 of the program", () => {
  test("the next run adopts the orphaned nats-server and delivers what was pending (Webhook Event Delivery §1)", async () => {
    let isDown = true;
    const partner = await startWebhookPartner(() => ({ status: isDown ? 503 : 200 }));
    await installation.write("partner.yaml", partnerText("acme", partner.url, soon));
    const before = await installation.start();
    const token = await installation.token();
    const ids = Array.from({ length: 50 }, (_, index) => `evt-${index}`);
    await Promise.all(ids.map((id) => postEvent(before.line.url, token, eventText(id))));
    await waitFor(() => partner.received.length > 0, { timeoutMs, what: "the first attempt" });
    before.signal("SIGKILL");
    await before.ended();
    const orphan = await natsPid();
    expect(isRunning(orphan)).toBe(true);

    isDown = false;
    const after = await installation.start();
    expect(await natsPid()).toBe(orphan);
    expect(after.line.nats_url).toBe(before.line.nats_url);
    expect(after.logLines()).toContainEqual(
      expect.objectContaining({ pid: orphan, msg: "running nats-server adopted" }),
    );
    const delivered = async (id: string): Promise<boolean> => {
      const { body } = await get(`${after.line.url}/webhooks/events/${id}`, token);
      const [delivery] = body["deliveries"] as { readonly state: string }[];
      return delivery?.state === "delivered";
    };
    const allDelivered = async () => (await Promise.all(ids.map(delivered))).every(Boolean);
    expect(await waitFor(allDelivered, { timeoutMs, what: "every event to be delivered" })).toBe(true);
    after.signal("SIGTERM");
    expect(await after.ended()).toMatchObject({ code: 0 });
    expect(isRunning(orphan)).toBe(false);
    await partner.close();
  });

  test("a repeated publish is a duplicate and reaches the partner all the same", async () => {
    const partner = await startWebhookPartner();
    const before = await installation.start();
    const token = await installation.token();
    await postEvent(before.line.url, token, eventText("evt-1"));
    before.signal("SIGKILL");
    await before.ended();
    await installation.write("partner.yaml", partnerText("acme", partner.url));
    const after = await installation.start();
    expect(await postEvent(after.line.url, token, eventText("evt-1"))).toMatchObject({
      status: 202,
      body: { duplicate: true },
    });
    expect(await postEvent(after.line.url, token, eventText("evt-2"))).toMatchObject({
      status: 202,
      body: { duplicate: false },
    });
    await waitFor(() => partner.of("evt-2").length > 0, { timeoutMs, what: "the delivery of the next event" });
    await postEvent(after.line.url, token, eventText("sentinel"));
    await waitFor(() => partner.of("sentinel").length > 0, { timeoutMs, what: "the sentinel" });
    expect(partner.of("evt-2")).toHaveLength(1);
    await partner.close();
  });

  test("its compiled code is left to the next run", async () => {
    const compiled = await temporaryFolder("compiled");
    onTestFinished(() => compiled.remove());
    vi.stubEnv("NODE_COMPILE_CACHE", compiled.path);
    onTestFinished(() => void vi.unstubAllEnvs());
    const program = await installation.start();
    const filesOfRun = async (): Promise<readonly string[]> => readdir(compiled.path, { recursive: true });
    // The commands of the program have some 20 modules; the servers and clients that `run` loads have hundreds.
    await waitFor(async () => (await filesOfRun()).length > 200, { timeoutMs, what: "the compiled code" });
    program.signal("SIGKILL");
    expect(await program.ended()).toMatchObject({ code: null });
  });

  test("the data folder is free at once", async () => {
    const before = await installation.start();
    before.signal("SIGKILL");
    await before.ended();
    const after = await installation.start();
    expect(after.line.ready).toBe(true);
  });
});

describe("SIGTERM", () => {
  test("lets an attempt that is under way end, so that it is not made twice", async () => {
    const partner = await startWebhookPartner(() => ({ delayMs: 1000 }));
    await installation.write("partner.yaml", partnerText("acme", partner.url, soon));
    const before = await installation.start();
    const token = await installation.token();
    await postEvent(before.line.url, token, eventText("evt-1"));
    await waitFor(() => partner.received.length > 0, { timeoutMs, what: "the attempt to begin" });
    before.signal("SIGTERM");
    expect(await before.ended()).toMatchObject({ code: 0 });

    const after = await installation.start();
    const { body } = await get(`${after.line.url}/webhooks/events/evt-1`, token);
    expect(body["deliveries"]).toMatchObject([{ state: "delivered", attempts: [{ attempt: 1, status: 200 }] }]);
    await postEvent(after.line.url, token, eventText("evt-2"));
    await waitFor(() => partner.of("evt-2").length > 0, { timeoutMs, what: "the delivery of the next event" });
    expect(partner.of("evt-1")).toHaveLength(1);
    await partner.close();
  });

  test("leaves what is not sent yet to the next run", async () => {
    const partner = await startWebhookPartner(() => ({ delayMs: 100 }));
    const slow = { "delivery.maxInFlight": 1, ...soon };
    await installation.write("partner.yaml", partnerText("acme", partner.url, slow));
    const before = await installation.start("--drain-seconds", "1");
    const token = await installation.token();
    const ids = Array.from({ length: 40 }, (_, index) => `evt-${index}`);
    await Promise.all(ids.map((id) => postEvent(before.line.url, token, eventText(id))));
    before.signal("SIGTERM");
    expect(await before.ended()).toMatchObject({ code: 0 });
    expect(new Set(partner.received.map(({ eventId }) => eventId)).size).toBeLessThan(40);
    await installation.start();
    const missing = () => ids.filter((id) => partner.of(id).length === 0);
    await waitFor(() => missing().length === 0, { timeoutMs, what: "the rest to be delivered" });
    expect(missing()).toEqual([]);
    await partner.close();
  });
});
