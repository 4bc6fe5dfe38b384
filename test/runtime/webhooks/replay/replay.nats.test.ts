import type { DryRun, Replay } from "../../../../api/replays.ts";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import { createLayout } from "../../../../runtime/nats/layout.ts";
import type { DeadLetterPage } from "../../../../runtime/webhooks/replay/dead-letter-overview.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import {
  startWebhookPartner,
  type PartnerAnswer,
  type ReceivedDelivery,
  type WebhookPartnerServer,
} from "../../../support/webhook-partner.ts";
import {
  configOf,
  eventBytes,
  partnerConfig,
  startEngine,
  streamsOf,
  type PartnerOverrides,
  type TestEngine,
} from "../engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(async () => server.stop());

const timeoutMs = 20_000;
const everyone = { client: "support", tenants: ["*"] };
const ofAcme = { client: "acme-support", tenants: ["acme"] };
const ofOther = { client: "other-support", tenants: ["other"] };
let prefixes = 0;

type Cleanup = Pick<TestContext, "onTestFinished">;
const json = (body: object): Buffer => Buffer.from(JSON.stringify(body));

interface Case extends TestEngine {
  readonly partner: WebhookPartnerServer;
}

/** An engine with one partner, `default/one`. */
async function caseOf(
  { onTestFinished }: Cleanup,
  answer?: (delivery: ReceivedDelivery) => PartnerAnswer,
  overrides: PartnerOverrides = {},
): Promise<Case> {
  prefixes += 1;
  const prefix = `r${prefixes}`;
  const partner = await startWebhookPartner(answer);
  onTestFinished(() => partner.close());
  const config = configOf(partnerConfig("one", partner.url, overrides));
  const engine = await startEngine(server.url, config, { settings: streamsOf(prefix) });
  onTestFinished(engine.stop);
  return { ...engine, partner };
}

async function untilState({ engine }: TestEngine, eventId: string, state: string): Promise<void> {
  const look = async () => (await engine.history.event(eventId, ["*"]))?.deliveries[0]?.state === state || undefined;
  await waitFor(look, { timeoutMs, what: `${eventId} ${state}` });
}

/** Waits for dead letters, which are stored after the last attempt of their delivery. */
async function untilLetters({ engine }: TestEngine, count: number, attempts = 1): Promise<void> {
  const look = async () => {
    const { items } = await engine.deadLetters.list({ partner: "default/one", afterSeq: 0, limit: 50 }, everyone);
    return items.length === count && items.every((letter) => letter.attempts >= attempts);
  };
  await waitFor(look, { timeoutMs, what: `${count} dead letters after ${attempts} attempts` });
}

function replayed(answer: Replay | DryRun): Replay {
  if ("dry_run" in answer) throw new Error("a dry run");
  return answer;
}

function untilReplay({ engine }: TestEngine, id: string, wanted: Partial<Replay>): Promise<Replay> {
  const look = async () => {
    const answer = await engine.replays.get(id, everyone);
    return Object.entries(wanted).every(([name, value]) => answer[name as keyof Replay] === value) ? answer : undefined;
  };
  return waitFor(look, { timeoutMs, what: `the replay ${JSON.stringify(wanted)}` });
}

