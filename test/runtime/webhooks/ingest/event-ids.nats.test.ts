import { Registry } from "prom-client";
import type { EventSettings, Settings } from "../../../../runtime/config/settings/settings.ts";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import type { RuntimeConfig } from "../../../../crds/config.ts";
import { createLayout } from "../../../../runtime/nats/layout.ts";
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

/** Settings that demand UUIDs or ids that begin with their tenant. */
const prefixed = (prefix: string, idCheck: EventSettings["idCheck"]): Settings => ({
  ...streamsOf(prefix),
  events: { idForms: ["Uuid", "TenantPrefix"], idCheck, undeclared: "Accept" },
});

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
    const it = await engineCase(server.url, context, configOf(), { settings: prefixed("forms", "Installation") });
    await expect(it.ingest(eventBytes("payout-1001"))).rejects.toMatchObject({
      code: "invalid_envelope",
      errors: [{ field: "event_id", code: "id_form" }],
    });
    expect(await outcomeOf(it, eventBytes("acme.payout-1001"))).toBe("stored");
    expect(await outcomeOf(it, eventBytes("0190d9f0-7f2a-7c3e-8b1d-3f5a6b7c8d9e"))).toBe("stored");
  });
});

/** Pods of one installation, each with its look-up of ids. */
interface PodsOrder {
  readonly prefix: string;
  readonly config: RuntimeConfig;
  readonly idChecks: readonly EventSettings["idCheck"][];
}

/** Stores like older versions, which checked only the subject of the tenant. */
async function storeAsBefore(
  { nats, layout }: Pick<EngineCase, "nats" | "layout">,
  tenant: string,
  eventId = "old-1",
): Promise<void> {
  const body = eventBytes(eventId, { tenant });
  const headers = { ...eventHeaders(parse(body).envelope, tenant), [publishHeader.expectedSubjectSequence]: "0" };
  expect(
    await publish(nats, { subject: layout.event(tenant, eventHash(eventId)), payload: body, headers }),
  ).toMatchObject({ kind: "stored" });
}

describe.concurrent("an event id that begins with its tenant, where ids are looked up in the tenant", () => {
  test("is stored once, also as a list, on a NATS subject and by a pod that looks in all tenants", async (context) => {
    const it = await engineCase(server.url, context, configOf(), { settings: prefixed("own", "Tenant") });
    const before = await startEngine(server.url, configOf(), {
      settings: prefixed("own", "Installation"),
      podId: "pod-2",
    });
    context.onTestFinished(before.stop);
    expect(await outcomeOf(it, eventBytes("acme.1"))).toBe("stored");
    for (const engine of [it, before]) {
      expect(await outcomeOf(engine, eventBytes("acme.1"))).toBe("duplicate");
      expect(await outcomeOf(engine, eventBytes("acme.1", { data: {} }))).toBe("event_id_reused");
    }
    const list = `[${eventBytes("acme.1").toString()},${eventBytes("acme:2").toString()}]`;
    const answer = await it.nats.connection.request("own.in.acme", list, { timeout: timeoutMs });
    expect(answer.json()).toMatchObject({ results: [{ duplicate: true }, { duplicate: false }] });
    const outcomes = await Promise.all(
      Array.from({ length: races }, async (_, n) => {
        const pair = [it, before].map(async (engine) => outcomeOf(engine, eventBytes(`acme/${n}`)));
        return (await Promise.all(pair)).toSorted().join();
      }),
    );
    expect(new Set(outcomes)).toEqual(new Set(["duplicate,stored"]));
    expect((await it.engine.history.eventIdUse("acme.1", ["*"]))?.events).toMatchObject([{ tenant: "acme" }]);
  });

  test("cannot be sent by another tenant, and an id of another form is still looked up in all", async (context) => {
    const registry = new Registry();
    const it = await engineCase(server.url, context, configOf(), {
      settings: prefixed("others", "Tenant"),
      registry,
    });
    for (const id of ["acme.1", "acme:1", "acme/zeta.1"])
      await expect(it.ingest(eventBytes(id, { tenant: "zeta" }))).rejects.toMatchObject({
        code: "invalid_envelope",
        errors: [{ field: "event_id", code: "id_form" }],
      });
    const uuid = "0190d9f0-7f2a-7c3e-8b1d-3f5a6b7c8d9e";
    expect(await outcomeOf(it, eventBytes(uuid, { tenant: "zeta" }))).toBe("stored");
    expect(await outcomeOf(it, eventBytes(uuid))).toBe("event_id_reused");
    expect(await outcomeOf(it, eventBytes("acme.1"))).toBe("stored");
    // Only zeta has an accepted event whose id was looked up in all tenants.
    expect(await registry.metrics()).toContain("\nheliograph_webhook_searched_tenants 1\n");
  });

  test("is not compared with an event of another tenant from before the form was demanded", async (context) => {
    const own = await engineCase(server.url, context, configOf(), { settings: prefixed("kept", "Tenant") });
    const all = await startEngine(server.url, configOf(), {
      settings: prefixed("kept", "Installation"),
      podId: "pod-2",
    });
    context.onTestFinished(all.stop);
    await storeAsBefore({ nats: own.nats, layout: createLayout("kept") }, "zeta", "acme.1");
    expect(await outcomeOf(all, eventBytes("acme.1"))).toBe("event_id_reused");
    expect(await outcomeOf(own, eventBytes("acme.1"))).toBe("stored");
    expect((await own.engine.history.eventIdUse("acme.1", ["*"]))?.events).toHaveLength(2);
  });
});

