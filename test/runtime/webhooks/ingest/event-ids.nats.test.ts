import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish, publishHeader } from "../../../../runtime/nats/messages/publish.ts";
import { parseEnvelope } from "../../../../runtime/webhooks/events/envelope.ts";
import { eventHash } from "../../../../runtime/webhooks/ids.ts";
import { personalDataRules } from "../../../../runtime/webhooks/events/personal-data.ts";
import { eventHeaders } from "../../../../runtime/webhooks/records/event-record.ts";
import { startNatsCluster, type NatsCluster } from "../../../support/nats-cluster.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { engineCase, partnerServer, type EngineCase } from "../engine-cases.ts";
import {
  configOf,
  eventBytes,
  partnerConfig,
  startEngine,
  streamsOf,
  testSettings,
  type TestEngine,
} from "../engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(async () => server.stop());

const timeoutMs = 20_000;
const races = 100;

const parse = (bytes: Uint8Array) => parseEnvelope(bytes, personalDataRules(testSettings.personalData));

type Outcome = "stored" | "duplicate" | "event_id_reused" | "other";

async function outcomeOf({ ingest }: TestEngine, bytes: Uint8Array): Promise<Outcome> {
  try {
    return (await ingest(bytes)).duplicate ? "duplicate" : "stored";
  } catch (error) {
    return (error as { readonly code?: string }).code === "event_id_reused" ? "event_id_reused" : "other";
  }
}

/** The outcomes of concurrent requests for each id; every engine sends as its own tenant. */
async function race(engines: readonly TestEngine[]): Promise<readonly string[]> {
  const rounds = Array.from({ length: races }, async (_, round) => {
    const brought = engines.map(async (engine, index) =>
      outcomeOf(engine, eventBytes(`r-${round}`, { tenant: `tenant-${index}` })),
    );
    return (await Promise.all(brought)).toSorted().join();
  });
  return Promise.all(rounds);
}

describe.concurrent("an event id", () => {
  test("of one tenant is refused to every other, and their partners never get it", async (context) => {
    const partner = await partnerServer(context);
    const it = await engineCase(server.url, context, configOf(partnerConfig("shared", partner.url)));
    await it.ingest(eventBytes("payout-1001", { tenant: "zeta" }));
    const refused = it.engine.ingest(eventBytes("payout-1001"), { tenants: ["acme"] });
    await expect(refused).rejects.toMatchObject({
      status: 409,
      code: "event_id_reused",
      message: expect.not.stringContaining("zeta") as string,
    });
    const delivered = await waitFor(() => partner.of("payout-1001")[0], { timeoutMs, what: "the delivery" });
    expect(JSON.parse(delivered.body.toString())).toMatchObject({ tenant: "zeta" });
    expect(await it.engine.history.event("payout-1001", ["acme"])).toBeUndefined();
    expect(await outcomeOf(it, eventBytes("payout-1001", { tenant: "zeta" }))).toBe("duplicate");
  });

  test("that tenants send at once through two pods belongs to one of them", async (context) => {
    const one = await engineCase(server.url, context, configOf());
    const two = await startEngine(server.url, configOf(), { settings: streamsOf(one.prefix), podId: "pod-2" });
    context.onTestFinished(two.stop);
    const outcomes = await race([one, two]);
    expect(new Set(outcomes)).toEqual(new Set(["event_id_reused,stored"]));
    expect((await one.nats.manager.streams.info(one.layout.streams.events)).state.messages).toBe(races);
  });

  test("is refused in a list on a NATS subject too", async (context) => {
    const it = await engineCase(server.url, context, configOf());
    await it.ingest(eventBytes("e-1", { tenant: "zeta" }));
    const list = `[${eventBytes("e-1").toString()}]`;
    const answer = await it.nats.connection.request(`${it.prefix}.in.acme`, list, { timeout: timeoutMs });
    expect(answer.json()).toMatchObject({ results: [{ status: 409, error: { code: "event_id_reused" } }] });
  });

  test("that is refused is counted, and an administrator sees both tenants", async (context) => {
    const registry = new Registry();
    const it = await engineCase(server.url, context, configOf(), { registry });
    await it.ingest(eventBytes("e-1", { tenant: "zeta" }));
    for (const tenant of ["acme", "acme", "lumen"])
      expect(await outcomeOf(it, eventBytes("e-1", { tenant }))).toBe("event_id_reused");
    expect(await registry.metrics()).toContain('heliograph_webhook_ingest_total{outcome="taken"} 3');
    expect(it.lines).toContainEqual(
      expect.objectContaining({ level: "warn", fields: { eventId: "e-1", tenant: "acme", holder: "zeta" } }),
    );
    const use = await waitFor(
      async () => {
        const read = await it.engine.history.eventIdUse("e-1", ["*"]);
        return read?.refused.length === 2 ? read : undefined;
      },
      { timeoutMs, what: "both refusals" },
    );
    expect(use.events).toMatchObject([{ tenant: "zeta", type: "payout.processed" }]);
    expect(new Map(use.refused.map(({ tenant, held_by }) => [tenant, held_by]))).toEqual(
      new Map([
        ["acme", "zeta"],
        ["lumen", "zeta"],
      ]),
    );
    expect(await it.engine.history.eventIdUse("e-1", ["acme"])).toMatchObject({
      events: [],
      refused: [{ tenant: "acme" }],
    });
    expect(await it.engine.history.eventIdUse("e-2", ["*"])).toBeUndefined();
  });

  test("has the form that the settings require", async (context) => {
    const settings = {
      ...streamsOf("forms"),
      events: { idForms: ["Uuid", "TenantPrefix"] as const, undeclared: "Accept" as const },
    };
    const it = await engineCase(server.url, context, configOf(), { settings });
    await expect(it.ingest(eventBytes("payout-1001"))).rejects.toMatchObject({
      code: "invalid_envelope",
      errors: [{ field: "event_id", code: "id_form" }],
    });
    expect(await outcomeOf(it, eventBytes("acme.payout-1001"))).toBe("stored");
    expect(await outcomeOf(it, eventBytes("0190d9f0-7f2a-7c3e-8b1d-3f5a6b7c8d9e"))).toBe("stored");
  });
});

