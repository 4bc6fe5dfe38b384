import { createServer } from "node:https";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAttemptsStream } from "../../../runtime/nats/streams/attempts-stream.ts";
import { parseAttempts } from "../../../runtime/webhooks/records/attempt-records.ts";
import { eventHash } from "../../../runtime/webhooks/ids.ts";
import { createSender } from "../../../runtime/webhooks/sending/send.ts";
import { listenOnLoopback } from "../../support/loopback.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { selfSignedCertificate } from "../../support/tls/self-signed-certificate.ts";
import { waitFor } from "../../support/wait.ts";
import { engineCase, partnerServer, type Cleanup } from "./engine-cases.ts";
import { configOf, eventBytes, partnerConfig, streamsOf } from "./engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 30_000;
const retry = { scheduleSeconds: [600, 7_200], maxAgeSeconds: 604_800, jitterPercent: 0 };

interface EchoingPartner {
  readonly port: number;
  readonly cert: string;
  /** Signatures of the attempts. */
  readonly signatures: readonly string[];
}

/** Repeats in its answer what it was sent, with a secret besides. */
async function echoingPartner({ onTestFinished }: Cleanup, secret: string): Promise<EchoingPartner> {
  const identity = selfSignedCertificate(["partner.test"]);
  const signatures: string[] = [];
  const listening = createServer(identity, (request, response) => {
    signatures.push(String(request.headers["x-signature"]));
    const echo = JSON.stringify(request.headers);
    request
      .resume()
      .once("end", () =>
        response.writeHead(500, { "x-trace-id": "t-1", "retry-after": secret }).end(echo + " ".repeat(5_000)),
      );
  });
  const loopback = await listenOnLoopback(listening);
  onTestFinished(() => loopback.close());
  return { port: loopback.port, cert: identity.cert, signatures };
}

describe.concurrent("the record of an attempt (Webhook Event Delivery §3)", () => {
  test("tells its phases, its pod and a cut answer, and keeps no secret that the answer repeats", async (context) => {
    const secret = "key-of-the-endpoint-that-nobody-may-read";
    const { port, cert, signatures } = await echoingPartner(context, secret);
    const plain = partnerConfig("one", `https://partner.test:${port}/webhooks/v1/x`, { retry });
    const config = configOf({
      ...plain,
      endpoint: { ...plain.endpoint, headers: { "X-Api-Key": secret }, tls: { ca: "ca" } },
    });
    const sender = createSender({ resolve: () => Promise.resolve(["127.0.0.1"]) });
    const material = { ...config.material, ca: Buffer.from(cert).toString("base64") };
    const engine = await engineCase(server.url, context, { ...config, material }, { sender, podId: "pod-7" });
    await engine.ingest(eventBytes("e-1"));
    const stored = createAttemptsStream(engine.nats, engine.layout);
    const messages = await waitFor(async () => nonEmpty(await stored.read("acme", eventHash("e-1"))), {
      timeoutMs,
      what: "the record",
    });
    const text = Buffer.concat(messages.map(({ data }) => data)).toString();
    const signature = signatures.join();
    expect(signature.length).toBeGreaterThan(40);
    expect([text.includes(secret), text.includes("***")]).toEqual([false, true]);
    const [record] = parseAttempts(messages);
    expect(JSON.stringify(record?.outcome)).not.toContain(signature);
    expect(record).toMatchObject({
      eventId: "e-1",
      tenant: "acme",
      number: 1,
      pod: "pod-7",
      partner: { namespace: "default", name: "one" },
      outcome: {
        kind: "response",
        status: 500,
        headers: { "x-trace-id": "t-1", "retry-after": "***" },
        bodyTruncated: true,
      },
      settlement: { kind: "retry", reason: "status_500" },
      signed: { scheme: "HmacV1", keys: ["k1"], url: "/webhooks/v1/x", headers: { "X-Signature": signature } },
    });
    expect(record?.outcome).toHaveProperty("body.length", 1_024);
    const { totalMs = 0, ...phases } = record?.timings ?? {};
    expect(Object.keys(phases).sort()).toEqual(["connectMs", "dnsMs", "firstByteMs", "tlsMs"]);
    expect(totalMs).toBeGreaterThan(Object.values(phases).reduce((sum, ms) => sum + ms, -1));
    const history = await engine.engine.history.event("e-1", ["acme"]);
    expect(history?.deliveries[0]?.attempts[0]).toMatchObject({
      duration_ms: record?.durationMs,
      phases_ms: {
        dns: expect.any(Number),
        connect: expect.any(Number),
        tls: expect.any(Number),
        first_byte: expect.any(Number),
      },
    });
  });
});

