import { headers as newHeaders } from "@nats-io/transport-node";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PartnerConfig } from "../../../crds/config.ts";
import { createPublicServer } from "../../../runtime/http/server/public-server.ts";
import { anonymous } from "../../../runtime/http/server/route.ts";
import type { Caller } from "../../../runtime/metrics/authorization/access.ts";
import { eventRoutes } from "../../../runtime/http/routes/events.ts";
import { webhookRoutes } from "../../../runtime/http/routes/webhooks.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { waitFor } from "../../support/wait.ts";
import { startWebhookPartner } from "../../support/webhook-partner.ts";
import { configOf, eventBytes, partnerConfig, startEngine, streamsOf, type TestEngine } from "./engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(async () => server.stop());

const timeoutMs = 20_000;
let prefixes = 0;
interface Cleanup {
  readonly onTestFinished: (cleanup: () => Promise<void>) => void;
}

async function caseOf(
  { onTestFinished }: Cleanup,
  partners: readonly PartnerConfig[] = [],
): Promise<TestEngine & { readonly prefix: string }> {
  prefixes += 1;
  const prefix = `w${prefixes}`;
  const engine = await startEngine(server.url, configOf(...partners), { settings: streamsOf(prefix) });
  onTestFinished(engine.stop);
  return { ...engine, prefix };
}

/** Posts as a client of tenant acme. */
function poster({ onTestFinished }: Cleanup, { engine }: TestEngine, caller: Partial<Caller> = {}) {
  const app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    now: Date.now,
    authenticate: async (authorization) => ({
      ...anonymous,
      client: authorization ?? "",
      tenants: ["acme"],
      scopes: ["events:write", "webhooks:replay"],
      ...caller,
    }),
    routes: [...eventRoutes(engine), ...webhookRoutes(engine)],
  });
  onTestFinished(async () => app.close());
  return async (url: string, payload: string, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await app.inject({
      method: "POST",
      url,
      payload,
      headers: { "content-type": "application/json", authorization: "a", ...headers },
    });
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: answer.json<Readonly<Record<string, unknown>>>(),
    };
  };
}

describe.concurrent("a batch over HTTP", () => {
  test("has a result per event, stores what is good and byte for byte", async (context) => {
    const it = await caseOf(context);
    const post = poster(context, it);
    const odd =
      '{ "event_id":"e-2","type":"a.b" , ' +
      '"version":"2026-01-01","ts":"2026-01-01T00:00:00.000Z","tenant":"acme","data":{"n":1.50}}';
    const others = [eventBytes("e-4", { tenant: "other" }), eventBytes("e-5", { data: { email: "a@b.example" } })];
    const batch = `[${eventBytes("e-1").toString()}, ${odd} ,{"event_id":"e-3"},${others.map(String).join(",")}]`;
    const { status, body } = await post("/events", batch);
    expect(status).toBe(207);
    expect(body).toMatchObject({
      results: [
        { status: 202, event_id: "e-1", tenant: "acme", duplicate: false },
        { status: 202, event_id: "e-2", duplicate: false },
        { status: 422, error: { code: "invalid_envelope" } },
        { status: 403, error: { code: "tenant_forbidden" } },
        { status: 422, error: { code: "personal_data", errors: [{ field: "data.email" }] } },
      ],
    });
    const stored = await it.nats.manager.streams.getMessage(`${it.prefix.toUpperCase()}_EVENTS`, { seq: 2 });
    expect([odd, eventBytes("e-1").toString()]).toContain(Buffer.from(stored?.data ?? []).toString());
    expect(await post("/events", `[${eventBytes("e-1").toString()}]`)).toMatchObject({
      status: 202,
      body: { results: [{ status: 202, duplicate: true }] },
    });
  });

  test.each([
    ["no end", "[{}", "invalid_json"],
    ["nothing in it", "[]", "invalid_request"],
  ])("with %s is refused", async (_, text, code) => {
    const cleanups: (() => Promise<void>)[] = [];
    const context = { onTestFinished: (cleanup: () => Promise<void>) => void cleanups.push(cleanup) };
    const it = await caseOf(context);
    expect(await poster(context, it)("/events", text)).toMatchObject({ status: 400, body: { code } });
    await Promise.all(cleanups.map((cleanup) => cleanup()));
  });
});

