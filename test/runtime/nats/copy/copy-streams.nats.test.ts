import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { untilAvailable } from "../../../../runtime/nats/connection/retry-until-reply.ts";
import { copyStreams } from "../../../../runtime/nats/copy/copy-streams.ts";
import { createLayout } from "../../../../runtime/nats/layout.ts";
import { readIdentities } from "../../../../runtime/nats/streams/stream-identities.ts";
import { startNatsCluster } from "../../../support/nats-cluster.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import {
  type PartnerAnswer,
  type ReceivedDelivery,
  startWebhookPartner,
  type WebhookPartnerServer,
} from "../../../support/webhook-partner.ts";
import {
  configOf,
  eventBytes,
  partnerConfig,
  startEngine,
  testSettings,
  type TestEngine,
} from "../../webhooks/engine-fixture.ts";

const eventCount = 500;
const timeoutMs = 60_000;
/** Of one partner, in the engine's fixture. */
const inFlightMax = 64;
const ids = Array.from({ length: eventCount }, (_, index) => `event-${index}`);
/** A slow run also delivers `heliograph.delivery.failing`, one for each event of the failing partner. */
const sent: ReadonlySet<string> = new Set(ids);

let cleanups: (() => Promise<unknown>)[];

beforeEach(() => {
  cleanups = [];
});

afterEach(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
});

function kept<T>(value: T, end: (value: T) => Promise<unknown>): T {
  cleanups.push(() => end(value));
  return value;
}

const server = async (): Promise<NatsServerHandle> => kept(await startNatsServer(), (each) => each.stop());
const handleOf = async ({ url }: { readonly url: string }): Promise<NatsConnectionHandle> =>
  kept(await connectNats({ servers: [url] }), (each) => each.drain());

async function cluster(): Promise<{ readonly url: string }> {
  const { nodes } = kept(await startNatsCluster(), (each) => each.stop());
  return { url: nodes[0]?.url ?? "" };
}

async function copied(source: { readonly url: string }, target: { readonly url: string }, replicas: number) {
  const [from, to] = [await handleOf(source), await handleOf(target)];
  return copyStreams({ from, to, replicas, onStep: () => undefined });
}

/** Two partners: one is paused, the other answers 503 until it is mended. */
interface Scene {
  readonly start: (nats: { readonly url: string }, replicas: number, paused?: boolean) => Promise<TestEngine>;
  readonly partner: WebhookPartnerServer;
  /** Events that the mended partner took. */
  readonly taken: ReadonlySet<string>;
  readonly mend: () => void;
}

async function scene(): Promise<Scene> {
  let status = 503;
  const taken = new Set<string>();
  const answer = ({ path, eventId }: ReceivedDelivery): PartnerAnswer => {
    if (!path.includes("failing")) return {};
    if (status === 200 && sent.has(eventId)) taken.add(eventId);
    return { status };
  };
  const partner = kept(await startWebhookPartner(answer), (each) => each.close());
  const retry = { scheduleSeconds: [3, 3, 3, 3, 3, 3, 3, 3, 3, 3], maxAgeSeconds: 3_600, jitterPercent: 0 };
  const config = (paused: boolean) =>
    configOf(
      partnerConfig("paused", partner.url, paused ? { state: "Paused" } : {}),
      partnerConfig("failing", partner.url.replace("webhooks/v1", "failing"), { retry }),
    );
  return {
    start: (nats, replicas, paused = true) =>
      startEngine(nats.url, config(paused), {
        settings: { ...testSettings, streams: { ...testSettings.streams, replicas } },
      }),
    partner,
    taken,
    mend: () => (status = 200),
  };
}

