import { afterAll, beforeAll, expect, test } from "vitest";
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import {
  createDeadLettersStream,
  type DeadLettersStream,
} from "../../../../runtime/nats/streams/dead-letters-stream.ts";
import { createLayout, layoutVersion } from "../../../../runtime/nats/layout.ts";
import { ensureTopology } from "../../../../runtime/nats/streams/topology.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { testSettings } from "../../webhooks/engine-fixture.ts";

const timeoutMs = 20_000;

let server: NatsServerHandle;
let nats: NatsConnectionHandle;
beforeAll(async () => {
  server = await startNatsServer();
  nats = await connectNats({ servers: [server.url] });
});
afterAll(async () => {
  await nats?.drain();
  await server?.stop();
});

async function streamKeptFor(prefix: string, maxAgeSeconds: number): Promise<DeadLettersStream> {
  const { streams } = testSettings;
  return createDeadLettersStream(
    nats,
    await ensureTopology(nats, { ...streams, prefix, deadLetters: { ...streams.deadLetters, maxAgeSeconds } }),
  );
}

/** Stores one letter of each kind and resolves with how long each was there, in the order given. */
async function agesOf(
  stream: DeadLettersStream,
  retained: readonly (number | undefined)[],
): Promise<readonly number[]> {
  const storedAtMs = performance.now();
  const answers = await Promise.all(
    retained.map((retainSeconds, index) => {
      const kept = retainSeconds === undefined ? {} : { retainSeconds };
      return stream.append({
        partner: "p",
        reason: "status_404",
        did: `d${index}`,
        messageId: `dlq:${index}`,
        payload: "{}",
        ...kept,
      });
    }),
  );
  expect(answers.map(({ kind }) => kind)).toEqual(retained.map(() => "stored"));
  return Promise.all(
    retained.map(async (_, index) => {
      await waitFor(async () => (await stream.of("p", `d${index}`)).length === 0 || undefined, {
        timeoutMs,
        what: `the end of letter ${index}`,
      });
      return performance.now() - storedAtMs;
    }),
  );
}

test(
  "a dead letter has the retention of its partner, and never a longer one than the stream",
  { timeout: 60_000 },
  async () => {
    const [own = 0, asStream = 0, longer = 0] = await agesOf(await streamKeptFor("hgage", 5), [1, undefined, 60]);
    expect([own >= 900, own < asStream, asStream >= 4_900, longer >= 4_900]).toEqual([true, true, true, true]);
  },
);

test("a stream of a version with one retention is updated to retentions of partners", { timeout: 60_000 }, async () => {
  const { streams, filters } = createLayout("hgold");
  const metadata = { heliograph_layout: layoutVersion };
  await nats.manager.streams.add({ name: streams.events, subjects: [filters.events], discard: "new", metadata });
  await nats.manager.streams.add({
    name: streams.deadLetters,
    subjects: [filters.deadLetters],
    discard: "new",
    metadata,
  });
  const [own = 0] = await agesOf(await streamKeptFor("hgold", 3_600), [1]);
  expect(own).toBeLessThan(timeoutMs);
});