describe.concurrent("a CloudEvent over HTTP", () => {
  const attributes = {
    specversion: "1.0",
    source: "/billing",
    type: "payout.processed",
    time: "2026-01-01T01:00:00+01:00",
    version: "2026-01-01",
  };
  const structuredType = { "content-type": "application/cloudevents+json; charset=UTF-8" };
  const data = { payout_id: "p-1" };
  const eventOf = (id: string, more: object = {}) => ({ ...attributes, id, data, ...more });
  const headersOf = (id: string) => {
    const names = Object.entries({ ...attributes, id }).map(([name, value]) => [`ce-${name}`, value]);
    return Object.fromEntries(names) as Readonly<Record<string, string>>;
  };

  test("is stored once as an envelope in both modes, for the tenant of the token", async (context) => {
    const it = await caseOf(context);
    const post = poster(context, it);
    const structured = await post("/events", JSON.stringify(eventOf("e-1")), structuredType);
    expect(structured).toMatchObject({ status: 202, body: { event_id: "e-1", tenant: "acme", duplicate: false } });
    expect(await post("/events", JSON.stringify(data), headersOf("e-1"))).toMatchObject({
      status: 202,
      body: { event_id: "e-1", duplicate: true },
    });
    const stored = await it.nats.manager.streams.getMessage(`${it.prefix.toUpperCase()}_EVENTS`, { seq: 1 });
    expect(Buffer.from(stored?.data ?? []).toString()).toBe(
      '{"event_id":"e-1","type":"payout.processed","version":"2026-01-01","ts":"2026-01-01T00:00:00.000Z",' +
        '"producer":"/billing","tenant":"acme","data":{"payout_id":"p-1"}}',
    );
    const other = JSON.stringify(eventOf("e-1", { source: "/other" }));
    expect(await post("/events", other, structuredType)).toMatchObject({
      status: 409,
      body: { code: "event_id_reused" },
    });
    const foreign = JSON.stringify(eventOf("e-2", { tenant: "zeta" }));
    expect(await post("/events", foreign, structuredType)).toMatchObject({ status: 403 });
  });

  test("in a batch has a result of its own", async (context) => {
    const it = await caseOf(context);
    const batch = [eventOf("e-1"), eventOf("e-2", { source: 5 }), eventOf("e-3", { data: { email: "a@b.example" } })];
    const type = { "content-type": "application/cloudevents-batch+json" };
    expect(await poster(context, it)("/events", JSON.stringify(batch), type)).toMatchObject({
      status: 207,
      body: {
        results: [
          { status: 202, event_id: "e-1" },
          { status: 422, error: { code: "invalid_envelope", errors: [{ field: "source" }] } },
          { status: 422, error: { code: "personal_data", errors: [{ field: "data.email" }] } },
        ],
      },
    });
  });

  test("in binary mode is another request if a header differs, for its Idempotency-Key", async (context) => {
    const post = poster(context, await caseOf(context));
    const key = { "idempotency-key": "k-1" };
    expect(await post("/events", "{}", { ...headersOf("e-1"), ...key })).toMatchObject({ status: 202 });
    const again = await post("/events", "{}", { ...headersOf("e-1"), ...key });
    expect(again.headers["idempotency-replayed"]).toBe("true");
    expect(await post("/events", "{}", { ...headersOf("e-2"), ...key })).toMatchObject({
      status: 422,
      body: { code: "idempotency_key_reused" },
    });
  });

  test.each([
    ["/events", "application/cloudevents+xml"],
    ["/events", "application/vnd.acme+json"],
    ["/webhooks/replay", "application/cloudevents+json"],
  ])("at %s as %s is 415", async (url, type) => {
    const cleanups: (() => Promise<void>)[] = [];
    const context = { onTestFinished: (cleanup: () => Promise<void>) => void cleanups.push(cleanup) };
    const post = poster(context, await caseOf(context));
    expect(await post(url, JSON.stringify(eventOf("e-1")), { "content-type": type })).toMatchObject({
      status: 415,
      body: { code: "unsupported_media_type" },
    });
    await Promise.all(cleanups.map((cleanup) => cleanup()));
  });
});

