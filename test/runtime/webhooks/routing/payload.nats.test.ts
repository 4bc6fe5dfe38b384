import { createHash } from "node:crypto";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SubscriptionConfig } from "../../../../crds/config.ts";
import { anonymous, type Route } from "../../../../runtime/http/server/route.ts";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import { webhookRoutes } from "../../../../runtime/http/routes/webhooks.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import type { ReceivedDelivery } from "../../../support/webhook-partner.ts";
import { engineCase, partnerServer, type Cleanup, type EngineCase } from "../engine-cases.ts";
import { configOf, eventBytes, partnerConfig } from "../engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(async () => server.stop());

const timeoutMs = 20_000;
const secret = "excluded-5ecre7";
const ofPartner = { client: "partner", tenants: ["acme"], partners: ["default/one"] };
const everyone = { client: "support", tenants: ["*"] };
const json = (body: object): Buffer => Buffer.from(JSON.stringify(body));

function subscription(
  name: string,
  order: number,
  more: Partial<NonNullable<SubscriptionConfig["selects"]>>,
): SubscriptionConfig {
  return { name, types: ["**"], tenants: ["*"], selects: { producers: [], order, ...more } };
}

const paid = [{ pointer: "/data/state", op: "Equal" as const, value: "paid" }];
const hidden = [{ exclude: ["/data/margin", "/data/owner/fee"] }];
const data = { state: "paid", margin: secret, owner: { fee: secret, id: 7 } };
const dataSent = { state: "paid", owner: { id: 7 } };

/** The responses of all routes that read, to a token of one partner. */
async function readsOf(
  { onTestFinished }: Cleanup,
  { engine }: EngineCase,
  eventId: string,
): Promise<readonly string[]> {
  const routes = webhookRoutes(engine);
  const app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    now: Date.now,
    authenticate: async () => ({ ...anonymous, ...ofPartner, scopes: routes.flatMap(({ scopes }) => scopes) }),
    routes,
  });
  onTestFinished(async () => app.close());
  const replays = (await engine.replays.list({ limit: 9 }, everyone)).items.map(({ replay_id: id }) => id);
  const urls = routes
    .filter(({ method }: Route) => method === "GET")
    .map(({ path }) => pathOf(path, eventId, replays[0]));
  const bodies = await Promise.all(urls.map(async (url) => (await app.inject({ url })).body));
  return bodies;
}

function pathOf(path: string, eventId: string, replayId = "none"): string {
  return path
    .replace(":namespace/:name", "default/one")
    .replace("/replay/:id", `/replay/${replayId}`)
    .replace(":id", eventId);
}

type History = Awaited<ReturnType<EngineCase["engine"]["history"]["event"]>>;

const textOf = (history: History): string => Buffer.from(history?.event ?? []).toString();
const deliveryOf = (history: History, partner: string) => history?.deliveries.find((one) => one.partner === partner);
const firstOf = (history: History) => deliveryOf(history, "default/one")?.attempts[0];
const bodiesOf = (received: readonly ReceivedDelivery[]) => received.map(({ body }) => body.toString());

/** Waits for the state of the delivery to the partner. */
async function untilState({ engine }: EngineCase, state: string): Promise<void> {
  const look = async () => deliveryOf(await engine.history.event("e-1", ["*"]), "default/one")?.state === state;
  await waitFor(look, { timeoutMs, what: state });
}

