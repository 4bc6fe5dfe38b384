import { describe, expect, onTestFinished, test } from "vitest";
import type { LaneQueue } from "../../../../runtime/nats/layout.ts";
import type { LaneConsumer } from "../../../../runtime/nats/streams/deliveries-stream.ts";
import { compilePartners, ownLanesMaxAlone, type Partner } from "../../../../runtime/webhooks/partners/partner.ts";
import { deliveryMessage } from "../../../../runtime/webhooks/records/delivery-record.ts";
import { Lanes } from "../../../../runtime/webhooks/workers/lane-workers.ts";
import type { AttemptOutcome } from "../../../../runtime/webhooks/settlement/outcome.ts";
import { waitFor } from "../../../support/wait.ts";
import { configOf, namesInLane, partnerConfig, type PartnerOverrides } from "../engine-fixture.ts";
import {
  advance,
  answered,
  firstAttempt,
  memoryContext,
  pulled,
  quiet,
  storedAs,
  type MemoryContext,
} from "../memory-context.ts";

const shared = "shared-0";
const noBody = Buffer.from("");

const eventOf = (text: string) => ({ body: Buffer.from(text), isHeld: () => true });

interface Case extends MemoryContext {
  readonly keeper: Lanes;
  /** Lanes that another pod owns. */
  readonly foreign: Set<string>;
  /** The live pods, and whether all of them know attempts that were made straight from events. */
  readonly pods: { live: readonly string[]; allPodsSupportDirect: boolean };
  /** Keys of partners that were promoted to their own lane. */
  readonly promotions: { readonly tokens: string[]; areLeft: boolean };
}

function caseOf(): Case {
  const memory = memoryContext();
  const foreign = new Set<string>();
  const promotions: Case["promotions"] = { tokens: [], areLeft: false };
  const promote = async (token: string): Promise<boolean> => {
    if (promotions.areLeft) promotions.tokens.push(token);
    return promotions.areLeft;
  };
  const pods: Case["pods"] = { live: ["pod-1"], allPodsSupportDirect: true };
  const keeper = new Lanes({
    context: memory.context,
    ownership: {
      isOwner: (lane) => !foreign.has(lane),
      isCurrent: () => true,
      confirmed: () => undefined,
      othersEndMs: () => 0,
      isNamed: () => true,
      revision: () => 1,
      livePods: () => pods.live,
      allPodsSupportDirect: () => pods.allPodsSupportDirect,
    },
    promotions: { promote },
  });
  onTestFinished(() => keeper.stop(0));
  return { ...memory, keeper, foreign, pods, promotions };
}

function partnersOf(
  names: readonly string[],
  ownLanesMax = ownLanesMaxAlone,
  overrides: PartnerOverrides = {},
): readonly Partner[] {
  const configs = names.map((name) => partnerConfig(name, "https://partner.test/hooks", overrides));
  return compilePartners(configOf(...configs), [], new Set(), ownLanesMax);
}

/** Partners without their own lane, which share one. */
function sharersOf(count: number, overrides: PartnerOverrides = {}): readonly Partner[] {
  return partnersOf(namesInLane(shared, count), 0, overrides);
}

/** Running pulls, by the name of their partner or by their shared lane. */
function pullsOf({ running }: MemoryContext, partners: readonly Partner[]): readonly string[] {
  const nameOf = (lane: string): string => partners.find(({ key: token }) => token === lane)?.config.name ?? lane;
  const names = running().map((name) => {
    const [queue = "", ...lane] = name.split("-");
    return `${queue} ${nameOf(lane.join("-"))}`;
  });
  return names.toSorted((one, other) => one.localeCompare(other));
}

async function hand(
  it: Case,
  { key: token }: Partner,
  lane: string,
  seq = 5,
  queue: LaneQueue = "first",
): Promise<void> {
  const delivery = firstAttempt(token, `did-${seq}`);
  const pull = it.pulls.findLast(({ name }) => name === `${queue}-${lane}`);
  const message = storedAs(deliveryMessage(delivery, lane, Buffer.from("")));
  const subject = queue === "first" ? message.subject : message.subject.replace(".dlv.", ".dlr.");
  pull?.onMessage(pulled(it.done, { ...message, subject }, 1, seq));
  await quiet();
}