describe.concurrent("a dry run", () => {
  const scopes = ["events:write", "webhooks:read"];
  const text = eventBytes("e-1").toString();

  test("names who would get the event and why others would not, and stores nothing", async (context) => {
    const paused = { ...partnerConfig("paused", "https://a.example"), state: "Paused" as const };
    const other = partnerConfig("other", "https://b.example", {
      subscriptions: [{ name: "kyc", types: ["kyc.*"], tenants: ["*"] }],
    });
    const it = await caseOf(context, [partnerConfig("one", "https://c.example"), paused, other]);
    const post = poster(context, it, { scopes });
    const key = { "idempotency-key": "k-1" };
    const first = await post("/events?dry_run=true", text, key);
    expect(first).toMatchObject({
      status: 200,
      body: {
        dry_run: true,
        event_id: "e-1",
        tenant: "acme",
        duplicate: false,
        declaration: { state: "Undeclared", sunset_at: null },
        explanation: {
          evaluated: "now",
          partners: [
            { partner: "default/one", routed: false, reason: "would_be_routed", state: null },
            { partner: "default/other", reason: "type", subscription: "kyc" },
            { partner: "default/paused", reason: "would_be_routed", state: "paused" },
          ],
        },
      },
    });
    const page = await post("/events?dry_run=true&limit=1&cursor=default/one", text);
    expect(page.body["explanation"]).toMatchObject({
      partners: [{ partner: "default/other" }],
      cursor: "default/other",
    });
    const { state } = await it.nats.manager.streams.info(`${it.prefix.toUpperCase()}_EVENTS`);
    expect(state.messages).toBe(0);
    // The key is still free for the event itself.
    expect(await post("/events", text, key)).toMatchObject({ status: 202, body: { duplicate: false } });
    expect((await post("/events?dry_run=true", text)).body).toMatchObject({
      duplicate: true,
      explanation: {
        partners: [
          { partner: "default/one", reason: "duplicate", state: null },
          { partner: "default/other", reason: "type" },
          { partner: "default/paused", reason: "duplicate", state: null },
        ],
      },
    });
    const changed = eventBytes("e-1", { data: { changed: true } }).toString();
    expect(await post("/events?dry_run=true", changed)).toMatchObject({
      status: 409,
      body: { code: "event_id_reused" },
    });
  });

  test("shows partners only to tokens that may read events, and only theirs", async (context) => {
    const it = await caseOf(context, [
      partnerConfig("one", "https://a.example"),
      partnerConfig("two", "https://b.example"),
    ]);
    const writer = await poster(context, it)("/events?dry_run=true", text);
    expect(writer).toMatchObject({ status: 200, body: { event_id: "e-1", explanation: null } });
    const narrowed = await poster(context, it, { scopes, partners: ["default/two"] })("/events?dry_run=true", text);
    expect(narrowed.body["explanation"]).toMatchObject({ partners: [{ partner: "default/two" }] });
    const reader = await poster(context, it, { scopes: ["webhooks:read"] })("/events?dry_run=true", text);
    expect(reader).toMatchObject({ status: 403, body: { code: "scope_missing" } });
    const required = createPublicServer({
      log: pino({ level: "silent" }),
      observe: () => undefined,
      now: Date.now,
      authenticate: async () => ({ ...anonymous, client: "c", tenants: ["acme"], scopes }),
      routes: eventRoutes(it.engine, "Required"),
    });
    context.onTestFinished(async () => required.close());
    const headers = { "content-type": "application/json", authorization: "a" };
    const response = await required.inject({ method: "POST", url: "/events?dry_run=true", payload: text, headers });
    expect(response.json()).toMatchObject({ event_id: "e-1", explanation: null });
  });

  test("accepts CloudEvents in both modes, and rejects what ingest rejects", async (context) => {
    const it = await caseOf(context, [partnerConfig("one", "https://a.example")]);
    const post = poster(context, it, { scopes });
    const event = {
      specversion: "1.0",
      id: "c-1",
      source: "/billing",
      type: "payout.processed",
      time: "2026-01-01T00:00:00Z",
      version: "2026-01-01",
    };
    const structured = { "content-type": "application/cloudevents+json" };
    const binary = Object.fromEntries(Object.entries(event).map(([name, value]) => [`ce-${name}`, value]));
    for (const [body, headers] of [
      [JSON.stringify({ ...event, data: {} }), structured],
      ["{}", binary],
    ] as const) {
      expect(await post("/events?dry_run=true", body, headers)).toMatchObject({
        status: 200,
        body: { event_id: "c-1", explanation: { partners: [{ reason: "would_be_routed" }] } },
      });
    }
    const bad = await post("/events?dry_run=true", JSON.stringify({ ...event, source: 5 }), structured);
    expect(bad).toMatchObject({ status: 422, body: { code: "invalid_envelope", errors: [{ field: "source" }] } });
    const foreign = eventBytes("e-1", { tenant: "zeta" }).toString();
    expect(await post("/events?dry_run=true", foreign)).toMatchObject({
      status: 403,
      body: { code: "tenant_forbidden" },
    });
  });

  test("is not a stored event by mistake", async (context) => {
    const it = await caseOf(context);
    const post = poster(context, it, { scopes });
    for (const query of ["dryRun=All", "dry-run=true", "DRYRUN=1", "dry_run=yes", "dry_run=true&prtner=default/one"])
      expect(await post(`/events?${query}`, text)).toMatchObject({ status: 400 });
    for (const [name, value] of Object.entries({ partner: "default/one", limit: "1", cursor: "default/a" }))
      expect(await post(`/events?${name}=${value}`, text)).toMatchObject({
        status: 400,
        body: { errors: [{ field: name }] },
      });
    expect(await post("/events?dry_run=true", `[${text}]`)).toMatchObject({
      status: 400,
      body: { errors: [{ field: "dry_run" }] },
    });
    const { state } = await it.nats.manager.streams.info(`${it.prefix.toUpperCase()}_EVENTS`);
    expect(state.messages).toBe(0);
    expect(await post("/events?dry_run=false", text)).toMatchObject({ status: 202 });
  });
});

