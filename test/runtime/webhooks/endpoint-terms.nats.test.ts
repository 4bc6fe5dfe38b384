import { createServer } from "node:https";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import type { PartnerConfig, RuntimeConfig } from "../../../crds/config.ts";
import type { WebhookEngineDeps } from "../../../runtime/webhooks/engine-context.ts";
import { createCertificateAuthority, type CertificateAuthority } from "../../support/tls/certificate-authority.ts";
import { listenOnLoopback } from "../../support/loopback.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { waitFor } from "../../support/wait.ts";
import type { Certificate } from "../../support/tls/x509.ts";
import { configOf, eventBytes, partnerConfig, startEngine, streamsOf, type TestEngine } from "./engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 30_000;
const ours = createCertificateAuthority("authority of the sender");
const theirs = createCertificateAuthority("authority of the partner");
const names = ["127.0.0.1"];
let count = 0;

/** What a partner shows and trusts, as its Secrets hold it now. */
interface Secrets {
  readonly ca: CertificateAuthority;
  readonly client?: Certificate;
}

function configWith(partner: PartnerConfig, { ca, client }: Secrets): RuntimeConfig {
  const tls = { ca: "ca", ...(client === undefined ? {} : { client: { certificate: "cert", key: "key" } }) };
  const config = configOf({ ...partner, endpoint: { ...partner.endpoint, tls } });
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const shown = client === undefined ? {} : { cert: base64(client.cert), key: base64(client.key) };
  return { ...config, material: { ...config.material, ca: base64(ca.cert), ...shown } };
}

async function engineOf(
  { onTestFinished }: TestContext,
  config: RuntimeConfig,
  overrides: Partial<WebhookEngineDeps> = {},
): Promise<TestEngine> {
  count += 1;
  const engine = await startEngine(server.url, config, { settings: streamsOf(`t${count}`), ...overrides });
  onTestFinished(engine.stop);
  return engine;
}

/** Errors and statuses of the attempts for an event, in order. */
async function attemptsOf({ engine }: TestEngine, eventId: string): Promise<readonly unknown[]> {
  const history = await engine.history.event(eventId, ["*"]);
  return (history?.deliveries ?? []).flatMap(({ attempts }) =>
    attempts.map(({ status, error }) => error?.reason ?? status),
  );
}

async function untilLast(engine: TestEngine, eventId: string, last: unknown): Promise<void> {
  await waitFor(async () => (await attemptsOf(engine, eventId)).at(-1) === last, {
    timeoutMs,
    what: `${eventId}: ${String(last)}`,
  });
}

describe.concurrent("an endpoint that demands a certificate", () => {
  const client = () => ours.issue({ commonName: "heliograph" });

  test("gets deliveries over mutual TLS; a wrong certificate on either side has its reason, and an edit applies to the next attempt", async (context) => {
    const seen: string[] = [];
    const identity = theirs.issue({ commonName: "partner", names });
    const listening = createServer(
      { ...identity, ca: ours.cert, requestCert: true, rejectUnauthorized: true },
      (request, response) => {
        seen.push(String(request.headers["x-event-id"]));
        request.resume().once("end", () => response.writeHead(200).end());
      },
    );
    const loopback = await listenOnLoopback(listening);
    context.onTestFinished(() => loopback.close());
    const partner = partnerConfig("one", `https://127.0.0.1:${loopback.port}/webhooks/v1/x`);
    const engine = await engineOf(context, configWith(partner, { ca: ours, client: client() }));
    await engine.ingest(eventBytes("trusts-another"));
    await untilLast(engine, "trusts-another", "tls");
    engine.engine.apply(configWith(partner, { ca: theirs, client: client() }));
    await untilLast(engine, "trusts-another", 200);
    engine.engine.apply(configWith(partner, { ca: theirs, client: theirs.issue({ commonName: "a stranger" }) }));
    await engine.ingest(eventBytes("shows-another"));
    await untilLast(engine, "shows-another", "client_certificate");
    engine.engine.apply(configWith(partner, { ca: theirs, client: client() }));
    await untilLast(engine, "shows-another", 200);
    expect(seen).toEqual(["trusts-another", "shows-another"]);
  });
});