describe("lanes of a pod", () => {
  test("are pulled after the start only", async () => {
    const it = caseOf();
    const partners = partnersOf(["a", "b"]);
    it.keeper.apply(partners);
    await quiet();
    expect(pullsOf(it, partners)).toEqual([]);
    it.keeper.start();
    await quiet();
    expect(pullsOf(it, partners)).toEqual(["first a", "first b"]);
  });

  test.each<[string, PartnerOverrides]>([
    ["of a paused partner", { state: "Paused" }],
    ["of one that is held", { held: "unresolved" }],
  ])("%s are not pulled", async (_sentence, overrides) => {
    const it = caseOf();
    it.keeper.apply(partnersOf(["a"], ownLanesMaxAlone, overrides));
    it.keeper.start();
    await quiet();
    expect(it.running()).toEqual([]);
  });

  test("move to another pod and back when their owner changes", async () => {
    const it = caseOf();
    const partners = partnersOf(["a", "b"]);
    it.keeper.apply(partners);
    it.keeper.start();
    await quiet();
    for (const [gone, expected] of [
      [["a"], ["first b"]],
      [["a", "b"], []],
      [["b"], ["first a"]],
    ] as const) {
      it.foreign.clear();
      partners
        .filter(({ config }) => (gone as readonly string[]).includes(config.name))
        .forEach(({ lane }) => it.foreign.add(lane));
      it.keeper.reconcile();
      await quiet();
      expect(pullsOf(it, partners)).toEqual(expected);
    }
  });

  test("of a removed partner keep it busy while an attempt straight from an event is under way", async () => {
    const it = caseOf();
    const [a] = partnersOf(["a"]) as readonly [Partner];
    const { promise, resolve } = Promise.withResolvers<AttemptOutcome>();
    it.partner.answer = () => promise;
    it.keeper.apply([a]);
    it.keeper.start();
    await quiet();
    const direct = it.keeper.attemptDirectly(firstAttempt(a.key, "did"), eventOf("{}"));
    await quiet();
    it.keeper.apply([]);
    expect([it.keeper.isBusyWith(a.key), it.keeper.stateOf(a).inFlight]).toEqual([true, 1]);
    resolve(answered(200));
    await expect(direct).resolves.toBe(true);
    expect([it.keeper.isBusyWith(a.key), it.keeper.stateOf(a).inFlight]).toEqual([false, 0]);
  });

  test.each<[string, Case["pods"], number]>([
    // Of three quarters of 256, the last partners leave as many free as they hold.
    ["three quarters of the events in flight", { live: ["pod-1"], allPodsSupportDirect: true }, 189],
    ["its share of those of all pods", { live: ["a", "b", "c", "d", "e"], allPodsSupportDirect: true }, 38],
    ["none beside an earlier version", { live: ["pod-1", "pod-2"], allPodsSupportDirect: false }, 0],
  ])("make attempts straight from events for %s", async (_sentence, pods, expected) => {
    const it = caseOf();
    Object.assign(it.pods, pods);
    it.partner.answer = () => Promise.withResolvers<AttemptOutcome>().promise;
    const partners = partnersOf(Array.from({ length: 17 }, (_, place) => `p${place}`));
    it.keeper.apply(partners);
    it.keeper.start();
    await quiet();
    const tries = partners.flatMap((partner) =>
      Array.from({ length: 12 }, (_, seq) =>
        it.keeper.attemptDirectly(firstAttempt(partner.key, `${seq}`), eventOf("{}")),
      ),
    );
    expect(tries.filter((made) => made !== undefined)).toHaveLength(expected);
  });

  test("leave places for attempts straight from events to the partners that have none under way", async () => {
    const it = caseOf();
    it.partner.answer = () => Promise.withResolvers<AttemptOutcome>().promise;
    const partners = partnersOf(["a", "b", "c"], ownLanesMaxAlone, { delivery: { maxInFlight: 1_024 } });
    it.keeper.apply(partners);
    it.keeper.start();
    await quiet();
    const made = partners.map(({ key }) => {
      const tries = Array.from({ length: 192 }, (_, seq) =>
        it.keeper.attemptDirectly(firstAttempt(key, `${seq}`), eventOf("{}")),
      );
      return tries.filter((attempt) => attempt !== undefined).length;
    });
    expect(made).toEqual([96, 48, 24]);
  });

  test("share the messages in work of their pod, and leave places to a partner that has none under way", async () => {
    const it = caseOf();
    it.partner.answer = () => Promise.withResolvers<AttemptOutcome>().promise;
    const names = Array.from({ length: 20 }, (_, place) => `hang-${place}`);
    const partners = partnersOf([...names, "fast"], ownLanesMaxAlone, { delivery: { maxInFlight: 1_024 } });
    const fast = partners.at(-1) as Partner;
    it.keeper.apply(partners);
    it.keeper.start();
    await quiet();
    const pullOf = ({ lane }: Partner) => it.pulls.find(({ name }) => name === `first-${lane}`);
    let seq = 100;
    for (let round = 0; round < 20; round += 1) {
      for (const partner of partners.slice(0, -1)) {
        for (let credit = pullOf(partner)?.credit() ?? 0; credit > 0; credit -= 1) {
          const message = storedAs(deliveryMessage(firstAttempt(partner.key, `did-${seq}`), partner.lane, noBody));
          pullOf(partner)?.onMessage(pulled(it.done, message, 1, (seq += 1)));
        }
      }
      await quiet();
    }
    // Twenty lanes that want all of 4,096 places hold about a twenty-first of them each.
    expect(seq - 100).toBeGreaterThan(20 * 190);
    expect(seq - 100).toBeLessThan(4_096 - 128);
    const started = (): number => it.done.filter((line) => line === "POST").length;
    await waitFor(() => started() === seq - 100, { timeoutMs: 10_000, what: "the start of all attempts" });
    it.partner.answer = () => answered(200);
    expect(pullOf(fast)?.credit()).toBeGreaterThan(0);
    await hand(it, fast, fast.lane);
    expect(it.done.slice(-3)).toEqual(["POST", "record delivered", "ack 5"]);
  });

  test("wait in order to change consumers, so that one that changes often does not delay the others", async () => {
    const it = caseOf();
    const order: string[] = [];
    const open = Promise.withResolvers<void>();
    const deliveries = {
      ...it.context.deliveries,
      ensureConsumer: async (consumer: LaneConsumer) => {
        await open.promise;
        order.push(consumer.lane);
        return it.context.deliveries.ensureConsumer(consumer);
      },
    };
    const keeper = new Lanes({
      context: { ...it.context, deliveries },
      ownership: {
        isOwner: () => true,
        isCurrent: () => true,
        confirmed: () => undefined,
        othersEndMs: () => 0,
        isNamed: () => true,
        revision: () => 1,
        livePods: () => ["pod-1"],
        allPodsSupportDirect: () => true,
      },
      promotions: { promote: async () => false },
    });
    onTestFinished(() => keeper.stop(0));
    const partners = partnersOf(Array.from({ length: 40 }, (_, place) => `p${place}`));
    keeper.start();
    for (let edit = 0; edit < 20; edit += 1) {
      const [first, ...others] = partners as readonly [Partner];
      const edited = { ...first, config: { ...first.config, specDigest: `edit-${edit}` } };
      keeper.apply([edited, ...(edit === 0 ? [] : others)]);
      await quiet();
    }
    open.resolve();
    await quiet();
    const firstOf = partners.map(({ lane }) => order.indexOf(lane));
    expect(firstOf).not.toContain(-1);
    expect(Math.max(...firstOf)).toBeLessThan(40 + 3);
  });

  test("are shared with other pods, which make attempts straight from events to their own partners only", async () => {
    const it = caseOf();
    const [own, others] = [partnersOf(["a"]), sharersOf(1)] as [readonly Partner[], readonly Partner[]];
    it.keeper.apply([...own, ...others]);
    it.keeper.start();
    await quiet();
    const attempt = (partner: Partner | undefined) =>
      it.keeper.attemptDirectly(firstAttempt(partner?.key ?? "", "did"), eventOf("{}"));
    await expect(attempt(own[0])).resolves.toBe(true);
    expect([attempt(others[0]), attempt(undefined)]).toEqual([undefined, undefined]);
    it.foreign.add(own[0]?.lane ?? "");
    it.keeper.reconcile();
    expect(attempt(own[0])).toBeUndefined();
  });

  test("of a removed partner are not pulled; an attempt under way is kept alive until it ends", async () => {
    const it = caseOf();
    const partners = partnersOf(["a", "b"]);
    const [a, b] = partners as readonly [Partner, Partner];
    const { promise, resolve } = Promise.withResolvers<AttemptOutcome>();
    it.partner.answer = () => promise;
    it.keeper.apply(partners);
    it.keeper.start();
    await quiet();
    await hand(it, a, a.lane);
    it.keeper.apply([b]);
    await advance(it.clock, 251);
    it.keeper.keepAlive();
    expect([pullsOf(it, partners), it.keeper.isBusyWith(a.key), it.keeper.isBusyWith(b.key)]).toEqual([
      ["first b"],
      true,
      false,
    ]);
    expect(it.done).toContain("working 5");
    resolve(answered(200));
    await quiet();
    expect([it.done.includes("ack 5"), it.keeper.isBusyWith(a.key)]).toEqual([true, false]);
  });

  test("without new messages are emptied, unless their partner is removed", async () => {
    const it = caseOf();
    const partners = partnersOf(["a"]);
    it.keeper.apply(partners);
    it.keeper.start();
    it.lanes.set("shared-3", ["first", "retry"]);
    it.lanes.set("the key of a removed partner", ["first"]);
    await it.keeper.lookForLeftovers();
    await quiet();
    expect(pullsOf(it, partners)).toEqual(["first a", "first shared-3", "retry shared-3"]);
    expect(it.done.filter((line) => line.startsWith("remove"))).toEqual(["remove shared-3"]);
    it.lanes.delete("shared-3");
    await it.keeper.lookForLeftovers();
    await quiet();
    expect(pullsOf(it, partners)).toEqual(["first a"]);
  });

  test("whose consumer was deleted without an advisory are pulled again", async () => {
    const it = caseOf();
    const partners = [...partnersOf(["a", "b"]), ...sharersOf(1)];
    it.keeper.apply(partners);
    it.keeper.start();
    await quiet();
    const [a, b] = partners;
    if (a === undefined || b === undefined) throw new Error("no partners");
    it.lanes.set(a.lane, ["first"]);
    it.lanes.set(shared, ["first"]);
    await it.keeper.lookForLeftovers();
    const anew = it.pulls.filter(({ startsOver }) => startsOver > 0).map(({ name }) => name);
    expect(new Set(anew)).toEqual(new Set([`first-${b.lane}`, `retry-${shared}`]));
  });

  test("end with the pod", async () => {
    const it = caseOf();
    it.keeper.apply([...partnersOf(["a"]), ...sharersOf(2)]);
    it.keeper.start();
    await quiet();
    expect(it.running()).toHaveLength(3);
    await it.keeper.stop(0);
    expect(it.running()).toEqual([]);
  });
});

