import { onTestFinished } from "vitest";
import type { LaneQueue } from "../../../../runtime/nats/layout.ts";
import { FairPlaces, Semaphore } from "../../../../limits/fair-places.ts";
import { deliveryMessage, type DeliveryRecord } from "../../../../runtime/webhooks/records/delivery-record.ts";
import type { AttemptOutcome } from "../../../../runtime/webhooks/settlement/outcome.ts";
import type { Partner } from "../../../../runtime/webhooks/partners/partner.ts";
import { OwnLane } from "../../../../runtime/webhooks/workers/own-lane.ts";
import { LaneActivity } from "../../../../runtime/webhooks/workers/turn-starts.ts";
import type { PartnerOverrides } from "../engine-fixture.ts";
import {
  advance,
  compiled,
  firstAttempt,
  memoryContext,
  pulled,
  quiet,
  storedAs,
  type MemoryContext,
} from "../memory-context.ts";

/** The lane of a partner in memory. */
export interface Case extends MemoryContext {
  readonly one: Partner;
  readonly own: OwnLane;
  /** Delivers a message of a first attempt. */
  hand(seq: number, queue?: LaneQueue): Promise<void>;
  /** What other pods report in their heartbeats, and whether that of this pod names the partner. */
  readonly beats: { othersEndMs: (endMs: number) => number; isNamed: boolean };
  /** Lets time pass until a heartbeat. */
  beat(ms: number): Promise<void>;
  /** Lets the pod wait for its next heartbeat. */
  wait(heartbeat: Promise<void> | undefined): void;
  /** The actions since the previous call. */
  news(): readonly string[];
}

/** Creates the lane of a partner that this pod owns. */
export async function caseOf(
  overrides: PartnerOverrides = {},
  prepare: (memory: MemoryContext, lane: string) => void = () => undefined,
  headStartMs = Number.POSITIVE_INFINITY,
): Promise<Case> {
  const memory = memoryContext();
  const partner = compiled("one", overrides);
  prepare(memory, partner.lane);
  let confirmed: Promise<void> | undefined;
  const beats = { othersEndMs: (endMs: number) => Math.max(0, endMs - headStartMs), isNamed: true };
  const shared = {
    consumerChanges: new Semaphore(16),
    budget: new FairPlaces(4_096),
    inWork: new Map(),
    direct: new Map(),
    directSlots: new FairPlaces(64),
    activity: new LaneActivity(),
    ownership: {
      othersEndMs: (_partner: string, endMs: number) => beats.othersEndMs(endMs),
      isNamed: () => beats.isNamed,
      revision: () => 1,
      confirmed: () => confirmed,
    },
  };
  const own = new OwnLane(memory.context, partner, shared);
  own.set(partner, true);
  await quiet();
  onTestFinished(() => own.worker.stop(0));
  const hand: Case["hand"] = async (seq, queue = "first") => {
    const pull = memory.pulls.findLast(({ name }) => name === `${queue}-${partner.lane}`);
    pull?.onMessage(
      pulled(memory.done, storedAs(deliveryMessage(itemOf(partner, seq), partner.lane, Buffer.from(""))), 1, seq),
    );
    await quiet();
  };
  return {
    ...memory,
    one: partner,
    own,
    beats,
    hand,
    beat: async (ms) => {
      await advance(memory.clock, ms);
      own.refresh();
      await quiet();
    },
    wait: (next) => void (confirmed = next),
    news: () => memory.done.splice(0),
  };
}

/** A first attempt with a sequence. */
export const itemOf = ({ key: token }: Partner, seq: number): DeliveryRecord => ({
  ...firstAttempt(token, `did-${seq}`),
  eventId: `e-${seq}`,
});

/** The queues that are pulled. */
export const queuesOf = ({ running }: Case): readonly string[] => running().map((name) => name.split("-")[0] ?? "");
/** A response that a test gives later. */
export const hanging = (): { answer: () => Promise<AttemptOutcome>; resolve: (outcome: AttemptOutcome) => void } => {
  const { promise, resolve } = Promise.withResolvers<AttemptOutcome>();
  return { answer: () => promise, resolve };
};
