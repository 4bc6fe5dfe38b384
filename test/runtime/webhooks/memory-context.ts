import { Registry } from "prom-client";
import type {
  DeliveriesStream,
  DeliveryToStore,
  LaneConsumer,
  LaneState,
} from "../../../runtime/nats/streams/deliveries-stream.ts";
import type { DeadLetterToStore } from "../../../runtime/nats/streams/dead-letters-stream.ts";
import type { LaneQueue } from "../../../runtime/nats/layout.ts";
import { NoReplyError } from "../../../runtime/nats/connection/requests.ts";
import type { PublishResult } from "../../../runtime/nats/messages/publish.ts";
import type { Pull, PullOptions } from "../../../runtime/nats/messages/pull.ts";
import type { PulledMessage } from "../../../runtime/nats/messages/pulled-message.ts";
import type { StoredMessage } from "../../../runtime/nats/messages/stored-messages.ts";
import type { BreakerState, OpenBreaker } from "../../../runtime/webhooks/settlement/circuit-breaker.ts";
import type { DeliveryRecord } from "../../../runtime/webhooks/records/delivery-record.ts";
import { createDeliveryMetrics, createPartnerMetrics } from "../../../runtime/webhooks/telemetry/delivery-metrics.ts";
import { createDeliverySpans } from "../../../runtime/webhooks/telemetry/delivery-spans.ts";
import type { AttemptOutcome } from "../../../runtime/webhooks/settlement/outcome.ts";
import { compilePartners, type Partner } from "../../../runtime/webhooks/partners/partner.ts";
import type { RouterDeps } from "../../../runtime/webhooks/routing/missing-steps.ts";
import { ManualClock, settle } from "../../support/manual-clock.ts";
import { configOf, memoryLog, partnerConfig, type LogLine, type PartnerOverrides } from "./engine-fixture.ts";

/** A pull that hands out what a test gives it. */
interface MemoryPull extends Omit<PullOptions, "stream" | "consumer"> {
  /** `first-LANE`, `retry-LANE` or `router`. */
  readonly name: string;
  topUps: number;
  startsOver: number;
  isOver: boolean;
}

/** The message is stored by this call or by another pod, and its response is lost. */
interface Lost {
  readonly kind: "lost";
  readonly by: "this call" | "another pod";
}

/** Answers of streams in the order in which they are asked for; `stored` when none is left. */
interface Answers {
  readonly publishFirst: PublishResult[];
  readonly schedule: PublishResult[];
  readonly deadLetter: (PublishResult | Lost)[];
}

/** Everything a delivery needs, in memory, in a time that stands still until a test moves it. */
export interface MemoryContext {
  readonly context: RouterDeps;
  readonly clock: ManualClock;
  readonly ending: AbortController;
  /** What was done to JetStream and to messages, in order. */
  readonly done: string[];
  readonly answers: Answers;
  readonly stored: DeliveryToStore[];
  readonly letters: DeadLetterToStore[];
  /** Live messages and attempt records that are found. */
  readonly past: { live: StoredMessage[]; attempts: StoredMessage[] };
  readonly pulls: MemoryPull[];
  /** Names of pulls that run. */
  readonly running: () => readonly string[];
  /** Consumers of retries, by lane. */
  readonly retries: Map<string, LaneState>;
  /** Pauses that are stored, by partner key. */
  readonly holds: Map<string, OpenBreaker>;
  /** What partners answer. */
  readonly partner: { answer: () => AttemptOutcome | Promise<AttemptOutcome> };
  /** Errors of the next changes of consumers. */
  readonly consumerErrors: Error[];
  readonly lanes: Map<string, readonly LaneQueue[]>;
  readonly lines: readonly LogLine[];
  readonly registry: Registry;
}

export const stored: PublishResult = { kind: "stored", seq: 7 };
export const refused: PublishResult = { kind: "rejected", code: 10_077, detail: "maximum bytes exceeded" };
export const unexpected: PublishResult = { kind: "unexpected" };
export const duplicate: PublishResult = { kind: "duplicate", seq: 3 };