describe.concurrent("an Idempotency-Key", () => {
  test("returns the same response to the same request, and refuses another body", async (context) => {
    const it = await caseOf(context);
    const post = poster(context, it);
    const replay = JSON.stringify({ event_ids: ["e-1"] });
    const key = { "idempotency-key": "k-1" };
    const first = await post("/webhooks/replay", replay, key);
    const again = await post("/webhooks/replay", replay, key);
    expect([first.status, again.status]).toEqual([202, 202]);
    expect(again.body).toEqual(first.body);
    expect(again.headers["idempotency-replayed"]).toBe("true");
    expect(await post("/webhooks/replay", JSON.stringify({ event_ids: ["e-2"] }), key)).toMatchObject({
      status: 422,
      body: { code: "idempotency_key_reused" },
    });
    const other = await post("/webhooks/replay", replay, { ...key, authorization: "b" });
    expect(other.body["replay_id"]).not.toBe(first.body["replay_id"]);
  });

  test("of a request that is running is 409, and of one that was refused is free again", async (context) => {
    const it = await caseOf(context);
    const post = poster(context, it);
    const body = Buffer.from('{"event_ids":["e-1"]}');
    expect(await it.engine.idempotencyKeys.claim("a\nPOST\n/webhooks/replay\nk-2", body)).toEqual({ kind: "first" });
    const busy = await post("/webhooks/replay", body.toString(), { "idempotency-key": "k-2" });
    expect([busy.status, busy.body["code"], busy.headers["retry-after"]]).toEqual([409, "idempotency_key_in_use", "1"]);
    const key = { "idempotency-key": "k-3" };
    expect((await post("/webhooks/replay", "{}", key)).status).toBe(400);
    expect((await post("/webhooks/replay", body.toString(), key)).status).toBe(202);
    expect((await post("/webhooks/replay", body.toString(), { "idempotency-key": "two words" })).status).toBe(400);
  });
});

