import { createServer, type RequestListener } from "node:http";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { EndpointOptions } from "../../../runtime/recipient/endpoints.ts";
import { sharedKey } from "../../../runtime/recipient/verify-delivery.ts";
import { createMemorySeenStore } from "../../../runtime/recipient/seen-store.ts";
import { DeliveryRefusal, type DeliveryReport } from "../../../runtime/recipient/receive.ts";
import { createRecipient } from "../../../runtime/recipient/recipient.ts";
import { deltaAfter, resync, ResyncError, snapshotSince } from "../../../runtime/recipient/resync.ts";
import { installKit, writeExamples, type InstalledKit } from "../../release/installed-kit.ts";
import { freePort } from "../../support/free-port.ts";
import { listenOnLoopback, type Loopback } from "../../support/loopback.ts";
import { waitFor } from "../../support/wait.ts";
import { run } from "../../tools/run.ts";
import {
  eventText,
  makeInstallation,
  partnerText,
  postEvent,
  type Installation,
  type Running,
} from "../../cli/installation.ts";

const timeoutMs = 20_000;
const scope = "events:write webhooks:read webhooks:replay webhooks:ack";
const keys = [sharedKey("current", "acme-".padEnd(40, "k"))];

/** A partner around the kit that can lose its state. */
interface Partner {
  readonly handled: string[];
  readonly reports: DeliveryReport[];
  loseState(): void;
}

let installation: Installation;
let server: Loopback;
let partner: Partner;
let program: Running;
let token: string;

function createPartner(): Partner & { readonly listener: RequestListener } {
  const handled: string[] = [];
  const reports: DeliveryReport[] = [];
  const options = (): EndpointOptions<undefined> => ({
    keys: () => keys,
    store: createMemorySeenStore(),
    handlerVersion: "1",
    handle: async ({ event_id }) => {
      if (event_id === "evt-refused") throw new DeliveryRefusal(422, "invalid_state", "Not here");
      handled.push(event_id);
    },
    report: (report) => reports.push(report),
  });
  let recipient = createRecipient(options());
  return {
    handled,
    reports,
    listener: (incoming, outgoing) => recipient(incoming, outgoing),
    loseState: () => {
      handled.length = 0;
      recipient = createRecipient(options());
    },
  };
}

beforeAll(async () => {
  installation = await makeInstallation();
  const created = createPartner();
  partner = created;
  server = await listenOnLoopback(createServer(created.listener));
  const url = `http://127.0.0.1:${server.port}`;
  const changes = { "endpoint.ackUrl": `${url}/webhooks/ack` };
  await installation.write("partner.yaml", partnerText("acme", `${url}/webhooks/v1/{domain}`, changes));
  program = await installation.start();
  token = await installation.token({ scope });
});

afterAll(async () => {
  await installation?.remove();
  await server?.close();
});

async function publish(...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    expect(await postEvent(program.line.url, token, eventText(id))).toMatchObject({ status: 202 });
    // One after the other, so that "after an event" is certain.
    await waitFor(() => partner.reports.some(({ eventId }) => eventId === id), {
      timeoutMs,
      what: `delivery of ${id}`,
    });
  }
}

const exampleEnv = (since: string) => ({
  HELIOGRAPH_URL: program.line.url,
  HELIOGRAPH_TOKEN: token,
  PARTNER: "default/acme",
  SINCE: since,
});

const resyncExample = (kit: InstalledKit, env: Readonly<Record<string, string>>) =>
  run(process.execPath, ["resync.js"], { cwd: kit.path, env, timeoutMs });

