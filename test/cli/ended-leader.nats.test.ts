import { afterEach, beforeEach, expect, test } from "vitest";
import { connectNats, type NatsConnectionHandle } from "../../runtime/nats/connection/connect.ts";
import { createLayout } from "../../runtime/nats/layout.ts";
import { createBucket } from "../../runtime/nats/streams/buckets.ts";
import { createEventIndexStream } from "../../runtime/nats/streams/event-index-stream.ts";
import { ownerOf } from "../../runtime/pods/pods.ts";
import { dataFolderId } from "../../runtime/program/data-folder.ts";
import { decodeIndexMessage, type IndexMessage } from "../../runtime/webhooks/event-index/index-message.ts";
import { leaderKey } from "../../runtime/webhooks/maintenance/background-loops.ts";
import { startNatsServer, type NatsServerHandle } from "../support/nats-server.ts";
import { waitFor } from "../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../support/webhook-partner.ts";
import {
  eventText,
  get,
  makeInstallation,
  partnerText,
  postEvent,
  type Installation,
  type Running,
} from "./installation.ts";

const timeoutMs = 30_000;
const eventsMax = 20_000;
const pageMax = 200;
/** Messages of the index that one read takes. */
const batchMax = 64;
const layout = createLayout("hg");

let server: NatsServerHandle;
let nats: NatsConnectionHandle;
let partner: WebhookPartnerServer;
let installations: readonly Installation[];

beforeEach(async () => {
  [server, partner] = await Promise.all([startNatsServer(), startWebhookPartner()]);
  nats = await connectNats({ servers: [server.url] });
  installations = await Promise.all([makeInstallation(), makeInstallation()]);
});

afterEach(async () => {
  await Promise.all(installations.map((installation) => installation.remove()));
  await nats.connection.close();
  await partner.close();
  await server.stop();
});

/** A pod, its key among the live pods, and a token for it. */
interface Pod extends Running {
  readonly key: string;
  readonly token: string;
}

async function startPod(installation: Installation): Promise<Pod> {
  await installation.write("acme.yaml", partnerText("acme", partner.url));
  const running = await installation.start("--nats", server.url);
  const key = `standalone-${await dataFolderId(installation.data)}`;
  return { ...running, key, token: await installation.token() };
}

/** Sends events one after another until told to end. */
function sendEvents({ line, token }: Pod) {
  const sent: string[] = [];
  const over = new AbortController();
  const loop = async (): Promise<void> => {
    while (!over.signal.aborted && sent.length < eventsMax) {
      const id = `evt-${sent.length}`;
      expect(await postEvent(line.url, token, eventText(id))).toMatchObject({ status: 202 });
      sent.push(id);
    }
  };
  const ended = loop();
  // Its failure is that of whoever waits for the end.
  ended.catch(() => undefined);
  const end = async (): Promise<readonly string[]> => {
    over.abort();
    await ended;
    return sent;
  };
  return { end };
}

async function storedIndex(): Promise<readonly IndexMessage[]> {
  const stream = createEventIndexStream(nats, layout);
  const scan = await stream.open(1);
  const found: IndexMessage[] = [];
  for (;;) {
    const messages = await scan.next(batchMax);
    found.push(...messages.flatMap(({ data }) => decodeIndexMessage(data) ?? []));
    if (messages.length < batchMax) break;
  }
  await scan.close();
  return found;
}

const lastSeq = async (): Promise<number> => (await createEventIndexStream(nats, layout).state())?.lastSeq ?? 0;

interface Listed {
  readonly event_id: string;
  readonly deliveries: readonly { readonly state: string; readonly attempts: number }[];
}

/** All events that a pod finds as delivered, the newest first. */
async function listAll({ line, token }: Pod): Promise<readonly Listed[]> {
  const found: Listed[] = [];
  for (let cursor = ""; ;) {
    const path = `/webhooks/events?order=desc&state=delivered&limit=${pageMax}${cursor}`;
    const { status, body } = await get(`${line.url}${path}`, token);
    const meta = body["meta"] as { readonly cursor: string | null; readonly complete: boolean };
    expect({ status, complete: meta.complete }).toEqual({ status: 200, complete: true });
    found.push(...(body["data"] as readonly Listed[]));
    if (meta.cursor === null) return found;
    cursor = `&cursor=${meta.cursor}`;
  }
}

/** Attempts that a pod counts by its index alone. */
async function countedAttempts({ line, token }: Pod): Promise<number> {
  const { body } = await get(`${line.url}/webhooks/partners/default/acme/stats`, token);
  const points = body["data"] as readonly { readonly answers: Readonly<Record<string, number>> }[];
  return points.flatMap(({ answers }) => Object.values(answers)).reduce((sum, count) => sum + count, 0);
}

/** Starts two pods that know each other. The first leads. */
async function startPods(): Promise<readonly [Pod, Pod]> {
  const pods = await Promise.all(installations.map(startPod));
  const live = createBucket(nats, layout.buckets.pods);
  let keys: readonly string[] = [];
  const areLive = async (): Promise<boolean> => {
    keys = (await live.list()).map(({ key }) => key);
    return keys.length === pods.length;
  };
  await waitFor(areLive, { timeoutMs, what: "two live pods" });
  const leads = ownerOf(leaderKey, keys) ?? "";
  const [leader, other] = [true, false].map((is) => pods.find(({ key }) => (key === leads) === is));
  if (leader === undefined || other === undefined) throw new Error(`${leads} leads none of two pods`);
  return [leader, other];
}

test("another pod leads the index of events on when the leader is killed, and lists each event and attempt once", async () => {
  const [leader, other] = await startPods();
  const { end } = sendEvents(other);
  await waitFor(async () => (await lastSeq()) >= 2, { timeoutMs, what: "an index that grows" });
  leader.signal("SIGKILL");
  await leader.ended();
  const before = await lastSeq();
  await waitFor(async () => (await lastSeq()) >= before + 2, { timeoutMs, what: "the index of another leader" });
  const sent = await end();
  let found: readonly Listed[] = [];
  const areListed = async (): Promise<boolean> => {
    found = await listAll(other);
    return found.length >= sent.length;
  };
  await waitFor(areListed, { timeoutMs, pollMs: 200, what: `${sent.length} delivered events` });
  expect(found.map(({ event_id: id }) => id)).toEqual(sent.toReversed());
  const attempts = new Map(found.map(({ event_id: id, deliveries }) => [id, deliveries[0]?.attempts ?? 0]));
  // A request whose record the killed pod did not store is repeated.
  const wrong = [...attempts].filter(([id, count]) => count < 1 || count > partner.of(id).length);
  expect(wrong).toEqual([]);
  const sum = [...attempts.values()].reduce((all, count) => all + count, 0);
  await waitFor(async () => (await countedAttempts(other)) >= sum, { timeoutMs, what: `${sum} attempts in the index` });
  expect(await countedAttempts(other)).toBe(sum);
  const index = await storedIndex();
  expect(index.length).toBeGreaterThan(before);
  expect(index.map(({ number }) => number)).toEqual(index.map((_, place) => place + 1));
  expect(index.flatMap(({ events }) => events.map(({ seq }) => seq))).toEqual(sent.map((_, place) => place + 1));
});
