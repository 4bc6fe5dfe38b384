import { TimeoutError } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { connectNats, type NatsConnectionHandle } from "../../../runtime/nats/connection/connect.ts";
import { NoReplyError } from "../../../runtime/nats/connection/requests.ts";
import { clusterConfigs } from "../../support/nats-cluster.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { configOf, eventBytes, startEngine, testSettings } from "./engine-fixture.ts";

let server: NatsServerHandle;
/** Errors of the client, by the part of JetStream's API that it requested. */
type Faults = Readonly<Record<"manager" | "direct" | "request", unknown>>;
const timeouts: Faults = {
  manager: new TimeoutError(),
  direct: new TimeoutError(),
  request: new NoReplyError("$JS.API.INFO", "timeout"),
};
let noResponders: Faults;

const faultOf = (step: () => Promise<unknown>): Promise<unknown> =>
  step().then(
    () => expect.unreachable("JetStream is on"),
    (error: unknown) => error,
  );

/** The errors at a real server without JetStream. */
async function readNoResponders(): Promise<Faults> {
  const plain = await startNatsServer({ config: "jetstream: disabled" });
  const handle = await connectNats({ servers: [plain.url] });
  const { manager, requests } = handle;
  const readDirectly = async () => {
    for await (const message of await manager.direct.getLastMessagesFor("S", { multi_last: ["s"] }))
      expect.unreachable(message.subject);
  };
  const faults = {
    manager: await faultOf(() => manager.streams.info("S")),
    direct: await faultOf(readDirectly),
    request: await faultOf(() => requests.request("$JS.API.INFO", "")),
  };
  await handle.drain();
  await plain.stop();
  return faults;
}

beforeAll(async () => {
  server = await startNatsServer();
  noResponders = await readNoResponders();
});

afterAll(async () => {
  await server.stop();
});

type Call = (...args: unknown[]) => unknown;
const asked: ReadonlySet<unknown> = new Set(["info", "add", "update", "getLastMessagesFor"]);
const isRequested = (subject: string): boolean => subject === "$JS.API.INFO" || subject.startsWith("$KV.");

/** A connection whose n-th request to JetStream fails, as while it has no API or a stream has no leader. */
function deaf(
  handle: NatsConnectionHandle,
  failing: number,
  faults: Faults,
): { handle: NatsConnectionHandle; count: () => number } {
  let count = 0;
  const guarded = <T extends object>(api: T, fault: unknown): T =>
    new Proxy(api, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (asked.has(name)) count += 1;
          if (asked.has(name) && count === failing) return Promise.reject(fault);
          return (value as Call).apply(target, args);
        };
      },
    });
  const { streams, consumers, direct } = handle.manager;
  const manager = Object.create(handle.manager, {
    streams: { value: guarded(streams, faults.manager) },
    consumers: { value: guarded(consumers, faults.manager) },
    direct: { value: guarded(direct, faults.direct) },
  }) as NatsConnectionHandle["manager"];
  const request: NatsConnectionHandle["requests"]["request"] = (subject, ...rest) => {
    if (isRequested(subject)) count += 1;
    if (isRequested(subject) && count === failing) return Promise.reject(faults.request);
    return handle.requests.request(subject, ...rest);
  };
  return { handle: { ...handle, manager, requests: { ...handle.requests, request } }, count: () => count };
}

/** Starts and answers how many requests that took. */
async function startedAfter(failing: number, faults: Faults): Promise<number> {
  const nats = await connectNats({ servers: [server.url] });
  const { handle, count } = deaf(nats, failing, faults);
  const engine = await startEngine(server.url, configOf(), { nats: handle });
  const requests = count();
  expect(await engine.ingest(eventBytes(`event-${failing}`))).toMatchObject({ eventId: `event-${failing}` });
  await engine.stop();
  await nats.drain();
  return requests;
}

test("the faults of a request that nobody receives are those that the client reports", () => {
  expect(Object.values(noResponders).map(String)).toEqual([
    "JetStreamNotEnabled: jetstream is not enabled",
    "JetStreamStatusError: no responders",
    "Unanswered: no response from NATS to $JS.API.INFO: no_responders",
  ]);
});

test.each([
  ["leaves unanswered", () => timeouts],
  ["has nobody to receive", () => noResponders],
])("a pod starts although JetStream %s any one request of its start", async (_sentence, faults) => {
  await startedAfter(0, faults());
  const requests = await startedAfter(-1, faults());
  expect(requests).toBeGreaterThan(15);
  for (let failing = 1; failing <= requests; failing += 1) {
    // The step was made again.
    expect(await startedAfter(failing, faults())).toBeGreaterThan(requests);
  }
});

test("a pod starts on the first server of a cluster, and is ready once the cluster has elected a leader", async () => {
  const serve = async (config: string): Promise<NatsServerHandle> => {
    const started = await startNatsServer({ config });
    onTestFinished(() => started.stop());
    return started;
  };
  const [config, ...others] = await clusterConfigs();
  const first = await serve(config ?? "");
  const settings = { ...testSettings, streams: { ...testSettings.streams, replicas: 3 } };
  const starting = startEngine(first.url, configOf(), { settings });
  const nats = await connectNats({ servers: [first.url] });
  onTestFinished(() => nats.drain());
  await expect(nats.requests.request("$JS.API.INFO", "")).rejects.toMatchObject({ reason: "timeout" });
  await Promise.all(others.map(serve));
  const engine = await starting;
  onTestFinished(() => engine.stop());
  expect(await engine.ingest(eventBytes("event-1"))).toMatchObject({ duplicate: false });
  expect(engine.engine.health()).toEqual({ ok: true });
});
