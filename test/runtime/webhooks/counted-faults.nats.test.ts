import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { childUser, type ChildState } from "../../../runtime/nats/child/child-files.ts";
import { connectNats, type NatsConnectionHandle } from "../../../runtime/nats/connection/connect.ts";
import type { NatsAccess } from "../../../runtime/nats/connection/nats-access.ts";
import { createLayout } from "../../../runtime/nats/layout.ts";
import { ownerOf } from "../../../runtime/pods/pods.ts";
import { partnerKey } from "../../../runtime/webhooks/ids.ts";
import { freePort } from "../../support/free-port.ts";
import { listenOnLoopback } from "../../support/loopback.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { isSoak } from "../../support/soak.ts";
import { waitFor } from "../../support/wait.ts";
import type { PartnerAnswer, ReceivedDelivery, WebhookPartnerServer } from "../../support/webhook-partner.ts";
import { eventText, makeInstallation, partnerText, postEvent, type Installation } from "../../cli/installation.ts";
import type { CrashPoint } from "./crash-points.ts";
import { partnerServer as partnerOfTest } from "./engine-cases.ts";
import { configOf, partnerConfig, startEngine, streamsOf, eventBytes, type TestEngine } from "./engine-fixture.ts";
import {
  countFaults,
  idsOf,
  killWorker,
  produceAll,
  producer,
  startWorker,
  storedDeliveries,
  untilDrained,
} from "./fault-fixture.ts";

/**
 * Every fault over thousands of events, counted: none may be lost, and an attempt may come twice only when its POST
 * was sent and its record could not be. `needless` counts attempts that came twice though every POST left its record.
 */
const eventCount = isSoak ? 20_000 : 2_500;
const ids = idsOf(eventCount);
const maxInFlight = 64;
const fewAtOnce = 4;
const timeoutMs = 120_000;
const testTimeoutMs = 240_000;
let server: NatsServerHandle;
let nats: NatsConnectionHandle;

beforeAll(async () => {
  server = await startNatsServer();
  nats = await connectNats({ servers: [server.url] });
});
afterAll(async () => {
  await nats.drain();
  await server.stop();
});

const partnerServer = (answer?: (delivery: ReceivedDelivery) => PartnerAnswer): Promise<WebhookPartnerServer> =>
  partnerOfTest({ onTestFinished }, answer);

const partnerOf = (url: string, timeout = 30_000) =>
  partnerConfig("one", url, { delivery: { maxInFlight }, timeoutMs: timeout });

async function engineOf(prefix: string, url: string, timeout?: number, now?: () => number): Promise<TestEngine> {
  const engine = await startEngine(server.url, configOf(partnerOf(url, timeout)), {
    settings: streamsOf(prefix),
    // Most first attempts are made straight from their events.
    ...(now === undefined ? {} : { now }),
  });
  onTestFinished(engine.stop);
  return engine;
}

/** Waits until every event came, and nothing waits any more. */
async function untilDone(partner: WebhookPartnerServer, prefix: string): Promise<void> {
  const some = (): boolean => partner.of(ids.at(-1) ?? "").length > 0 || partner.received.length >= eventCount;
  await waitFor(some, { timeoutMs, what: "deliveries" });
  await untilDrained(nats, prefix, timeoutMs);
}

