import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { connectNats } from "../../../runtime/nats/connection/connect.ts";
import { ownerOf } from "../../../runtime/pods/pods.ts";
import { createLayout } from "../../../runtime/nats/layout.ts";
import { createPodMessages, type PodMessages } from "../../../runtime/nats/messages/pod-messages.ts";
import { assignLanes, isSharedLane } from "../../../runtime/webhooks/partners/partner.ts";
import type { EventHistory } from "../../../runtime/webhooks/history/history.ts";
import { partnerKey } from "../../../runtime/webhooks/ids.ts";
import type { DeadLetterPage } from "../../../runtime/webhooks/replay/dead-letter-overview.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { waitFor } from "../../support/wait.ts";
import {
  type CaseOverrides,
  type Cleanup,
  engineCase,
  type EngineCase,
  partnerServer,
  removedAtOnce,
  untilEmpty,
} from "./engine-cases.ts";
import {
  configOf,
  eventBytes,
  namesInLane,
  partnerConfig,
  streamsOf,
  type PartnerOverrides,
  type TestEngine,
} from "./engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 40_000;
const everyone = { client: "support", tenants: ["*"] };
const later = { scheduleSeconds: [600], maxAgeSeconds: 3_600, jitterPercent: 0 };
const keyless: PartnerOverrides = { held: "unresolved", state: "Paused", signing: { scheme: "HmacV1", keys: [] } };

const caseOf = (context: Cleanup, config: RuntimeConfig, overrides: CaseOverrides = {}): Promise<EngineCase> =>
  engineCase(server.url, context, config, { ...removedAtOnce, ...overrides });

function untilHistory(
  { engine }: TestEngine,
  eventId: string,
  isWanted: (history: EventHistory) => boolean,
): Promise<EventHistory> {
  const look = async (): Promise<EventHistory | undefined> => {
    const history = await engine.history.event(eventId, ["*"]);
    return history !== undefined && isWanted(history) ? history : undefined;
  };
  return waitFor(look, { timeoutMs, what: `the history of ${eventId}` });
}

const inState = (state: string) => (history: EventHistory) => history.deliveries[0]?.state === state;

const deadLettersOf = ({ engine }: TestEngine, partner = "default/one"): Promise<DeadLetterPage> =>
  engine.deadLetters.list({ partner, afterSeq: 0, limit: 200 }, everyone);

async function redrive({ engine }: TestEngine): Promise<void> {
  const body = Buffer.from(JSON.stringify({ partner: "default/one" }));
  const answer = await engine.replays.redrive(body, everyone);
  if ("dry_run" in answer) throw new Error("a dry run");
  await waitFor(async () => (await engine.replays.get(answer.replay_id, everyone)).status === "completed", {
    timeoutMs,
    what: "the redrive",
  });
}

/** Waits until the leader's list has all of these partners. */
const untilKnown = (engine: EngineCase, count: number): Promise<boolean> => {
  const bucket = `KV_${engine.layout.buckets.partners}`;
  return waitFor(async () => (await engine.nats.manager.streams.info(bucket)).state.messages === count, {
    timeoutMs,
    what: "known partners",
  });
};