describe.concurrent("a declared type", () => {
  test("rejects data that breaks its schema on every way in, before anything is stored", async (context) => {
    const it = await caseOf(context);
    const version = {
      version: "2026-01-01",
      schema: {
        type: "object",
        required: ["payout_id"],
        properties: { amount_minor: { type: "integer", minimum: 0 } },
      },
      examples: [],
      state: "Active" as const,
    };
    const type = { type: "payout.processed", description: "Sent.", sensitive: [] };
    const origin = { uid: "u-1", namespace: "shop", name: "payouts", generation: 1, specDigest: "" };
    const withoutRule = { ...version, schema: { type: "object" } };
    const declared = (one: Omit<typeof version, "schema"> & { readonly schema: object }) => ({
      ...configOf(),
      eventCatalogs: [
        { ...origin, owner: "team", types: [{ ...type, versions: [{ ...one, schema: { ...one.schema } }] }] },
      ],
    });
    it.engine.apply(declared({ ...version, schema: { ...version.schema, required: [] } }));
    const post = poster(context, it);
    const bad = (id: string) => eventBytes(id, { data: { amount_minor: -1 } });
    const error = {
      code: "invalid_data",
      errors: [{ field: "data.amount_minor", detail: "/data/amount_minor must be at least 0" }],
    };
    expect(await post("/events", bad("e-1").toString())).toMatchObject({ status: 422, body: error });
    expect(await post("/events", `[${eventBytes("e-2").toString()},${bad("e-3").toString()}]`)).toMatchObject({
      status: 207,
      body: { results: [{ status: 202 }, { status: 422, error }] },
    });
    const reply = await it.nats.connection.request(`${it.prefix}.in.acme`, bad("e-4"), { timeout: timeoutMs });
    expect(reply.json()).toMatchObject({ status: 422, error });
    const { state } = await it.nats.manager.streams.info(`${it.prefix.toUpperCase()}_EVENTS`);
    expect(state.messages).toBe(1);
    it.engine.apply(declared(withoutRule));
    expect(await post("/events", bad("e-1").toString())).toMatchObject({ status: 202 });
  });

  test("does not reject the repetition of an event that was stored before the edit", async (context) => {
    const it = await caseOf(context);
    const origin = { uid: "u-1", namespace: "shop", name: "payouts", generation: 1, specDigest: "", owner: "team" };
    const versions = (change: object) => [
      { version: "2026-01-01", schema: { type: "object" }, examples: [], state: "Active" as const, ...change },
    ];
    const declared = (change: object) => ({
      ...configOf(),
      eventCatalogs: [
        {
          ...origin,
          types: [{ type: "payout.processed", description: "Sent.", sensitive: [], versions: versions(change) }],
        },
      ],
    });
    it.engine.apply(declared({}));
    const post = poster(context, it);
    const stored = eventBytes("e-1").toString();
    expect(await post("/events", stored)).toMatchObject({ status: 202 });
    it.engine.apply(declared({ state: "Deprecated", deprecatedAtMs: 1, sunsetAtMs: 2 }));
    const retired = { status: 422, body: { code: "version_retired" } };
    expect(await post("/events", eventBytes("e-2").toString())).toMatchObject(retired);
    // The response to the first request may have been lost.
    expect(await post("/events", stored)).toMatchObject({ status: 202, body: { duplicate: true } });
    expect(await post("/events", `[${stored}]`)).toMatchObject({ body: { results: [{ status: 202 }] } });
    const reply = await it.nats.connection.request(`${it.prefix}.in.acme`, stored, { timeout: timeoutMs });
    expect(reply.json()).toMatchObject({ status: 202, duplicate: true });
    expect(await post("/events", eventBytes("e-1", { data: {} }).toString())).toMatchObject(retired);
  });
});

