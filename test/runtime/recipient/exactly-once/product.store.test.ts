import { connect, createServer, type Socket } from "node:net";
import { pipeline } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listenOnLoopback, type Loopback } from "../../../support/loopback.ts";
import { startPostgres, type PostgresHandle } from "../../../support/debian/postgres.ts";
import { waitFor } from "../../../support/wait.ts";
import { findDebianServer } from "../../../tools/debian-server.ts";
import {
  eventText,
  get,
  makeInstallation,
  partnerText,
  postEvent,
  type Installation,
} from "../../../cli/installation.ts";
import type { Database } from "./database.ts";
import { openDatabase } from "./open-database.ts";
import { startReceivers, type Receivers } from "./receivers.ts";

const postgres = await findDebianServer("postgres");
const processes = 4;
const events = 100;
const waitMsMax = 60_000;
const partnerSecret = "acme-".padEnd(40, "k");

describe.skipIf("missing" in postgres)("the product and a partner of four processes on one Postgres", () => {
  let server: PostgresHandle;
  let database: Database;
  let receivers: Receivers;
  let front: Loopback;
  let installation: Installation;
  beforeEach(async () => {
    server = await startPostgres(postgres);
    database = await openDatabase("postgres", server.url);
    await database.prepare();
    receivers = await startReceivers(processes, "postgres", server.url, partnerSecret);
    front = await startFront(receivers);
    installation = await makeInstallation();
  });
  afterEach(async () => {
    await installation.remove();
    await front.close();
    await receivers.stop();
    await database.close();
    await server.stop();
  });

  test("have each effect exactly once under kills and a replay", async () => {
    const url = `http://127.0.0.1:${front.port}/webhooks/v1/{domain}`;
    await installation.write("partner.yaml", partnerText("acme", url, { "retry.scheduleSeconds": [1, 1, 2, 5] }));
    const { line } = await installation.start();
    const token = await installation.token({ scope: "events:write webhooks:read webhooks:replay" });
    const ids = Array.from({ length: events }, (_, index) => `evt-${index}`);

    for (const [index, id] of ids.entries()) {
      expect(await postEvent(line.url, token, eventText(id))).toMatchObject({ status: 202 });
      const [victim] = receivers.alive;
      if (index % 40 === 20 && victim !== undefined) await receivers.replace(victim);
    }
    await untilDelivered(line.url, token, ids);
    expect(await database.count()).toEqual({ events, effects: events, runs: events });

    const before = receivers.outcomes.get("duplicate") ?? 0;
    const replay = await fetch(`${line.url}/webhooks/replay`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ event_ids: ids }),
    });
    expect([replay.status, await replay.text()]).toEqual([202, expect.any(String)]);
    const hasReplayed = (): boolean => (receivers.outcomes.get("duplicate") ?? 0) >= before + events;
    await waitFor(hasReplayed, { timeoutMs: waitMsMax, what: "the deliveries of the replay" });
    expect(await database.count()).toEqual({ events, effects: events, runs: events });
  });
});

async function untilDelivered(url: string, token: string, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const isDelivered = async (): Promise<boolean> => {
      const { body } = await get(`${url}/webhooks/events/${id}`, token);
      const [delivery] = body["deliveries"] as { readonly state: string }[];
      return delivery?.state === "delivered";
    };
    await waitFor(isDelivered, { timeoutMs: waitMsMax, what: `the delivery of ${id}` });
  }
}

/** One address in front of all processes: each connection goes to the next one that serves. */
async function startFront(receivers: Receivers): Promise<Loopback> {
  let next = 0;
  const server = createServer((near: Socket) => {
    next += 1;
    const receiver = receivers.alive[next % receivers.alive.length];
    if (receiver === undefined) return void near.destroy();
    const far = connect(receiver.port, "127.0.0.1");
    pipeline(near, far, () => far.destroy());
    pipeline(far, near, () => near.destroy());
  });
  return listenOnLoopback(server);
}