describe("500 events that wait for two partners", () => {
  test("all arrive once after a move from one server to three and back", { timeout: 120_000 }, async () => {
    const { start, partner, taken, mend } = await scene();
    const one = await server();
    const first = await start(one, 1);
    await Promise.all(ids.map((id) => first.ingest(eventBytes(id))));
    const attempts = (): number => partner.received.filter(({ path }) => path.includes("failing")).length;
    await waitFor(() => attempts() > 20, { timeoutMs, what: "failed attempts, whose retries are on a schedule" });
    await first.stop();

    const three = await cluster();
    const streams = await copied(one, three, 3);
    expect(streams.map(({ config }) => config.num_replicas)).toEqual(streams.map(() => 3));
    const cluster3 = await handleOf(three);
    const identities = await untilAvailable(() => readIdentities(cluster3, createLayout("hg")));
    for (const name of identities.keys())
      await untilAvailable(() => cluster3.requests.request(`$JS.API.STREAM.LEADER.STEPDOWN.${name}`, ""));
    const isSame = async (): Promise<boolean> => {
      expect(await readIdentities(cluster3, createLayout("hg"))).toEqual(identities);
      return true;
    };
    await waitFor(isSame, { timeoutMs, what: "the identities with other leaders" });
    const second = await start(three, 3);
    const before = attempts();
    await waitFor(() => attempts() > before, { timeoutMs, what: "retries on three servers" });
    // Its stream may still elect a leader. A producer then sends the event again.
    const again = { timeoutMs, what: "the repeated event" };
    expect(await waitFor(() => second.ingest(eventBytes(ids[0] ?? "")), again)).toMatchObject({ duplicate: true });
    await second.stop();

    const back = await server();
    await copied(three, back, 1);
    mend();
    const third = await start(back, 1, false);
    cleanups.push(() => third.stop());
    const delivered = (): ReadonlyMap<string, number> => countsOf(partner, "webhooks/v1");
    await waitFor(() => delivered().size === eventCount, { timeoutMs, what: "all events of the paused partner" });
    await waitFor(() => taken.size === eventCount, { timeoutMs, what: "all events of the other" });
    // On a starved machine, an attempt outlasts the time after which JetStream takes its pod for dead.
    expect([...delivered().values()].filter((count) => count !== 1).length).toBeLessThanOrEqual(inFlightMax);
  });
});

function countsOf({ received }: WebhookPartnerServer, path: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const delivery of received)
    if (delivery.path.includes(path) && sent.has(delivery.eventId))
      counts.set(delivery.eventId, (counts.get(delivery.eventId) ?? 0) + 1);
  return counts;
}

const copyProcess = fileURLToPath(new URL("copy-process.ts", import.meta.url));

interface CopyRun {
  readonly from: string;
  readonly to: string;
  readonly replicas: number;
  /** The copy gets a signal before the n-th request that matches. @default never */
  readonly signal?: readonly [pattern: string, count: number, name: "SIGKILL" | "SIGSTOP"];
}

/** Runs a copy and answers its exit code; null after SIGKILL. A stopped one goes on after `stoppedMs`. */
async function copyProcessEnd({ from, to, replicas, signal }: CopyRun): Promise<number | null> {
  const [pattern, count, name] = signal ?? ["none", 0, "SIGKILL"];
  const args = [copyProcess, from, to, String(replicas), pattern, String(count), name];
  const child = spawn(process.execPath, args, { stdio: "ignore" });
  const end = once(child, "close");
  if (name === "SIGSTOP") {
    const isStopped = (): boolean => readFileSync(`/proc/${child.pid}/stat`, "utf8").includes(") T ");
    await waitFor(isStopped, { timeoutMs, what: "the stopped copy" });
    await sleep(stoppedMs);
    child.kill("SIGCONT");
  }
  await end;
  return child.exitCode;
}

/** nats-server gives up a restore that gets nothing for five seconds. */
const stoppedMs = 7_000;

async function statesOf(handle: NatsConnectionHandle): Promise<unknown> {
  const names = ["HG_EVENTS", "HG_DELIVERIES", "HG_ATTEMPTS"];
  return Promise.all(
    names.map(async (name) => {
      const { state, config } = await handle.manager.streams.info(name);
      return { name, messages: state.messages, last: state.last_seq, marks: config.metadata?.["heliograph_copy_of"] };
    }),
  );
}