describe(`${eventCount} events and a worker killed`, () => {
  const faults: readonly (readonly [string, CrashPoint, number, number])[] = [
    ["before a POST: nothing lost", "loaded", 200, maxInFlight],
    ["after a POST: nothing lost", "sent", 200, maxInFlight],
    ["after a record, before the ack: nothing lost", "recorded", 200, maxInFlight],
    ["after a schedule, before the ack: nothing lost", "passed_on", 500, maxInFlight],
    ["after an ack: nothing lost", "acknowledged", 200, maxInFlight],
  ];

  test.each(faults)(
    "%s, doubled only what was in flight without a record",
    async (_, point, status, doubledMax) => {
      const prefix = `k${faults.findIndex(([, name]) => name === point)}`;
      const partner = await partnerServer(({ attempt }) => ({ status: attempt === 1 ? status : 200 }));
      const order = { url: server.url, prefix, config: configOf(partnerOf(partner.url)) };
      const fault = { point, count: Math.floor(eventCount / 2) };
      const first = await startWorker({ ...order, podId: "pod-1", fault }, onTestFinished);
      const gone = once(first, "exit");
      await produceAll(ids, await producer(prefix, nats), fewAtOnce);
      await gone;
      await startWorker({ ...order, podId: "pod-2" }, onTestFinished);
      await untilDone(partner, prefix);
      const counted = await countFaults(partner, ids, nats, prefix);
      console.log(`killed at ${point}: ${JSON.stringify(counted)} of ${eventCount}`);
      expect({ ...counted, doubled: 0 }).toEqual({ lost: 0, doubled: 0, needless: 0 });
      expect(counted.doubled).toBeLessThanOrEqual(doubledMax);
    },
    testTimeoutMs,
  );

  test(
    "five times while another lives: nothing lost, doubled only what was in flight",
    async () => {
      const kills = 5;
      const pods = idsOf(kills + 1).map((_, count) => `killed-${count}`);
      // Its home is always the pod that is killed next.
      const isHomeOfKilled = (id: string): boolean =>
        pods.every((pod) => ownerOf(partnerKey(id), ["stays", pod]) === pod);
      const uid = idsOf(10_000).find(isHomeOfKilled) ?? "";
      expect(uid).not.toBe("");
      const partner = await partnerServer();
      const config = configOf({ ...partnerOf(partner.url), uid });
      const order = { url: server.url, prefix: "loop", config };
      await startWorker({ ...order, podId: "stays" }, onTestFinished);
      let worker = await startWorker({ ...order, podId: "killed-0" }, onTestFinished);
      const produced = produceAll(ids, await producer("loop", nats), fewAtOnce);
      for (let count = 1; count <= kills; count += 1) {
        const goal = Math.floor((eventCount * count) / (kills + 1));
        await waitFor(() => partner.received.length >= goal, { timeoutMs, what: `${goal} deliveries` });
        await killWorker(worker);
        worker = await startWorker({ ...order, podId: `killed-${count}` }, onTestFinished);
      }
      await produced;
      await untilDone(partner, "loop");
      const counted = await countFaults(partner, ids, nats, "loop");
      console.log(`one of two killed ${kills} times: ${JSON.stringify(counted)} of ${eventCount}`);
      expect({ ...counted, doubled: 0 }).toEqual({ lost: 0, doubled: 0, needless: 0 });
      expect(counted.doubled).toBeLessThanOrEqual(kills * maxInFlight);
    },
    testTimeoutMs,
  );

  test(
    "in the middle of routing to five partners: nothing lost",
    async () => {
      const partners = await Promise.all(idsOf(5).map(() => partnerServer()));
      const some = idsOf(eventCount / 5);
      // With a rate, deliveries are stored before their first attempt.
      const delivery = { maxInFlight, rate: { perSecond: 10_000, burst: 10_000 } };
      const config = configOf(
        ...partners.map(({ url }, index) => partnerConfig(`p${index}`, url, { delivery, timeoutMs: 30_000 })),
      );
      const order = { url: server.url, prefix: "fan", config };
      const fault = { point: "routed_one", count: Math.floor(eventCount / 2) } as const;
      const first = await startWorker({ ...order, podId: "pod-1", fault }, onTestFinished);
      const gone = once(first, "exit");
      await produceAll(some, await producer("fan", nats));
      await gone;
      await startWorker({ ...order, podId: "pod-2" }, onTestFinished);
      const all = (): boolean => partners.every(({ received }) => received.length >= some.length);
      await waitFor(all, { timeoutMs, what: "every delivery" });
      await untilDrained(nats, "fan", timeoutMs);
      const counts = await Promise.all(partners.map((partner) => countFaults(partner, some, nats, "fan")));
      const lost = counts.reduce((sum, count) => sum + count.lost, 0);
      const doubled = counts.reduce((sum, count) => sum + count.doubled, 0);
      console.log(`killed while routing: lost ${lost}, doubled ${doubled} of ${eventCount}`);
      expect(lost).toBe(0);
      expect(doubled).toBeLessThanOrEqual(5 * maxInFlight);
    },
    testTimeoutMs,
  );
});