describe.concurrent("an endpoint that is asked for its consent", () => {
  const identity = theirs.issue({ commonName: "partner", names });

  async function recipient({ onTestFinished }: TestContext, headers: () => Readonly<Record<string, string>>) {
    const deliveredAtMs: number[] = [];
    const questions: string[] = [];
    const listening = createServer(identity, (request, response) => {
      if (request.method === "OPTIONS") {
        questions.push(String(request.headers["webhook-request-origin"]));
        response.writeHead(200, headers()).end();
        return;
      }
      const isNamed = request.headersDistinct["webhook-request-origin"]?.join() === "heliograph";
      // A strict endpoint takes requests of consented origins only.
      if (!isNamed) {
        response.writeHead(403).end();
        return;
      }
      deliveredAtMs.push(performance.now());
      request.resume().once("end", () => response.writeHead(200).end());
    });
    const loopback = await listenOnLoopback(listening);
    onTestFinished(() => loopback.close());
    const plain = partnerConfig("one", `https://127.0.0.1:${loopback.port}/webhooks/v1/x`, {
      delivery: { maxInFlight: 8 },
    });
    const partner: PartnerConfig = { ...plain, endpoint: { ...plain.endpoint, verification: "Handshake" } };
    return { deliveredAtMs, questions, config: configWith(partner, { ca: theirs }) };
  }

  test("gets no delivery before it consents, and each attempt says so", async (context) => {
    const { deliveredAtMs, questions, config } = await recipient(context, () => ({}));
    const engine = await engineOf(context, config);
    await engine.ingest(eventBytes("unwanted"));
    await untilLast(engine, "unwanted", "consent");
    expect(questions).toEqual(["heliograph"]);
    expect(deliveredAtMs).toEqual([]);
    expect(engine.engine.endpointValidations()).toMatchObject([
      { partner: { name: "one", generation: 1 }, failure: { reason: "consent" } },
    ]);
  });

  test("gets deliveries at the rate that it allows", async (context) => {
    const perMinute = 240;
    const { deliveredAtMs, questions, config } = await recipient(context, () => ({
      "webhook-allowed-origin": "*",
      "webhook-allowed-rate": String(perMinute),
    }));
    const engine = await engineOf(context, config);
    const events = Array.from({ length: 12 }, (_, n) => `paced-${n}`);
    const startedAtMs = performance.now();
    await Promise.all(events.map((id) => engine.ingest(eventBytes(id))));
    await waitFor(() => deliveredAtMs.length === events.length, { timeoutMs, what: "every delivery" });
    const burst = perMinute / 60;
    const leastMs = ((events.length - burst) * 60_000) / perMinute;
    // Timers may be a millisecond early.
    expect((deliveredAtMs.at(-1) ?? 0) - startedAtMs).toBeGreaterThan(leastMs - 10);
    expect(questions).toHaveLength(1);
    expect(engine.engine.endpointValidations()).toEqual([
      { partner: config.partners[0], sinceMs: expect.any(Number) as number },
    ]);
  });
});

test.concurrent("a failing partner has an open circuit breaker and a backlog, and the metrics show both", async (context) => {
  const registry = new Registry();
  const circuitBreaker = { failures: 1, openMs: 600_000, maxOpenMs: 600_000 };
  const gone = partnerConfig("one", "http://127.0.0.1:9/webhooks/v1/x", {
    circuitBreaker,
    delivery: { maxInFlight: 1 },
  });
  const engine = await engineOf(context, configOf(gone), { registry });
  await Promise.all([1, 2, 3, 4].map((n) => engine.ingest(eventBytes(`waits-${n}`))));
  const says = async (line: string): Promise<boolean> =>
    (await registry.metrics()).includes(`\nheliograph_webhook_${line}\n`);
  await waitFor(() => says('partner_breaker_open{partner="default/one"} 1'), { timeoutMs, what: "the breaker" });
  // One has failed: it is due again a second later, like the three that were never tried.
  await waitFor(() => says('partner_backlog{partner="default/one"} 4'), { timeoutMs, what: "the backlog" });
  expect(await says("backlog 4")).toBe(true);
});