describe.concurrent("a partner that is removed", () => {
  test("and created again with its name: its deliveries are dead, listed, and redriven to the new one", async (context) => {
    const partner = await partnerServer(context, ({ eventId }) => ({
      status: eventId === "fails" && isFailing ? 500 : 200,
    }));
    let isFailing = true;
    const engine = await caseOf(context, configOf(partnerConfig("one", partner.url, { retry: later })));
    await engine.ingest(eventBytes("fails"));
    await untilHistory(engine, "fails", ({ deliveries }) => deliveries[0]?.attempts.length === 1);
    engine.engine.apply(configOf(partnerConfig("one", partner.url, { retry: later, state: "Paused" })));
    const ids = Array.from({ length: 200 }, (_, index) => `e-${index}`);
    await Promise.all(ids.map((id) => engine.ingest(eventBytes(id))));
    await untilHistory(engine, "e-199", inState("in_delivery"));
    await untilKnown(engine, 1);
    engine.engine.apply(configOf());
    for (const id of ["fails", ...ids]) {
      const { deliveries } = await untilHistory(engine, id, inState("dead"));
      expect(deliveries).toMatchObject([{ partner: "default/one", reason: "partner_removed", next_attempt_at: null }]);
    }
    await untilEmpty(engine, timeoutMs);
    const { items } = await deadLettersOf(engine);
    expect(items).toHaveLength(200);
    expect(new Set(items.map(({ state, reason }) => `${state} ${reason}`))).toEqual(new Set(["dead partner_removed"]));
    isFailing = false;
    engine.engine.apply(configOf(partnerConfig("one", partner.url, { uid: "the next of this name" })));
    await redrive(engine);
    for (const id of ["fails", ...ids]) await untilHistory(engine, id, inState("delivered"));
    await untilEmpty(engine, timeoutMs);
    expect(ids.filter((id) => partner.of(id).length !== 1)).toEqual([]);
    expect(partner.of("fails").map(({ attempt }) => attempt)).toEqual([1, 3]);
    await waitFor(async () => (await deadLettersOf(engine)).items.length === 0, { timeoutMs, what: "no letters" });
  });

  test("before a run of the leader pod: its deliveries are dead under its name", async (context) => {
    const engine = await caseOf(context, configOf());
    const names = ["a", "b", "c", "d"];
    for (const name of names) {
      engine.engine.apply(
        configOf(partnerConfig(name, "http://127.0.0.1:9", { uid: `uid of ${name}`, state: "Paused" })),
      );
      await engine.ingest(eventBytes(`for-${name}`));
      await untilHistory(engine, `for-${name}`, inState("in_delivery"));
    }
    engine.engine.apply(configOf());
    for (const name of names) {
      const { deliveries } = await untilHistory(engine, `for-${name}`, inState("dead"));
      expect(deliveries).toMatchObject([{ partner: `default/${name}`, reason: "partner_removed" }]);
      expect((await deadLettersOf(engine, `default/${name}`)).items).toHaveLength(1);
    }
  });

  test("after messages were released: they end at once, and an attempt under way ends first", async (context) => {
    const asked = Promise.withResolvers<void>();
    const partner = await partnerServer(context, () => {
      asked.resolve();
      return { delayMs: 1_000 };
    });
    const delivery = { maxInFlight: 64, rate: { perSecond: 1, burst: 1 } };
    const engine = await caseOf(context, configOf(partnerConfig("one", partner.url, { delivery })));
    await Promise.all([0, 1, 2, 3].map((index) => engine.ingest(eventBytes(`e-${index}`))));
    await asked.promise;
    engine.engine.apply(configOf());
    const endedMs = performance.now();
    await untilEmpty(engine, timeoutMs);
    // Longer than the attempt; JetStream counts what was given back as handed out for ever.
    expect(performance.now() - endedMs).toBeLessThan(20_000);
    const sent = new Set(partner.received.map(({ eventId }) => eventId));
    for (const id of ["e-0", "e-1", "e-2", "e-3"]) {
      const { deliveries } = await untilHistory(engine, id, inState(sent.has(id) ? "delivered" : "dead"));
      expect(deliveries).toHaveLength(1);
    }
    expect((await deadLettersOf(engine)).items).toHaveLength(4 - sent.size);
  });

  test("keeps everything while another pod has it, and for as long as dead letters find no room", async (context) => {
    const { leader, other, questions } = await twoPods(context, (url) =>
      configOf(partnerConfig("one", url, { state: "Paused" })),
    );
    await Promise.all([0, 1, 2].map((index) => leader.ingest(eventBytes(`e-${index}`))));
    const { deadLetters, deliveries } = leader.layout.streams;
    const waiting = async (): Promise<number> => (await leader.nats.manager.streams.info(deliveries)).state.messages;
    await waitFor(async () => (await waiting()) === 3, { timeoutMs, what: "routing" });
    await untilKnown(leader, 1);
    leader.engine.apply(configOf());
    const held = await untilHistory(leader, "e-2", inState("held"));
    expect(held.deliveries).toMatchObject([
      { partner: "default/one", reason: "partner_removed", next_attempt_at: null },
    ]);
    await waitFor(() => questions.count >= 3, { timeoutMs, what: "questions to the pod that lags behind" });
    expect(await waiting()).toBe(3);
    const { config } = await leader.nats.manager.streams.info(deadLetters);
    await leader.nats.manager.streams.update(deadLetters, { ...config, max_msgs: 1 });
    other.engine.apply(configOf());
    await waitFor(() => leader.lines.some(({ message }) => /should end wait/u.test(message)), {
      timeoutMs,
      what: "the refusal",
    });
    expect(await waiting()).toBe(2);
    await leader.nats.manager.streams.update(deadLetters, { ...config, max_msgs: -1 });
    await waitFor(async () => (await waiting()) === 0, { timeoutMs, what: "every end" });
    expect((await deadLettersOf(leader)).items).toHaveLength(3);
  });
});