describe("an event id that two tenants stored with an older version", () => {
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

  /** Starts a pod at each server. @param idChecks of the pods, in order */
  async function podsOf(
    { prefix, config, idChecks }: PodsOrder,
    context: Pick<TestContext, "onTestFinished">,
  ): Promise<readonly TestEngine[]> {
    const engines: TestEngine[] = [];
    for (const [index, { url }] of cluster.nodes.entries()) {
      const { streams, ...settings } = prefixed(prefix, idChecks[index] ?? "Tenant");
      const replicated = { ...settings, streams: { ...streams, replicas: 3 } };
      const engine = await startEngine(url, config, { settings: replicated, podId: `pod-${index}` });
      context.onTestFinished(engine.stop);
      engines.push(engine);
    }
    return engines;
  }

  /** The outcomes of each id, sent at once through all pods. */
  async function sendEverywhere(engines: readonly TestEngine[]): Promise<ReadonlySet<string>> {
    const rounds = Array.from({ length: races }, async (_, n) => {
      const all = engines.map(async (engine) => outcomeOf(engine, eventBytes(`acme.${n}`)));
      return (await Promise.all(all)).toSorted().join();
    });
    return new Set(await Promise.all(rounds));
  }

  test("that begins with its tenant is stored once by pods that look in the tenant", async (context) => {
    const engines = await podsOf({ prefix: "threeown", config: configOf(), idChecks: [] }, context);
    expect(await sendEverywhere(engines)).toEqual(new Set(["duplicate,duplicate,stored"]));
    const info = await engines[0]?.nats.manager.streams.info("THREEOWN_EVENTS");
    expect(info?.state.messages).toBe(races);
  });

  test("that pods of both look-ups store at once is delivered once", async (context) => {
    const partner = await partnerServer(context);
    const config = configOf(partnerConfig("shared", partner.url));
    const engines = await podsOf({ prefix: "mixed", config, idChecks: ["Installation"] }, context);
    // The server compares a check of all tenants with no publish of a subject that is still being replicated.
    for (const outcome of await sendEverywhere(engines))
      expect(["duplicate,duplicate,stored", "duplicate,stored,stored"]).toContain(outcome);
    expect(await engines[0]?.ingest(eventBytes("acme.last"))).toMatchObject({ duplicate: false });
    const all = [...Array.from({ length: races }, (_, n) => `acme.${n}`), "acme.last"];
    await waitFor(() => all.every((id) => partner.of(id).length > 0), { timeoutMs, what: "all deliveries" });
    expect(all.filter((id) => partner.of(id).length > 1)).toEqual([]);
  });
});