describe.concurrent("a partner that gets a part of its events", () => {
  test("gets the same bytes at first, in retries, in a replay of the event and in one of its dead letter", async (context) => {
    const answers = [500, 422, 200, 200];
    const partner = await partnerServer(context, () => ({ status: answers.shift() ?? 200 }));
    const other = await partnerServer(context);
    const it = await engineCase(
      server.url,
      context,
      configOf(
        partnerConfig("one", partner.url, {
          subscriptions: [subscription("z", 0, { matchers: paid, payload: hidden }), subscription("a", 1, {})],
        }),
        partnerConfig("two", other.url),
      ),
    );
    await it.ingest(eventBytes("e-1", { data }));
    await untilState(it, "rejected");
    const letters = async () => (await it.engine.deadLetters.list({ afterSeq: 0, limit: 9 }, everyone)).items;
    await waitFor(async () => (await letters()).length === 1, { timeoutMs, what: "the list of dead letters" });
    await it.engine.replays.redrive(json({ partner: "default/one" }), everyone);
    await untilState(it, "delivered");
    await it.engine.replays.replay(json({ event_ids: ["e-1"], partners: ["default/one"] }), everyone);
    await waitFor(() => partner.of("e-1").length === 4, { timeoutMs, what: "the replay" });
    const sent = eventBytes("e-1", { data: dataSent }).toString();
    const expected = [1, 2, 3, 4].map((attempt) => sent.replace(/\}$/u, `,"attempt":${attempt}}`));
    expect(bodiesOf(partner.of("e-1"))).toEqual(expected);
    expect(bodiesOf(other.of("e-1")).join()).toContain(`"margin":"${secret}"`);

    const reads = await readsOf(context, it, "e-1");
    expect(reads.length).toBeGreaterThan(8);
    expect(reads.join("\n")).not.toContain(secret);
    expect(reads.join("\n")).not.toContain("/data/margin");
    const [own, all] = [
      await it.engine.history.event("e-1", ["*"], ofPartner),
      await it.engine.history.event("e-1", ["*"]),
    ];
    expect([textOf(own), textOf(all)]).toEqual([sent, eventBytes("e-1", { data }).toString()]);
    // The signed text is that of the bytes that were sent.
    const digest = createHash("sha256")
      .update(expected[0] ?? "")
      .digest("hex");
    expect([own, all].map((one) => firstOf(one)?.signed?.canonical?.split("\n").at(-1))).toEqual([digest, digest]);
    expect([own, all].map((one) => firstOf(one)?.request?.payload)).toEqual([undefined, hidden]);
  });

  test("gets the whole event by the first subscription that matches, and none that no matcher selects", async (context) => {
    const partner = await partnerServer(context);
    const narrow = await partnerServer(context);
    const it = await engineCase(
      server.url,
      context,
      configOf(
        partnerConfig("one", partner.url, {
          subscriptions: [subscription("z", 0, { matchers: paid, payload: hidden }), subscription("a", 1, {})],
        }),
        partnerConfig("two", narrow.url, { subscriptions: [subscription("b", 0, { matchers: paid })] }),
      ),
    );
    await it.ingest(eventBytes("e-1", { data: { ...data, state: "open" } }));
    await it.ingest(eventBytes("e-2", { data }));
    await waitFor(() => partner.of("e-1").length + partner.of("e-2").length + narrow.of("e-2").length === 3, {
      timeoutMs,
      what: "the deliveries",
    });
    expect(partner.of("e-1")[0]?.body.toString()).toContain(secret);
    expect(partner.of("e-2")[0]?.body.toString()).not.toContain(secret);
    expect(narrow.of("e-1")).toEqual([]);
    expect((await it.engine.history.event("e-1", ["*"]))?.deliveries.map((one) => one.partner)).toEqual([
      "default/one",
    ]);
    expect(await it.engine.history.event("e-1", ["*"], { partners: ["default/two"] })).toBeUndefined();
  });

  test("keeps the bytes of a delivery under way through an edit, and shows its token no more than the edit permits", async (context) => {
    let status = 500;
    const partner = await partnerServer(context, () => ({ status }));
    const config = (...selects: readonly Partial<NonNullable<SubscriptionConfig["selects"]>>[]) =>
      configOf(
        partnerConfig("one", partner.url, {
          subscriptions: selects.map((one, order) => subscription(`s${order}`, order, one)),
          signing: { scheme: "StandardWebhooks", keys: [{ id: "k1", material: "default/partner-key/secret" }] },
        }),
      );
    const it = await engineCase(server.url, context, config({ payload: [{ exclude: ["/data/owner"] }] }));
    await it.ingest(eventBytes("e-1", { data }));
    await waitFor(() => partner.of("e-1").length === 1, { timeoutMs, what: "the first attempt" });
    it.engine.apply(config({ payload: [{ include: ["/data/state"] }] }), "ffff");
    status = 200;
    await waitFor(() => partner.of("e-1").length === 2, { timeoutMs, what: "the retry" });
    await untilState(it, "delivered");
    const before = eventBytes("e-1", { data: { state: "paid", margin: secret } }).toString();
    expect(bodiesOf(partner.of("e-1"))).toEqual([1, 2].map((n) => before.replace(/\}$/u, `,"attempt":${n}}`)));
    const own = await it.engine.history.event("e-1", ["*"], ofPartner);
    const after = eventBytes("e-1", { data: { state: "paid" } }).toString();
    expect(textOf(own)).toBe(after);
    expect(JSON.stringify(own?.deliveries)).not.toContain(secret);
    expect(firstOf(own)?.signed?.canonical_reason).toBe("part_hidden");
    await it.engine.replays.replay(json({ event_ids: ["e-1"] }), everyone);
    await waitFor(() => partner.of("e-1").length === 3, { timeoutMs, what: "the replay" });
    expect(bodiesOf(partner.of("e-1"))[2]).toBe(after.replace(/\}$/u, ',"attempt":3}'));
  });
});