/** An answer of a partner. */
export const answered = (status: number): AttemptOutcome => ({
  kind: "response",
  status,
  headers: {},
  body: "",
  bodyTruncated: false,
  timings: { totalMs: 1 },
});

/** A first attempt of the event `e-1`, at the beginning of time. */
export const firstAttempt = (partner: string, did: string): DeliveryRecord => ({
  did,
  partner,
  tenant: "acme",
  eventId: "e-1",
  type: "payout.processed",
  acceptedAtMs: Date.UTC(2026, 0, 1),
  generation: 0,
  attempt: 1,
  hop: 0,
  attemptsBefore: 0,
});

/** Lets everything that is ready run, however many steps that are. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await settle();
}

/** Moves a clock on and lets what falls due run. */
export async function advance(clock: ManualClock, byMs: number): Promise<void> {
  clock.advance(byMs);
  await quiet();
}

/** A compiled partner, alone in its configuration. */
export function compiled(name: string, overrides: PartnerOverrides = {}): Partner {
  const [partner] = compilePartners(configOf(partnerConfig(name, "https://partner.test/hooks", overrides)), []);
  if (partner === undefined) throw new Error("no partner");
  return partner;
}

/** A message that tells in `done` what was said of it. */
export function pulled(
  done: string[],
  message: Pick<StoredMessage, "subject" | "headers">,
  deliveryCount = 1,
  seq = 5,
): PulledMessage {
  const say = (word: string) => () => void done.push(`${word} ${seq}`);
  const data = Buffer.from('{"event_id":"e-1"}');
  return {
    ...message,
    seq,
    deliveryCount,
    waiting: 0,
    storedAtMs: 0,
    data,
    isHeld: () => true,
    ack: say("ack"),
    working: say("working"),
    release: say("release"),
  };
}

/** What is stored, as it is read back. */
export function storedAs({ lane, partner, did, headers }: DeliveryToStore): StoredMessage {
  const texts = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    subject: `t.dlv.${lane}.${partner}.${did}`,
    seq: 1,
    storedAtMs: 0,
    headers: Object.fromEntries(texts),
    data: Buffer.from(""),
  };
}

/** Nothing is stored, and every partner answers 200. */
export function memoryContext(): MemoryContext {
  const clock = new ManualClock();
  const ending = new AbortController();
  const { log, lines } = memoryLog();
  const parts = {
    clock,
    ending,
    lines,
    done: [] as string[],
    answers: { publishFirst: [], schedule: [], deadLetter: [] } as Answers,
    stored: [] as DeliveryToStore[],
    letters: [] as DeadLetterToStore[],
    past: { live: [], attempts: [] } as MemoryContext["past"],
    pulls: [] as MemoryPull[],
    running: () => parts.pulls.filter(({ isOver }) => !isOver).map(({ name }) => name),
    retries: new Map<string, LaneState>(),
    holds: new Map<string, OpenBreaker>(),
    partner: { answer: (): AttemptOutcome | Promise<AttemptOutcome> => answered(200) },
    consumerErrors: [] as Error[],
    lanes: new Map<string, readonly LaneQueue[]>(),
  };
  const registry = new Registry();
  const context = {
    deliveries: deliveriesIn(parts),
    attempts: {
      append: async (_tenant: string, _hash: string, text: string) => (
        parts.done.push(`record ${kindOf(text)}`),
        stored
      ),
      read: async () => parts.past.attempts,
    },
    deadLetters: {
      append: async (deadLetter: DeadLetterToStore) => {
        const [answer] = parts.answers.deadLetter;
        if (answer?.kind !== "lost") {
          const answers = parts.answers.deadLetter as PublishResult[];
          return answerOf(parts, answers, "letter", () => parts.letters.push(deadLetter));
        }
        parts.answers.deadLetter.shift();
        parts.done.push("letter: lost");
        parts.letters.push(answer.by === "this call" ? deadLetter : { ...deadLetter, payload: "{}" });
        throw new NoReplyError("dlq", "timeout");
      },
      at: async () => ({ data: Buffer.from(parts.letters.at(-1)?.payload ?? "") }),
    },
    holds: {
      keep: ({ key }: Partner, state: BreakerState) =>
        void (state.kind === "open" ? parts.holds.set(key, state) : parts.holds.delete(key)),
      kept: async () => undefined,
      read: async ({ key }: Partner) => parts.holds.get(key),
      keys: async () => new Set(parts.holds.keys()),
    },
    disabled: { mark: async () => void parts.done.push("mark"), isDisabled: async () => false },
    events: {
      ensureRouter: async () => 0,
      pull: (options: Omit<PullOptions, "stream" | "consumer">) => pullOf(parts, "router", options),
    },
    backlogs: { isFull: () => false },
    listPartner: async () => undefined,
    partners: () => [],
    sender: { send: async () => (parts.done.push("POST"), parts.partner.answer()), close: async () => undefined },
    validations: { of: async () => ({}), resultOf: () => undefined },
    now: () => clock.wallMs(),
    clock,
    random: () => 0,
    podId: "pod-1",
    installation: "test",
    version: "test",
    log,
    metrics: createDeliveryMetrics(registry),
    spans: createDeliverySpans(undefined),
    partnerMetrics: createPartnerMetrics(registry),
    onSettled: async () => undefined,
    onBreakerOpen: async () => undefined,
    ending: ending.signal,
  };
  return { ...parts, registry, context: context as unknown as RouterDeps };
}