describe("a recipient that resynchronizes with the product", () => {
  let kit: InstalledKit;
  beforeAll(async () => {
    kit = await installKit();
    await writeExamples(kit.path);
  }, 120_000);
  afterAll(async () => kit?.remove());

  test("gets what it lost by the example of the page, and nothing twice (Webhook Event Delivery §4.3)", async () => {
    const since = new Date().toISOString();
    await publish("evt-1", "evt-2", "evt-3");
    partner.loseState();
    const env = exampleEnv(since);
    expect(await resyncExample(kit, env)).toMatchObject({ code: 0, stdout: "completed 0\n" });
    expect(partner.handled).toEqual([]);
    const example = await resyncExample(kit, { ...env, ALL: "1" });
    expect(example).toMatchObject({ code: 0, stdout: "completed 3\n" });
    expect(example.stderr).toContain("completed: 3 of 3");
    expect(partner.handled.toSorted()).toEqual(["evt-1", "evt-2", "evt-3"]);

    const options = { url: program.line.url, token: () => token, pollMs: 50, timeoutMs };
    expect(await resync(snapshotSince(since), options)).toMatchObject({ status: "completed", delivered: 3 });
    expect(await resync(deltaAfter("evt-2"), options)).toMatchObject({ status: "completed", matched: 1, delivered: 1 });
    expect(partner.handled).toHaveLength(3);
    expect(partner.reports.filter(({ outcome }) => outcome === "duplicate")).toHaveLength(4);
  });

  test("learns by the example which of its own failures failed again", async () => {
    const since = new Date().toISOString();
    const elsewhere = createPartner();
    const other = await listenOnLoopback(createServer(elsewhere.listener));
    onTestFinished(() => other.close());
    await installation.write("other.yaml", partnerText("other", `http://127.0.0.1:${other.port}/webhooks/v1/{domain}`));
    await publish("evt-refused");
    const again = await waitFor(
      async () => {
        const ended = await resyncExample(kit, exampleEnv(since));
        return ended.stdout === "completed 0\n" && ended.stderr.includes("failed:") ? ended : undefined;
      },
      { timeoutMs, what: "the dead letter" },
    );
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("failed: evt-refused status_422\n") });
    expect(elsewhere.reports.filter(({ outcome }) => outcome === "duplicate")).toEqual([]);
    expect(await resyncExample(kit, { ...exampleEnv(since), PARTNER: "" })).toMatchObject({ code: 1, stdout: "" });
  });

  test("marks an event that an operator handled by hand (Webhook Event Delivery §4.3)", async () => {
    const body = JSON.stringify({ event_id: "evt-refused", partner: "default/acme", note: "booked by hand" });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    await waitFor(
      async () => {
        const answer = await request(`${program.line.url}/webhooks/ack`, { method: "POST", headers, body });
        await answer.body.dump();
        return answer.statusCode === 200;
      },
      { timeoutMs, what: "the acknowledgement of the dead letter" },
    );
    expect(partner.reports.at(-1)).toMatchObject({ outcome: "acknowledged", status: 200, eventId: "evt-refused" });
    const options = { url: program.line.url, token: () => token, pollMs: 50, timeoutMs };
    expect(await resync({ event_ids: ["evt-refused"] }, options)).toMatchObject({ status: "completed", delivered: 1 });
    expect(partner.reports.at(-1)).toMatchObject({ outcome: "duplicate" });
  });

  test("learns why it cannot", async () => {
    const options = { url: program.line.url, token: () => "unknown", pollMs: 1 };
    await expect(resync(deltaAfter("evt-1"), options)).rejects.toMatchObject({ status: 401, code: "token_invalid" });
    const unknown = resync(deltaAfter("evt-unknown"), { ...options, token: () => token });
    await expect(unknown).rejects.toBeInstanceOf(ResyncError);
    const nowhere = resync(deltaAfter("evt-1"), { ...options, url: `http://127.0.0.1:${await freePort()}` });
    await expect(nowhere).rejects.toThrow("did not respond; check the address and the network");
    const reason = new Error("stop");
    const ended = resync(deltaAfter("evt-1"), { ...options, signal: AbortSignal.abort(reason) });
    await expect(ended).rejects.toBe(reason);
  });
});