describe("events and a whole program killed under load", () => {
  test(
    "nothing lost, doubled only what was in flight without a record",
    async () => {
      const installation = await makeInstallation();
      onTestFinished(() => installation.remove());
      const partner = await partnerServer();
      await installation.write("partner.yaml", partnerText("acme", partner.url, { delivery: { maxInFlight } }));
      const port = String(await freePort());
      const program = await installation.start("--port", port);
      const token = await installation.token();
      const some = idsOf(eventCount / 5);
      const produced = produceAll(some, async (id) => {
        const { status } = await postEvent(program.line.url, token, eventText(id, { tenant: "acme" }));
        if (status !== 202) throw new Error(`${id} was answered ${status}`);
      });
      await waitFor(() => partner.received.length >= some.length / 3, { timeoutMs, what: "deliveries" });
      program.signal("SIGKILL");
      await program.ended();
      await installation.start("--port", port);
      await produced;
      const handle = await connectNats(await natsAccessOf(installation));
      onTestFinished(() => handle.drain());
      await waitFor(() => some.every((id) => partner.of(id).length > 0), { timeoutMs, what: "every event" });
      await untilDrained(handle, "hg", timeoutMs);
      const counted = await countFaults(partner, some, handle, "hg");
      console.log(`program killed under load: ${JSON.stringify(counted)} of ${some.length}`);
      expect({ ...counted, doubled: 0 }).toEqual({ lost: 0, doubled: 0, needless: 0 });
      expect(counted.doubled).toBeLessThanOrEqual(maxInFlight);
    },
    testTimeoutMs,
  );
});

/** Access to the nats-server of a program. */
async function natsAccessOf({ data }: Installation): Promise<NatsAccess> {
  const { port, password } = JSON.parse(await readFile(join(data, "nats", "server.json"), "utf8")) as ChildState;
  return { servers: [`nats://127.0.0.1:${port}`], user: childUser.events, password };
}

describe(`${eventCount} events and a nats-server killed`, () => {
  test(
    "three times under load: nothing lost, nothing doubled",
    async () => {
      const partner = await partnerServer();
      const engine = await engineOf("nats", partner.url);
      const produced = produceAll(ids, (id) => engine.ingest(eventBytes(id)), fewAtOnce);
      for (let kills = 1; kills <= 3; kills += 1) {
        const goal = Math.floor((eventCount * kills) / 4);
        await waitFor(() => partner.received.length >= goal, { timeoutMs, what: `${goal} deliveries` });
        await server.kill9();
        await server.restart();
      }
      await produced;
      await untilDone(partner, "nats");
      const counted = await countFaults(partner, ids, nats, "nats");
      const stored = await storedDeliveries(nats, "nats");
      console.log(`nats-server killed 3 times: ${JSON.stringify(counted)} of ${eventCount}, ${stored} stored`);
      expect(counted).toEqual({ lost: 0, doubled: 0, needless: 0 });
    },
    testTimeoutMs,
  );
});

describe(`${eventCount} events to a partner`, () => {
  test(
    "that answers 200 too late now and then: nothing lost, each late one is attempted again",
    async () => {
      const isLate = ({ eventId, attempt }: ReceivedDelivery): boolean => attempt === 1 && eventId.endsWith("50");
      const partner = await partnerServer((delivery) => ({ delayMs: isLate(delivery) ? 6_000 : 0 }));
      const engine = await engineOf("late", partner.url, 4_000);
      await produceAll(ids, (id) => engine.ingest(eventBytes(id)), fewAtOnce);
      await untilDone(partner, "late");
      const lost = ids.filter((id) => partner.of(id).length === 0);
      const wrong = ids.filter(
        (id) =>
          id.endsWith("50") &&
          partner
            .of(id)
            .map(({ attempt }) => attempt)
            .join() !== "1,2",
      );
      expect({ lost, wrong }).toEqual({ lost: [], wrong: [] });
    },
    testTimeoutMs,
  );

  test(
    "that hangs, resets, talks nonsense, sends 1 GB or drips now and then: nothing lost",
    async () => {
      const nasty = await nastyPartner();
      const engine = await engineOf("nasty", nasty.url, 4_000);
      await produceAll(ids, (id) => engine.ingest(eventBytes(id)), fewAtOnce);
      await waitFor(() => nasty.taken.size >= eventCount, { timeoutMs, what: "every event" });
      await untilDrained(nats, "nasty", timeoutMs);
      expect(ids.filter((id) => !nasty.taken.has(id))).toEqual([]);
      expect(nasty.nastinesses).toBeGreaterThan(eventCount / 30);
    },
    testTimeoutMs,
  );
});