describe.concurrent("an event on a NATS subject", () => {
  test("is stored, answered and delivered as over HTTP, for the tenant of its subject alone", async (context) => {
    const partner = await startWebhookPartner();
    context.onTestFinished(() => partner.close());
    const it = await caseOf(context, [partnerConfig("one", partner.url)]);
    const ask = async (tenant: string, payload: Buffer | string): Promise<unknown> => {
      const answer = await it.nats.connection.request(`${it.prefix}.in.${tenant}`, payload, { timeout: timeoutMs });
      return answer.json();
    };
    expect(await ask("acme", eventBytes("e-1"))).toEqual({
      status: 202,
      event_id: "e-1",
      tenant: "acme",
      duplicate: false,
    });
    expect(await ask("acme", eventBytes("e-1"))).toMatchObject({ status: 202, duplicate: true });
    expect(await ask("acme", eventBytes("e-1", { data: {} }))).toMatchObject({
      status: 409,
      error: { code: "event_id_reused" },
    });
    expect(await ask("other", eventBytes("e-2"))).toMatchObject({ status: 403, error: { code: "tenant_forbidden" } });
    expect(await ask("acme", eventBytes("e-3", { data: { iban: "x" } }))).toMatchObject({
      status: 422,
      error: { code: "personal_data", errors: [{ field: "data.iban" }] },
    });
    expect(await ask("acme", `[${eventBytes("e-4").toString()},{}]`)).toMatchObject({
      results: [{ status: 202 }, { status: 422 }],
    });
    it.nats.connection.publish(`${it.prefix}.in.acme`, eventBytes("e-5"));
    for (const id of ["e-1", "e-4", "e-5"]) await waitFor(() => partner.of(id)[0], { timeoutMs, what: id });
    expect(partner.of("e-2")).toEqual([]);
  });

  test("may be a CloudEvent in each mode, with the mapping and the errors of HTTP", async (context) => {
    const it = await caseOf(context);
    const attributes = {
      specversion: "1.0",
      source: "/b",
      type: "a.b",
      time: "2026-01-01T00:00:00Z",
      version: "2026-01-01",
    };
    const send = async (names: Readonly<Record<string, string>>, payload: string): Promise<unknown> => {
      const own = newHeaders();
      for (const [name, value] of Object.entries(names)) own.set(name, value);
      const options = { timeout: timeoutMs, headers: own };
      return (await it.nats.connection.request(`${it.prefix}.in.acme`, payload, options)).json();
    };
    const structured = { "Content-Type": "application/cloudevents+json; charset=UTF-8" };
    const event = JSON.stringify({ ...attributes, id: "n-1", subject: "Zürich", data: {} });
    expect(await send(structured, event)).toMatchObject({ status: 202, event_id: "n-1", tenant: "acme" });
    const binary = (id: string, more: object = {}) =>
      Object.fromEntries(Object.entries({ ...attributes, id, ...more }).map(([name, value]) => [`ce-${name}`, value]));
    expect(await send(binary("n-1", { subject: "Z%C3%BCrich" }), "{}")).toMatchObject({ status: 202, duplicate: true });
    expect(await send({ ...binary("n-2"), "Content-Type": "application/json" }, "{}")).toMatchObject({ status: 202 });
    expect(await send(binary("n-7", { datacontenttype: "application/json" }), "{}")).toMatchObject({ status: 202 });
    expect(await send(binary("n-8", { datacontenttype: "text/plain" }), "{}")).toMatchObject({ status: 422 });
    expect(await send(binary("n-3", { time: "2026-01-01T24:00:60Z" }), "{}")).toMatchObject({
      status: 422,
      error: { code: "invalid_envelope", errors: [{ field: "time" }] },
    });
    expect(await send(binary("n-4", { tenant: "zeta" }), "{}")).toMatchObject({ status: 403 });
    const batch = { "content-type": "application/cloudevents-batch+json" };
    expect(await send(batch, `[${event},{}]`)).toMatchObject({
      results: [{ status: 202, duplicate: true }, { status: 422 }],
    });
    expect(await send({ "content-type": "application/cloudevents+xml" }, event)).toMatchObject({ status: 415 });
    expect(await send({ "content-type": "text/plain" }, eventBytes("n-5").toString())).toMatchObject({ status: 202 });
  });

  test("that is refused and has no reply subject is logged", async (context) => {
    const it = await caseOf(context);
    it.nats.connection.publish(`${it.prefix}.in.acme`, "{}");
    const line = await waitFor(() => it.lines.find(({ message }) => message.includes("without a reply subject")), {
      timeoutMs,
      what: "the line",
    });
    expect(line.fields).toMatchObject({ code: "invalid_envelope", tenant: "acme" });
  });
});
