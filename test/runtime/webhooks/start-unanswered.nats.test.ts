import { TimeoutError } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectNats, type NatsConnectionHandle } from "../../../runtime/nats/connection/connect.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { configOf, eventBytes, startEngine } from "./engine-fixture.ts";

let server: NatsServerHandle;

beforeAll(async () => {
  server = await startNatsServer();
});

afterAll(async () => {
  await server.stop();
});

type Call = (...args: unknown[]) => unknown;
const asked: ReadonlySet<unknown> = new Set(["info", "add", "update"]);

/** A connection whose n-th request to JetStream's manager gets no answer, as while a stream has no leader. */
function deaf(handle: NatsConnectionHandle, unanswered: number): { handle: NatsConnectionHandle; count: () => number } {
  let count = 0;
  const guarded = <T extends object>(api: T): T =>
    new Proxy(api, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (asked.has(name)) count += 1;
          if (asked.has(name) && count === unanswered) return Promise.reject(new TimeoutError());
          return (value as Call).apply(target, args);
        };
      },
    });
  const { streams, consumers } = handle.manager;
  const manager = Object.create(handle.manager, {
    streams: { value: guarded(streams) },
    consumers: { value: guarded(consumers) },
  }) as NatsConnectionHandle["manager"];
  return { handle: { ...handle, manager }, count: () => count };
}

/** Starts and answers how many requests that took. */
async function startedAfter(unanswered: number): Promise<number> {
  const nats = await connectNats({ servers: [server.url] });
  const { handle, count } = deaf(nats, unanswered);
  const engine = await startEngine(server.url, configOf(), { nats: handle });
  const requests = count();
  expect(await engine.ingest(eventBytes(`event-${unanswered}`))).toMatchObject({ duplicate: false });
  await engine.stop();
  await nats.drain();
  return requests;
}

test("a pod starts although JetStream leaves any one request of its start unanswered", async () => {
  await startedAfter(0);
  const requests = await startedAfter(-1);
  expect(requests).toBeGreaterThan(10);
  for (let unanswered = 1; unanswered <= requests; unanswered += 1) {
    // The step was made again.
    expect(await startedAfter(unanswered)).toBeGreaterThan(requests);
  }
});