describe.concurrent("partners of a shared lane", () => {
  test("are held and removed like others, and those beside them get their events", async (context) => {
    const partner = await partnerServer(context);
    const ownLanesMax = 1;
    const names = namesInLane("shared-0", 4);
    const all = names.map((name) => partnerConfig(name, partner.url));
    const tokens = all.map(({ uid }) => partnerKey(uid));
    const places = assignLanes(tokens, new Set(), ownLanesMax);
    const shared = all.filter((_, index) => isSharedLane(places.get(tokens[index] ?? "")?.lane ?? ""));
    const [first, second] = shared;
    if (first === undefined || second === undefined) throw new Error("two partners share a lane");
    const holding = { held: "not_permitted", state: "Paused" } as const;
    const others = all.filter(({ uid }) => uid !== first.uid && uid !== second.uid);
    const engine = await caseOf(context, configOf({ ...first, ...holding }, { ...second, ...holding }, ...others), {
      delivery: { ...removedAtOnce.delivery, ownLanesMax },
    });
    const ids = Array.from({ length: 20 }, (_, index) => `e-${index}`);
    await Promise.all(ids.map((id) => engine.ingest(eventBytes(id))));
    await waitFor(() => partner.received.length === ids.length * others.length, { timeoutMs, what: "the others" });
    await untilKnown(engine, names.length);
    engine.engine.apply(configOf({ ...first, ...holding }, ...others));
    const standing = ({ deliveries }: EventHistory): string =>
      [first, second].map(({ name }) => deliveries.find((one) => one.partner === `default/${name}`)?.reason).join();
    for (const id of ids)
      await untilHistory(engine, id, (history) => standing(history) === "not_permitted,partner_removed");
    engine.engine.apply(configOf(first, ...others));
    await untilEmpty(engine, 2 * timeoutMs);
    expect(ids.filter((id) => partner.of(id).length !== others.length + 1)).toEqual([]);
    expect((await deadLettersOf(engine, `default/${second.name}`)).items).toHaveLength(ids.length);
  });
});

describe.concurrent("a delivery to a partner that is held", () => {
  test("ends as dead at the age of its partner, not before, and can be redriven when the key is there", async (context) => {
    const partner = await partnerServer(context);
    const retry = { scheduleSeconds: [1], maxAgeSeconds: 4, jitterPercent: 0 };
    const engine = await caseOf(context, configOf(partnerConfig("one", partner.url, { ...keyless, retry })));
    const acceptedMs = performance.now();
    await engine.ingest(eventBytes("e-1"));
    await untilHistory(engine, "e-1", inState("held"));
    const { deliveries } = await untilHistory(engine, "e-1", inState("dead"));
    expect(performance.now() - acceptedMs).toBeGreaterThanOrEqual(4_000);
    expect(deliveries).toMatchObject([
      { reason: "held_expired", next_attempt_at: null, attempts: [{ attempt: 1, error: { reason: "held_expired" } }] },
    ]);
    await untilEmpty(engine, timeoutMs);
    await engine.ingest(eventBytes("e-2"));
    await untilHistory(engine, "e-2", inState("held"));
    engine.engine.apply(configOf(partnerConfig("one", partner.url, { retry })));
    await untilHistory(engine, "e-2", inState("delivered"));
    await redrive(engine);
    await untilHistory(engine, "e-1", inState("delivered"));
    expect(partner.received.map(({ eventId }) => eventId)).toEqual(["e-2", "e-1"]);
  });
});