describe("an event id that two tenants stored with an older version", () => {
  /** Stores like older versions, which checked only the subject of the tenant. */
  async function storeAsBefore({ nats, layout }: EngineCase, tenant: string): Promise<void> {
    const body = eventBytes("old-1", { tenant });
    const headers = { ...eventHeaders(parse(body).envelope, tenant), [publishHeader.expectedSubjectSequence]: "0" };
    expect(
      await publish(nats, { subject: layout.event(tenant, eventHash("old-1")), payload: body, headers }),
    ).toMatchObject({ kind: "stored" });
  }

  test("is read, repeated and replayed by each tenant as its own", async (context) => {
    const partner = await partnerServer(context);
    const it = await engineCase(server.url, context, configOf(partnerConfig("shared", partner.url)));
    for (const tenant of ["acme", "zeta"]) await storeAsBefore(it, tenant);
    const tenantsOf = (): readonly string[] =>
      partner.of("old-1").map(({ body }) => (JSON.parse(body.toString()) as { readonly tenant: string }).tenant);
    await waitFor(() => tenantsOf().length === 2, { timeoutMs, what: "both deliveries" });
    for (const tenant of ["acme", "zeta"]) {
      const history = await it.engine.history.event("old-1", [tenant]);
      expect(Buffer.from(history?.event ?? []).toString()).toContain(`"tenant":"${tenant}"`);
      expect(await outcomeOf(it, eventBytes("old-1", { tenant }))).toBe("duplicate");
      expect(await outcomeOf(it, eventBytes("old-1", { tenant, data: {} }))).toBe("event_id_reused");
      await waitFor(
        async () => (await it.engine.history.event("old-1", [tenant]))?.deliveries[0]?.state === "delivered",
        {
          timeoutMs,
          what: "the attempt",
        },
      );
      await it.engine.replays.replay(Buffer.from('{"event_ids":["old-1"]}'), { client: "c", tenants: [tenant] });
    }
    await waitFor(() => tenantsOf().length === 4, { timeoutMs, what: "both replays" });
    expect(tenantsOf().slice(2).toSorted()).toEqual(["acme", "zeta"]);
    expect(await outcomeOf(it, eventBytes("old-1", { tenant: "lumen" }))).toBe("event_id_reused");
    expect((await it.engine.history.eventIdUse("old-1", ["*"]))?.events.map(({ tenant }) => tenant)).toEqual([
      "acme",
      "zeta",
    ]);
  });
});

describe("an event id on three replicas", () => {
  let cluster: NatsCluster;
  beforeAll(async () => {
    cluster = await startNatsCluster();
  });
  afterAll(async () => cluster.stop());

  test("that three tenants send at once through three pods belongs to one of them", async ({ onTestFinished }) => {
    const { streams, ...settings } = streamsOf("three");
    const replicated = { ...settings, streams: { ...streams, replicas: 3 } };
    const engines: TestEngine[] = [];
    for (const [index, { url }] of cluster.nodes.entries()) {
      const engine = await startEngine(url, configOf(), { settings: replicated, podId: `pod-${index}` });
      onTestFinished(engine.stop);
      engines.push(engine);
    }
    const outcomes = await race(engines);
    expect(new Set(outcomes)).toEqual(new Set(["event_id_reused,event_id_reused,stored"]));
    const equal = await Promise.all(engines.map(async (engine) => outcomeOf(engine, eventBytes("same"))));
    expect(equal.toSorted()).toEqual(["duplicate", "duplicate", "stored"]);
  });
});