describe(`${eventCount} events and a clock`, () => {
  test.each([
    ["ahead", 600_000],
    ["behind", -600_000],
  ])(
    "ten minutes %s: every timestamp is in the window, nothing lost",
    async (name, skewMs) => {
      const partner = await partnerServer();
      const engine = await engineOf(`clock${name}`, partner.url, 30_000, () => Date.now() + skewMs);
      await produceAll(ids, (id) => engine.ingest(eventBytes(id)), fewAtOnce);
      await untilDone(partner, `clock${name}`);
      const offMs = partner.received.map(({ headers, atMs }) =>
        Math.abs(Date.parse(headers["x-timestamp"] ?? "") - atMs),
      );
      expect(Math.max(...offMs)).toBeLessThan(60_000);
      expect(await countFaults(partner, ids, nats, `clock${name}`)).toEqual({ lost: 0, doubled: 0, needless: 0 });
    },
    testTimeoutMs,
  );

  test(
    "of the partner ten minutes ahead: every 401 is kept as a dead letter",
    async () => {
      const partner = await partnerServer(({ headers, atMs }) => ({
        status: Math.abs(Date.parse(headers["x-timestamp"] ?? "") - (atMs + 600_000)) > 300_000 ? 401 : 200,
      }));
      const engine = await engineOf("window", partner.url);
      await produceAll(ids, (id) => engine.ingest(eventBytes(id)), fewAtOnce);
      await untilDone(partner, "window");
      const stream = createLayout("window").streams.deadLetters;
      expect((await nats.manager.streams.info(stream)).state.messages).toBe(eventCount);
      expect((await engine.engine.history.event("e-7", ["*"]))?.deliveries[0]).toMatchObject({
        state: "rejected",
        reason: "status_401",
      });
    },
    testTimeoutMs,
  );
});

describe(`${eventCount} events and 1,000 edits a minute`, () => {
  test(
    "of the partner that gets them: nothing lost, nothing doubled",
    async () => {
      const partner = await partnerServer();
      const engine = await engineOf("churn", partner.url);
      const base = partnerOf(partner.url);
      let edits = 0;
      const churn = setInterval(() => {
        edits += 1;
        const retry = { ...base.retry, maxAgeSeconds: 3_600 + edits };
        engine.engine.apply(configOf({ ...base, retry, generation: edits, specDigest: `edit-${edits}` }));
      }, 60);
      onTestFinished(() => clearInterval(churn));
      await produceAll(ids, (id) => engine.ingest(eventBytes(id)), fewAtOnce);
      await untilDone(partner, "churn");
      await waitFor(() => edits >= 100, { timeoutMs, what: "edits" });
      expect(await countFaults(partner, ids, nats, "churn")).toEqual({ lost: 0, doubled: 0, needless: 0 });
    },
    testTimeoutMs,
  );
});

interface NastyPartner {
  readonly url: string;
  /** Events that were answered 200. */
  readonly taken: ReadonlySet<string>;
  readonly nastinesses: number;
}

/** Every first attempt of every twentieth event meets something nasty, in turns; everything else is 200. */
async function nastyPartner(): Promise<NastyPartner> {
  const taken = new Set<string>();
  const sockets = new Set<Socket>();
  let nastinesses = 0;
  const tricks: readonly ((socket: Socket) => void)[] = [
    () => undefined,
    (socket) => socket.resetAndDestroy(),
    (socket) => socket.write("\u0000\u0001 no HTTP at all\r\n\r\n"),
    (socket) => flood(socket),
    (socket) => drip(socket),
  ];
  const onRequest = (socket: Socket, head: string): void => {
    const eventId = /x-event-id: (?<id>\S+)/iu.exec(head)?.groups?.["id"] ?? "";
    const isFirst = /x-attempt: 1\r/iu.test(head);
    if (isFirst && Number(eventId.slice(2)) % 20 === 0) {
      tricks[nastinesses % tricks.length]?.(socket);
      nastinesses += 1;
    } else {
      taken.add(eventId);
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    }
  };
  const tcp = createServer((socket) => {
    sockets.add(socket);
    let text = "";
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      const length = Number(/content-length: (?<length>\d+)/iu.exec(text)?.groups?.["length"]);
      if (end >= 0 && text.length >= end + 4 + length) {
        onRequest(socket, text.slice(0, end + 2));
        text = "";
      }
    });
  });
  const loopback = await listenOnLoopback(tcp);
  onTestFinished(async () => {
    sockets.forEach((socket) => socket.destroy());
    await loopback.close();
  });
  const url = `http://127.0.0.1:${loopback.port}/webhooks/v1/x`;
  return {
    url,
    taken,
    get nastinesses() {
      return nastinesses;
    },
  };
}

/** A 500 with a body of 1 GB, as far as it is read. */
function flood(socket: Socket): void {
  socket.write("HTTP/1.1 500 Oh\r\ncontent-length: 1000000000\r\n\r\n");
  const chunk = Buffer.alloc(65_536, "x");
  const more = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on("drain", more);
  more();
}

/** A head that comes at one byte a second. */
function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write("H"), 1_000);
  socket.on("close", () => clearInterval(timer));
}