describe.concurrent("a replay by ids", () => {
  test("delivers again with the same event id, a replay mark and the next attempt numbers (Webhook Event Delivery §4.2)", async (context) => {
    const it = await caseOf(context);
    await it.ingest(eventBytes("e-1"));
    await untilState(it, "e-1", "delivered");
    const { replay_id: id, status } = replayed(
      await it.engine.replays.replay(json({ event_ids: ["e-1", "e-2", "e-1"] }), ofAcme),
    );
    expect(status).toBe("queued");
    const done = await untilReplay(it, id, { status: "completed", delivered: 1 });
    expect(done).toMatchObject({ matched: 1, missing: 1, published: 1, failed: 0, in_progress: 0, too_old: 0 });
    const [first, second] = it.partner.of("e-1");
    expect([first?.attempt, second?.attempt]).toEqual([1, 2]);
    expect(second?.headers).toMatchObject({ "x-webhook-replay": id, "x-event-id": "e-1", "x-attempt": "2" });
    const history = await it.engine.history.event("e-1", ["acme"]);
    expect(history?.deliveries[0]?.attempts.map(({ attempt, replay_id }) => [attempt, replay_id])).toEqual([
      [1, null],
      [2, id],
    ]);
  });

  test("is listed with who asked for what, beside the redrives, the newest first", async (context) => {
    const it = await caseOf(context, () => ({ status: 404 }));
    await it.ingest(eventBytes("e-1"));
    await untilLetters(it, 1);
    const first = replayed(await it.engine.replays.replay(json({ event_ids: ["e-1"], types: ["payout.*"] }), ofAcme));
    await untilReplay(it, first.replay_id, { status: "completed", failed: 1 });
    await untilLetters(it, 1, 2);
    const second = replayed(await it.engine.replays.redrive(json({ partner: "default/one" }), everyone));
    await untilReplay(it, second.replay_id, { status: "completed", failed: 1 });
    const listed = await it.engine.replays.list({ limit: 50 }, everyone);
    expect(listed.items).toMatchObject([
      { replay_id: second.replay_id, kind: "redrive", requested_by: "support", filter: { partners: ["default/one"] } },
      {
        ...(await it.engine.replays.get(first.replay_id, everyone)),
        kind: "replay",
        requested_by: "acme-support",
        filter: { partners: [], types: ["payout.*"], only_failed: false },
        window: null,
        event_ids: 1,
        selected_partners: ["default/one"],
      },
    ]);
    expect(listed.items[0]).not.toHaveProperty("selected_partners");
    expect(await it.engine.replays.get(second.replay_id, everyone)).toEqual(listed.items[0]);
    expect((await it.engine.replays.list({ limit: 50 }, ofAcme)).items).toMatchObject([{ replay_id: first.replay_id }]);
    expect(await it.engine.replays.list({ limit: 50 }, ofOther)).toEqual({ items: [] });
  });

  test("is never dropped as a duplicate, also when repeated", async (context) => {
    const it = await caseOf(context);
    await it.ingest(eventBytes("e-1"));
    await untilState(it, "e-1", "delivered");
    for (let times = 1; times <= 3; times += 1) {
      const { replay_id: id } = replayed(await it.engine.replays.replay(json({ event_ids: ["e-1"] }), ofAcme));
      await untilReplay(it, id, { status: "completed", published: 1, delivered: 1 });
    }
    expect(it.partner.of("e-1").map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
  });

  test("skips deliveries in progress", async (context) => {
    const it = await caseOf(context, () => ({ status: 503 }), {
      retry: { scheduleSeconds: [600], maxAgeSeconds: 3_600, jitterPercent: 0 },
    });
    await it.ingest(eventBytes("e-1"));
    await waitFor(() => it.partner.of("e-1")[0], { timeoutMs, what: "the attempt" });
    const { replay_id: id } = replayed(await it.engine.replays.replay(json({ event_ids: ["e-1"] }), ofAcme));
    expect(await untilReplay(it, id, { status: "completed" })).toMatchObject({
      matched: 1,
      in_progress: 1,
      published: 0,
    });
    await it.ingest(eventBytes("sentinel"));
    await waitFor(() => it.partner.of("sentinel")[0], { timeoutMs, what: "the sentinel" });
    expect(it.partner.of("e-1")).toHaveLength(1);
  });

  test("includes events of the caller's tenants only, and is visible to callers with access to all of it", async (context) => {
    const it = await caseOf(context);
    await it.ingest(eventBytes("e-1"));
    await untilState(it, "e-1", "delivered");
    const { replay_id: id } = replayed(await it.engine.replays.replay(json({ event_ids: ["e-1"] }), ofOther));
    expect(await untilReplay(it, id, { status: "completed" })).toMatchObject({ matched: 0, missing: 1, published: 0 });
    await expect(it.engine.replays.get(id, ofAcme)).rejects.toMatchObject({ code: "replay_not_found" });
    await expect(it.engine.replays.cancel(id, ofAcme)).rejects.toMatchObject({ code: "replay_not_found" });
    expect((await it.engine.replays.get(id, ofOther)).replay_id).toBe(id);
  });
});

test("a replay that JetStream always refuses ends as failed, with a detail and one warning", async (context) => {
  const it = await caseOf(context);
  const stream = createLayout(`r${prefixes}`).streams.deliveries;
  await it.ingest(eventBytes("e-1"));
  await untilState(it, "e-1", "delivered");
  await it.nats.manager.streams.update(stream, { max_msg_size: 64 });
  const { replay_id: id, detail } = replayed(await it.engine.replays.replay(json({ event_ids: ["e-1"] }), ofAcme));
  const failed = await untilReplay(it, id, { status: "failed" });
  expect([detail, failed]).toMatchObject([
    null,
    { published: 0, detail: expect.stringContaining("e-1 to default/one: message size exceeds maximum") },
  ]);
  expect(it.lines.filter(({ fields }) => fields["replayId"] === id).map(({ level }) => level)).toEqual([
    "warn",
    "error",
  ]);
});

describe.concurrent("a replay of a window", () => {
  test("counts in a dry run, then publishes only failed deliveries, at its rate", async (context) => {
    const healed = new Set<string>();
    const it = await caseOf(context, (delivery) =>
      healed.size > 0 || delivery.eventId.startsWith("good") ? {} : { status: 404 },
    );
    const failed = Array.from({ length: 6 }, (_, index) => `bad-${index}`);
    for (const id of ["good-1", ...failed, "good-2"]) await it.ingest(eventBytes(id));
    await untilLetters(it, failed.length);
    await untilState(it, "good-2", "delivered");
    healed.add("all");
    const window = { from: new Date(Date.now() - 60_000).toISOString(), only_failed: true };
    const dry = await it.engine.replays.replay(json({ ...window, dry_run: true }), ofAcme);
    expect(dry).toEqual({ dry_run: true, matched: 6, in_progress: 0, too_old: 0, missing: 0, complete: true });
    await it.ingest(eventBytes("good-3"));
    await untilState(it, "good-3", "delivered");
    expect(it.partner.received).toHaveLength(9);
    const startedAtMs = performance.now();
    const { replay_id: id } = replayed(await it.engine.replays.replay(json({ ...window, rate_per_second: 4 }), ofAcme));
    expect(await untilReplay(it, id, { status: "completed", delivered: 6 })).toMatchObject({
      matched: 6,
      published: 6,
      failed: 0,
    });
    // One at once and four a second after it.
    expect(performance.now() - startedAtMs).toBeGreaterThan(750);
    await it.ingest(eventBytes("good-4"));
    await untilState(it, "good-4", "delivered");
    expect(it.partner.of("good-1")).toHaveLength(1);
    const left = await it.engine.deadLetters.list({ partner: "default/one", afterSeq: 0, limit: 50 }, ofAcme);
    expect(left.items).toEqual([]);
  });

  test("respects its types, partners and bounding ids", async (context) => {
    const it = await caseOf(context);
    for (const [id, type] of [
      ["e-1", "a.b"],
      ["e-2", "a.c"],
      ["e-3", "a.b"],
      ["e-4", "a.b"],
    ] as const)
      await it.ingest(eventBytes(id, { type }));
    await untilState(it, "e-4", "delivered");
    const count = async (body: object) =>
      (await it.engine.replays.replay(json({ ...body, dry_run: true }), ofAcme)).matched;
    const from = new Date(0).toISOString();
    expect(await count({ from })).toBe(4);
    expect(await count({ from, types: ["a.b"] })).toBe(3);
    expect(await count({ after_id: "e-1", before_id: "e-4" })).toBe(2);
    expect(await count({ after_id: "e-1", types: ["*.b"] })).toBe(2);
    expect(await count({ from, partners: ["default/one"] })).toBe(4);
    await expect(count({ from, partners: ["default/two"] })).rejects.toMatchObject({
      code: "partner_not_found",
      status: 404,
    });
    expect(await count({ from, to: new Date(1).toISOString() })).toBe(0);
    await expect(count({ after_id: "e-9" })).rejects.toMatchObject({
      code: "event_not_found",
      errors: [{ field: "after_id" }],
    });
  });

  test("ends when it is cancelled", async (context) => {
    const it = await caseOf(context);
    for (let index = 0; index < 40; index += 1) await it.ingest(eventBytes(`e-${index}`));
    await untilState(it, "e-39", "delivered");
    const { replay_id: id } = replayed(
      await it.engine.replays.replay(json({ from: new Date(0).toISOString(), rate_per_second: 2 }), ofAcme),
    );
    await waitFor(() => it.partner.received.length > 40 || undefined, {
      timeoutMs,
      what: "the first replayed delivery",
    });
    expect(await it.engine.replays.cancel(id, ofAcme)).toMatchObject({ status: "cancelled" });
    const { published } = await untilReplay(it, id, { status: "cancelled" });
    expect(published).toBeGreaterThan(0);
    expect(published).toBeLessThan(40);
  });
});

describe.concurrent("dead letters", () => {
  test("are listed by partner and reason in pages, to their own tenant only", async (context) => {
    const it = await caseOf(context, refusedBy({ "e-1": 404, "e-2": 422, "e-3": 404 }));
    for (const id of ["e-1", "e-2", "e-3"]) await it.ingest(eventBytes(id));
    await untilLetters(it, 3);
    const list = (more: object, caller = ofAcme): Promise<DeadLetterPage> =>
      it.engine.deadLetters.list({ partner: "default/one", afterSeq: 0, limit: 50, ...more }, caller);
    const ids = ({ items }: DeadLetterPage): readonly string[] => items.map(({ event_id }) => event_id).toSorted();
    expect(ids(await list({}))).toEqual(["e-1", "e-2", "e-3"]);
    expect((await list({ reason: "status_422" })).items).toMatchObject([
      {
        event_id: "e-2",
        tenant: "acme",
        partner: "default/one",
        state: "rejected",
        reason: "status_422",
        attempts: 1,
        replay_id: null,
      },
    ]);
    expect(ids(await list({}, ofOther))).toEqual([]);
    const first = await list({ limit: 2 });
    const second = await list({ limit: 2, afterSeq: first.nextSeq });
    expect([...ids(first), ...ids(second)].toSorted()).toEqual(["e-1", "e-2", "e-3"]);
    await expect(list({ partner: "default/nobody" })).rejects.toMatchObject({ code: "partner_not_found" });
  });

  test("are redriven and removed from the list", async (context) => {
    const healed = new Set<string>();
    const it = await caseOf(context, (delivery) => (healed.has(delivery.eventId) ? {} : { status: 404 }));
    for (const id of ["e-1", "e-2"]) await it.ingest(eventBytes(id));
    await untilLetters(it, 2);
    healed.add("e-1");
    const { replay_id: id } = replayed(await it.engine.replays.redrive(json({ partner: "default/one" }), ofAcme));
    await untilReplay(it, id, { status: "completed", matched: 2, published: 2, delivered: 1, failed: 1 });
    await untilState(it, "e-1", "delivered");
    const look = async () => {
      const { items } = await it.engine.deadLetters.list({ partner: "default/one", afterSeq: 0, limit: 50 }, ofAcme);
      return items.length === 1 && items[0]?.replay_id === id ? items : undefined;
    };
    expect(await waitFor(look, { timeoutMs, what: "the letter of the second end" })).toMatchObject([
      { event_id: "e-2", attempts: 2 },
    ]);
  });

  test("are acknowledged once, with a note in the history and a notification of the recipient", async (context) => {
    const it = await caseOf(context, ({ path }) => (path === "/webhooks/ack" ? { status: 204 } : { status: 404 }));
    const ackUrl = new URL("/webhooks/ack", it.partner.url).href;
    it.engine.apply(configOf(withAck(partnerConfig("one", it.partner.url), ackUrl)));
    await it.ingest(eventBytes("e-1"));
    await untilLetters(it, 1);
    const ack = json({ event_id: "e-1", partner: "default/one", note: "booked by hand" });
    await expect(it.engine.deadLetters.ack(ack, ofOther)).rejects.toMatchObject({ code: "dead_letter_not_found" });
    const answer = await it.engine.deadLetters.ack(ack, ofAcme);
    expect(answer).toEqual({
      event_id: "e-1",
      partner: "default/one",
      state: "delivered",
      handled: "manual",
      recipient: { status: 204, error: null },
    });
    expect((await it.engine.history.event("e-1", ["acme"]))?.deliveries).toMatchObject([
      { state: "delivered", handled: "manual", reason: null, acknowledged: { note: "booked by hand" } },
    ]);
    const told = it.partner.received.find(({ path }) => path === "/webhooks/ack");
    expect(JSON.parse(told?.body.toString() ?? "")).toMatchObject({ event_id: "e-1", note: "booked by hand" });
    expect(told?.headers).toMatchObject({
      "x-event-id": "e-1",
      "x-signature": expect.stringMatching(/^v1=/u) as string,
    });
    await expect(it.engine.deadLetters.ack(ack, ofAcme)).rejects.toMatchObject({ code: "dead_letter_not_found" });
  });
});

describe.concurrent("selected dead letters", () => {
  const list = async ({ engine }: Case, more: object = {}, caller = everyone) => {
    const { items } = await engine.deadLetters.list({ isNewestFirst: true, afterSeq: 0, limit: 50, ...more }, caller);
    return items.toSorted((a, b) => (a.event_id < b.event_id ? -1 : 1));
  };
  const idsIn = async (it: Case, more: object = {}, caller = everyone) =>
    (await list(it, more, caller)).map(({ event_id: id }) => id);

  /** Four dead letters of two reasons, two types and two tenants. */
  async function fourLetters(context: Cleanup, healed = new Set<string>()): Promise<Case> {
    const statuses = { "e-1": 404, "e-2": 422, "e-3": 404, "e-4": 404 };
    const refuse = refusedBy(statuses);
    const it = await caseOf(context, (delivery) => (healed.has(delivery.eventId) ? {} : refuse(delivery)));
    const events = { "e-1": {}, "e-2": {}, "e-3": { type: "payment.failed" }, "e-4": { tenant: "other" } };
    for (const [id, overrides] of Object.entries(events)) {
      await it.ingest(eventBytes(id, overrides));
      await untilLetters(it, Number(id.slice(2)));
    }
    return it;
  }

  test("are listed and counted by type, tenant and time, within the token", async (context) => {
    const it = await fourLetters(context);
    expect(await idsIn(it, { type: "payment.*" })).toEqual(["e-3"]);
    expect(await idsIn(it, { tenant: "other" })).toEqual(["e-4"]);
    expect(await idsIn(it, { tenant: "other" }, ofAcme)).toEqual([]);
    const third = (await list(it)).find(({ event_id: id }) => id === "e-3");
    const seq = Number(third?.dead_letter_id?.split("-")[0]);
    const at = (await it.engine.deadLetters.list({ isNewestFirst: false, afterSeq: seq - 1, limit: 1 }, everyone))
      .items;
    expect(at).toMatchObject([{ event_id: "e-3" }]);
    expect(await idsIn(it, { fromMs: Date.parse(third?.ended_at ?? "") })).toEqual(["e-3", "e-4"]);
    expect(await idsIn(it, { toMs: Date.parse(third?.ended_at ?? "") })).toEqual(["e-1", "e-2"]);
    const { counts } = await it.engine.deadLetters.counts({ type: "payout.*" }, "reason", everyone);
    expect(counts).toMatchObject([
      { partner: "*", reason: "status_404", count: 2, partners: 1 },
      { partner: "*", reason: "status_422", count: 1, partners: 1 },
    ]);
    const byType = await it.engine.deadLetters.counts({}, "type", ofAcme);
    expect(byType).toMatchObject({
      isComplete: true,
      counts: [
        { type: "payout.processed", count: 2 },
        { type: "payment.failed", count: 1 },
      ],
    });
  });

  test("are redriven by all filters, and by their ids alone", async (context) => {
    const healed = new Set<string>();
    const it = await fourLetters(context, healed);
    const selection = { reason: "status_404", types: ["payout.*"], from: new Date(0).toISOString() };
    const dry = await it.engine.replays.redrive(json({ ...selection, dry_run: true }), everyone);
    expect(dry).toMatchObject({ matched: 2, complete: true, limit: 50_000 });
    expect(await it.engine.replays.redrive(json({ ...selection, dry_run: true }), ofAcme)).toMatchObject({
      matched: 1,
    });
    healed.add("e-1");
    healed.add("e-4");
    const first = replayed(await it.engine.replays.redrive(json(selection), ofAcme));
    const done = await untilReplay(it, first.replay_id, { status: "completed", delivered: 1 });
    expect(done).toMatchObject({ expected: 1, matched: 1, published: 1 });
    expect(await idsIn(it)).toEqual(["e-2", "e-3", "e-4"]);
    const [, , other] = await list(it);
    const stale = { dead_letter_ids: [other?.dead_letter_id, `${other?.dead_letter_id?.split("-")[0]}1-abcdefgh`] };
    expect(await it.engine.replays.redrive(json({ ...stale, dry_run: true }), ofAcme)).toMatchObject({
      matched: 0,
      missing: 2,
    });
    const second = replayed(await it.engine.replays.redrive(json(stale), everyone));
    const redriven = await untilReplay(it, second.replay_id, {
      status: "completed",
      matched: 1,
      missing: 1,
      delivered: 1,
    });
    expect(redriven).toMatchObject({ selected_partners: ["default/one"] });
    expect(await idsIn(it)).toEqual(["e-2", "e-3"]);
  });

  test("are acknowledged within the token, with a note and a notification, and counted exactly", async (context) => {
    const it = await fourLetters(context);
    const ackUrl = new URL("/webhooks/ack", it.partner.url).href;
    it.engine.apply(configOf(withAck(partnerConfig("one", it.partner.url), ackUrl)));
    const body = { all: true, note: "booked by hand" };
    const { replay_id: id, acknowledged } = replayed(await it.engine.replays.acknowledge(json(body), ofAcme));
    expect(acknowledged).toBe(0);
    const done = await untilReplay(it, id, { status: "completed", acknowledged: 3 });
    expect(done).toMatchObject({ expected: 3, matched: 3, published: 0, delivered: 0, failed: 0 });
    expect(await idsIn(it)).toEqual(["e-4"]);
    for (const event of ["e-1", "e-2", "e-3"])
      expect((await it.engine.history.event(event, ["acme"]))?.deliveries).toMatchObject([{ handled: "manual" }]);
    const notified = it.partner.received.filter(({ path }) => path === "/webhooks/ack");
    expect(notified.map(({ eventId }) => eventId).toSorted()).toEqual(["e-1", "e-2", "e-3"]);
    const [listed] = (await it.engine.replays.list({ limit: 1 }, ofAcme)).items;
    expect(listed).toMatchObject({
      replay_id: id,
      kind: "acknowledge",
      acknowledged: 3,
      window: null,
      note: body.note,
    });
    await expect(it.engine.replays.cancel(id, ofAcme, ["webhooks:replay"])).rejects.toMatchObject({
      code: "scope_missing",
    });
    await expect(it.engine.replays.get(id, ofOther)).rejects.toMatchObject({ code: "replay_not_found" });
  });

  test("of a tenant or a partner that the token may not see are not selected", async (context) => {
    const it = await fourLetters(context);
    const tenant = it.engine.replays.acknowledge(json({ tenant: "other" }), ofAcme);
    await expect(tenant).rejects.toMatchObject({ code: "tenant_forbidden" });
    const ofTwo = { client: "two", tenants: ["*"], partners: ["default/two"] };
    const partner = it.engine.replays.acknowledge(json({ partner: "default/one" }), ofTwo);
    await expect(partner).rejects.toMatchObject({ code: "partner_not_found" });
    const all = await it.engine.replays.acknowledge(json({ all: true, dry_run: true }), ofTwo);
    expect(all).toMatchObject({ matched: 0, complete: true });
  });
});

describe.concurrent("the list of events", () => {
  test("is limited, in order, filtered, and of the caller's tenants only", async (context) => {
    const it = await caseOf(context, refusedBy({ "e-2": 404 }));
    for (const id of ["e-1", "e-2", "e-3"]) await it.ingest(eventBytes(id));
    await it.ingest(eventBytes("e-4", { tenant: "other" }));
    await untilState(it, "e-2", "rejected");
    for (const id of ["e-1", "e-3", "e-4"]) await untilState(it, id, "delivered");
    const all = { tenants: ["acme"], fromMs: 0, toMs: Number.POSITIVE_INFINITY, limit: 50 };
    const ids = async (more: object) =>
      (await it.engine.history.events({ ...all, ...more })).items.map(({ event_id }) => event_id);
    expect(await ids({})).toEqual(["e-1", "e-2", "e-3"]);
    expect(await ids({ tenants: ["*"] })).toEqual(["e-1", "e-2", "e-3", "e-4"]);
    expect(await ids({ tenants: ["other", "acme"], afterId: "e-2" })).toEqual(["e-3", "e-4"]);
    expect(await ids({ beforeId: "e-3" })).toEqual(["e-1", "e-2"]);
    expect(await ids({ state: "rejected" })).toEqual(["e-2"]);
    expect(await ids({ state: "delivered", partner: "default/one" })).toEqual(["e-1", "e-3"]);
    expect(await ids({ type: "payment.*" })).toEqual([]);
    const first = await it.engine.history.events({ ...all, limit: 2 });
    expect(first.items.map(({ event_id }) => event_id)).toEqual(["e-1", "e-2"]);
    expect(await ids({ afterSeq: first.nextSeq })).toEqual(["e-3"]);
    await expect(ids({ afterId: "e-4" })).rejects.toMatchObject({ code: "event_not_found" });
  });
});

function refusedBy(statuses: Readonly<Record<string, number>>): (delivery: ReceivedDelivery) => PartnerAnswer {
  return ({ eventId }) => ({ status: statuses[eventId] ?? 200 });
}

function withAck(partner: ReturnType<typeof partnerConfig>, ackUrl: string): ReturnType<typeof partnerConfig> {
  return { ...partner, specDigest: `${partner.specDigest}-ack`, endpoint: { ...partner.endpoint, ackUrl } };
}