describe("a lane that partners share", () => {
  async function sharing(overrides: PartnerOverrides = {}): Promise<[Case, Partner]> {
    const it = caseOf();
    const partners = sharersOf(2, overrides);
    it.keeper.apply(partners);
    it.keeper.start();
    await quiet();
    it.done.length = 0;
    return [it, partners[0] as Partner];
  }

  test("is pulled once for all of them, retries too", async () => {
    const [it] = await sharing();
    expect(pullsOf(it, [])).toEqual([`first ${shared}`, `retry ${shared}`]);
  });

  test("delivers what may be sent", async () => {
    const [it, partner] = await sharing();
    await hand(it, partner, shared);
    expect(it.done).toEqual(["POST", "record delivered", "ack 5"]);
  });

  const rate = { maxInFlight: 64, rate: { perSecond: 2, burst: 1 } };
  test.each<[string, PartnerOverrides, number]>([
    ["of a paused partner is put aside for half a minute", { state: "Paused" }, 30_000],
    ["of a partner without tokens is put aside until there is one, and a second", { delivery: rate }, 1_500],
  ])("%s", async (_sentence, overrides, waitMs) => {
    const [it, partner] = await sharing(overrides);
    if (overrides.delivery !== undefined) await hand(it, partner, shared, 4);
    it.done.length = 0;
    await hand(it, partner, shared);
    expect(it.done).toEqual([`schedule did-5:0:1:1 after 5 in ${waitMs}: stored`, "ack 5"]);
  });

  test.each<[string, LaneQueue, number, readonly number[]]>([
    ["first attempts", "first", 256, [64, 48, 36, 27]],
    ["retries", "retry", 64, [16, 12, 9, 7]],
  ])(
    "leaves places for %s to the other partners when four do not respond",
    async (_sentence, queue, places, shares) => {
      const it = caseOf();
      it.partner.answer = () => Promise.withResolvers<AttemptOutcome>().promise;
      const partners = sharersOf(5, { delivery: { maxInFlight: 64 } });
      it.keeper.apply(partners);
      it.keeper.start();
      await quiet();
      const inWork = async (partner: Partner, offered: number): Promise<number> => {
        it.done.length = 0;
        for (let count = 0; count < offered; count += 1) await hand(it, partner, shared, (seq += 1), queue);
        return offered - it.done.filter((line) => line.startsWith("schedule")).length;
      };
      let seq = 100;
      const held: number[] = [];
      for (const partner of partners.slice(0, 4)) held.push(await inWork(partner, places / 2 + 5));
      expect(held).toEqual(shares);
      expect(await inWork(partners[4] as Partner, 1)).toBe(1);
    },
  );

  test("promotes a partner that delays the others, and its messages move to its own lane", async () => {
    const [it, partner] = await sharing({ state: "Paused" });
    it.promotions.areLeft = true;
    await hand(it, partner, shared);
    expect(it.promotions.tokens).toEqual([partner.key]);
    expect(it.done.slice(-2)).toEqual([`forward did-5:0:1:1 to ${partner.key}: stored`, "ack 5"]);
  });

  test("is reconciled again a second after its consumers could not be created", async () => {
    const it = caseOf();
    it.consumerErrors.push(new Error("no"));
    it.keeper.apply(sharersOf(1));
    it.keeper.start();
    await quiet();
    await advance(it.clock, 999);
    expect(it.running()).toEqual([]);
    await advance(it.clock, 1);
    expect(it.running()).toHaveLength(2);
  });
});