type Parts = Omit<MemoryContext, "context" | "registry">;

function deliveriesIn(parts: Parts): Partial<DeliveriesStream> {
  const keep = (delivery: DeliveryToStore) => () => parts.stored.push(delivery);
  return {
    publishFirst: async (delivery) =>
      answerOf(parts, parts.answers.publishFirst, `first ${delivery.messageId}`, keep(delivery)),
    schedule: async (delivery, { seq }, atMs) =>
      answerOf(
        parts,
        parts.answers.schedule,
        `schedule ${delivery.messageId} after ${seq} in ${atMs - parts.clock.wallMs()}`,
        keep(delivery),
      ),
    move: async (delivery) =>
      answerOf(parts, parts.answers.schedule, `forward ${delivery.messageId} to ${delivery.lane}`, keep(delivery)),
    live: async () => parts.past.live,
    ensureConsumer: async ({ queue, lane, maxAckPending }: LaneConsumer) => {
      const error = parts.consumerErrors.shift();
      if (error !== undefined) throw error;
      if (queue === "retry" && !parts.retries.has(lane))
        parts.retries.set(lane, { messages: 0, settledSeq: 0, handedOut: 0, pausedMs: 0 });
      parts.done.push(`consumer ${queue} ${maxAckPending}`);
    },
    laneState: async (queue, lane) =>
      queue === "retry" ? parts.retries.get(lane) : { messages: 0, settledSeq: 0, handedOut: 0, pausedMs: 0 },
    pause: async (queue, _lane, untilMs) =>
      void parts.done.push(`pause ${queue} ${Math.max(0, untilMs - parts.clock.wallMs())}`),
    pull: (queue, lane, options) => pullOf(parts, `${queue}-${lane}`, options),
    lanes: async () => parts.lanes,
    removeLane: async (lane) => (parts.done.push(`remove ${lane}`), true),
  };
}

function answerOf({ done }: Parts, answers: PublishResult[], what: string, keep: () => unknown): PublishResult {
  const answer = answers.shift() ?? stored;
  done.push(`${what}: ${answer.kind}`);
  if (answer.kind === "stored") keep();
  return answer;
}

function pullOf({ pulls }: Parts, name: string, options: Omit<PullOptions, "stream" | "consumer">): Pull {
  const pull: MemoryPull = { ...options, name, topUps: 0, startsOver: 0, isOver: false };
  pulls.push(pull);
  pull.onOpen();
  return {
    topUp: () => void (pull.topUps += 1),
    watch: () => undefined,
    startOver: () => void (pull.startsOver += 1),
    stop: async () => void (pull.isOver = true),
  };
}

function kindOf(text: string): string {
  const { kind, settlement } = JSON.parse(text) as {
    readonly kind?: string;
    readonly settlement?: { readonly kind: string };
  };
  return settlement?.kind ?? kind ?? "?";
}