describe.concurrent("Retry-After of a partner (Webhook Event Delivery §3, §7)", () => {
  /** Whose clock is ten minutes ahead. */
  const theirs = (ms: number): string => new Date(Date.now() + 600_000 + ms).toUTCString();

  test.for<readonly [string, number, () => Readonly<Record<string, string>>, number]>([
    ["seconds on a 429", 429, () => ({ "retry-after": "3000" }), 3_000],
    ["a date by its own clock on a 503", 503, () => ({ "retry-after": theirs(3_000_000), date: theirs(0) }), 3_000],
    ["an absurd number, up to the longest step of the schedule", 503, () => ({ "retry-after": "9".repeat(30) }), 7_200],
    ["a date that is past", 429, () => ({ "retry-after": theirs(-60_000), date: theirs(0) }), 600],
    ["a word", 503, () => ({ "retry-after": "soon" }), 600],
    ["seconds on a 500, where it says nothing", 500, () => ({ "retry-after": "3000" }), 600],
  ])("%s: the next attempt waits as long as it may", async ([, status, headers, waitSeconds], context) => {
    const partner = await partnerServer(context, () => ({ status, headers: headers() }));
    const engine = await engineCase(server.url, context, configOf(partnerConfig("one", partner.url, { retry })));
    await engine.ingest(eventBytes("e-1"));
    const next = async () => (await engine.engine.history.event("e-1", ["*"]))?.deliveries[0]?.next_attempt_at;
    const at = Date.parse(await waitFor(next, { timeoutMs, what: "the next attempt" }));
    const offSeconds = (at - (partner.received[0]?.atMs ?? 0)) / 1_000 - waitSeconds;
    expect(Math.abs(offSeconds)).toBeLessThan(10);
  });
});

test("producers get 503 and a time to come back while events that are not routed nearly fill their stream", async (context) => {
  const partner = await partnerServer(context);
  const settings = streamsOf("near");
  const maxBytes = 400_000;
  const streams = { ...settings.streams, events: { maxAgeSeconds: 3_600, maxBytes }, deliveries: { maxBytes: 5_000 } };
  const one = partnerConfig("one", partner.url);
  const engine = await engineCase(server.url, context, configOf({ ...one, state: "Paused" }), {
    settings: { ...settings, streams },
  });
  const data = { pad: "x".repeat(1_500) };
  const accepted: string[] = [];
  const bring = async (): Promise<unknown> => {
    const id = `e-${accepted.length}`;
    return engine.ingest(eventBytes(id, { data })).then(
      () => void accepted.push(id),
      (error: unknown) => error,
    );
  };
  await Promise.all(Array.from({ length: 20 }, (_, n) => engine.ingest(eventBytes(`first-${n}`, { data }))));
  await waitFor(() => engine.lines.some(({ message }) => /routing paused/u.test(message)), {
    timeoutMs,
    what: "a full queue",
  });
  const info = async () => (await engine.nats.manager.streams.info("NEAR_EVENTS")).state;
  while ((await info()).bytes < maxBytes * 0.96 && (await bring()) === undefined);
  await waitFor(() => engine.lines.some(({ message }) => /nearly full/u.test(message)), {
    timeoutMs,
    what: "the find",
  });
  const refusal = await bring();
  expect(refusal).toMatchObject({ status: 503, code: "events_unavailable" });
  expect((refusal as { readonly retryAfterSeconds?: number }).retryAfterSeconds).toBeGreaterThan(0);
  expect((await info()).bytes).toBeLessThan(maxBytes);
  engine.engine.apply(configOf(one));
  await waitFor(() => accepted.every((id) => partner.of(id).length === 1), { timeoutMs, what: "everything accepted" });
  await waitFor(async () => (await bring()) === undefined, { timeoutMs, what: "room again" });
});

function nonEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}