describe.concurrent("a delivery to a partner that gets nothing now", () => {
  test("says why it waits, and ends at the age of its partner unless that is Paused", async (context) => {
    const answers = { open: 500, gone: 410 } as const;
    const partner = await partnerServer(context, ({ path }) => ({
      status: path.includes("gone") ? answers.gone : answers.open,
    }));
    const retry = { scheduleSeconds: [2], maxAgeSeconds: 8, jitterPercent: 0 };
    const circuitBreaker = { failures: 1, openMs: 60_000, maxOpenMs: 60_000 };
    const subscriptions = [{ name: "payouts", types: ["payout.*"], tenants: ["acme"], producers: [] }];
    const configFor = (name: string, overrides: PartnerOverrides = {}) =>
      partnerConfig(name, new URL(name, partner.url).href, {
        subscriptions,
        retry,
        circuitBreaker,
        timeoutMs: 500,
        ...overrides,
      });
    const config = configOf(configFor("gone"), configFor("open"), configFor("paused", { state: "Paused" }));
    const engine = await caseOf(context, config);
    await engine.ingest(eventBytes("e-1"));
    const kindsOf = ({ deliveries }: EventHistory): string => deliveries.map(({ waiting }) => waiting?.kind).join();
    await untilHistory(engine, "e-1", (history) => kindsOf(history) === ",circuit_open,paused");
    const isMarked = async (): Promise<boolean> => (await engine.engine.disabledPartners.list()).length === 1;
    await waitFor(isMarked, { timeoutMs, what: "the mark of the 410" });
    await engine.ingest(eventBytes("e-2"));
    const { deliveries } = await untilHistory(
      engine,
      "e-2",
      (history) => kindsOf(history) === "disabled,circuit_open,paused",
    );
    const since = expect.stringMatching(/^\d{4}-/u);
    expect(deliveries.map(({ state, waiting }) => ({ state, waiting }))).toEqual([
      { state: "in_delivery", waiting: { kind: "disabled", reason: "status_410", since, until: null } },
      {
        state: "in_delivery",
        waiting: { kind: "circuit_open", reason: "1 consecutive failures", since, until: since },
      },
      { state: "in_delivery", waiting: { kind: "paused", reason: null, since: null, until: null } },
    ]);
    const states = ({ deliveries: all }: EventHistory): string => all.map(({ state }) => state).join();
    await untilHistory(engine, "e-2", (history) => states(history) === "dead,dead,in_delivery");
    await untilHistory(engine, "e-1", (history) => states(history) === "rejected,dead,in_delivery");
    const letters = await deadLettersOf(engine, "default/open");
    expect(letters.items.map(({ reason }) => reason)).toEqual(["held_expired", "held_expired"]);
    const backlogOf = async () =>
      (await engine.engine.partnerDetails.read("default/paused", { tenants: ["*"] })).live.backlog;
    await waitFor(async () => (await backlogOf()) === 2, { timeoutMs, what: "the backlog of the paused partner" });
    expect(partner.received).toHaveLength(2);
  });
});

/** Two pods of a NATS server of their own; `questions` counts those of the leader to the other one. */
async function twoPods(context: Cleanup, configFor: (partnerUrl: string) => RuntimeConfig) {
  const own = await startNatsServer();
  context.onTestFinished(() => own.stop());
  const config = configFor((await partnerServer(context)).url);
  const questions = { count: 0 };
  const podOf = async (podId: string): Promise<EngineCase> => {
    const nats = await connectNats({ servers: [own.url] });
    const messages = createPodMessages(nats, createLayout("pods"), podId);
    context.onTestFinished(async () => {
      await messages.stop();
      await nats.drain();
    });
    const serve: PodMessages["serve"] = (topic, answer) =>
      messages.serve(topic, (question) => {
        questions.count += 1;
        return answer(question);
      });
    const peers: Pick<PodMessages, "request" | "serve"> = { ...messages, serve };
    const engine = await engineCase(own.url, context, config, {
      settings: streamsOf("pods", removedAtOnce.delivery),
      podId,
      peers,
    });
    return { ...engine, prefix: "pods", layout: createLayout("pods") };
  };
  const names = ["pod-1", "pod-2"];
  const [one, two] = [await podOf("pod-1"), await podOf("pod-2")];
  await waitFor(() => one.engine.pods.live().length === 2 && two.engine.pods.live().length === 2, {
    timeoutMs,
    what: "two pods",
  });
  return ownerOf("duties", names) === "pod-1"
    ? { leader: one, other: two, questions }
    : { leader: two, other: one, questions };
}