async function filled(count: number): Promise<NatsServerHandle> {
  const { start } = await scene();
  const one = await server();
  const engine = await start(one, 1);
  await Promise.all(ids.slice(0, count).map((id) => engine.ingest(eventBytes(id))));
  await engine.stop();
  return one;
}

const inAndAfterRestore = [
  ["SNAPSHOT\\.RESTORE", 2],
  ["STREAM\\.UPDATE", 2],
] as const;
const targets = [
  {
    kind: "one server",
    replicas: 1,
    target: server,
    kills: [
      ["STREAM\\.RESTORE", 1],
      ...inAndAfterRestore,
      ["STREAM\\.RESTORE", 4],
      ["STREAM\\.UPDATE\\.HG_ATTEMPTS", 1],
      ["STREAM\\.UPDATE\\.HG_DLQ", 1],
    ],
  },
  { kind: "three servers", replicas: 3, target: cluster, kills: inAndAfterRestore },
] as const;

describe.each(targets)("a copy to $kind", ({ replicas, target, kills }) => {
  test("that is killed is continued by the next run, from whatever step", { timeout: 180_000 }, async () => {
    const [{ url: from }, { url: to }] = [await filled(50), await target()];
    for (const [pattern, count] of kills) {
      const code = await copyProcessEnd({ from, to, replicas, signal: [pattern, count, "SIGKILL"] });
      expect({ pattern, code }).toEqual({ pattern, code: null });
    }
    expect(await copyProcessEnd({ from, to, replicas })).toBe(0);
    expect(await statesOf(await handleOf({ url: to }))).toEqual(await statesOf(await handleOf({ url: from })));
  });

  test("that stands still for longer than a server waits starts the stream again", { timeout: 180_000 }, async () => {
    const [{ url: from }, { url: to }] = [await filled(50), await target()];
    const code = await copyProcessEnd({ from, to, replicas, signal: ["SNAPSHOT\\.RESTORE", 4, "SIGSTOP"] });
    expect(code).toBe(0);
    expect(await statesOf(await handleOf({ url: to }))).toEqual(await statesOf(await handleOf({ url: from })));
  });
});

describe("a copy", () => {
  test("never replaces a stream that it did not make", async () => {
    const [one, other] = [await server(), await server()];
    for (const each of [one, other]) {
      const { manager } = await handleOf(each);
      await manager.streams.add({ name: "HG_EVENTS", subjects: ["hg.evt.*.*"] });
    }
    const { connection } = await handleOf(other);
    await connection.request("hg.evt.a.b", "live");
    await expect(copied(one, other, 1)).rejects.toThrow("the target holds another stream HG_EVENTS (messages 1");
    expect((await (await handleOf(other)).manager.streams.info("HG_EVENTS")).state.messages).toBe(1);
  });

  test("is refused while the source still changes", async () => {
    const [one, other] = [await server(), await server()];
    const from = await handleOf(one);
    await from.manager.streams.add({ name: "HG_EVENTS", subjects: ["hg.evt.*.*"] });
    await from.connection.request("hg.evt.a.b", "first");
    const to = await handleOf(other);
    const writing = { ...from, requests: { ...from.requests, request: writes(from) } };
    await expect(
      copyStreams({ from: writing, to, replicas: 1, onStep: () => undefined, waitMsMax: 200 }),
    ).rejects.toThrow(/^the copy of HG_EVENTS differs: messages \d+ instead of \d+\. Nothing was removed\./u);
  });
});

/** Stores another message after the backup began. */
function writes({ requests, connection }: NatsConnectionHandle): NatsConnectionHandle["requests"]["request"] {
  return async (subject, payload, options) => {
    const answer = await requests.request(subject, payload, options);
    if (subject.includes("STREAM.SNAPSHOT")) await connection.request("hg.evt.a.c", "late");
    return answer;
  };
}
