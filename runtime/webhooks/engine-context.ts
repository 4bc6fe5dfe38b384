import { randomBytes } from "node:crypto";
import { Registry } from "prom-client";
import type { RuntimeConfig } from "../../crds/config.ts";
import { backgroundClock } from "../../limits/clock.ts";
import type { Settings } from "../config/settings/settings.ts";
import type { NatsConnectionHandle } from "../nats/connection/connect.ts";
import type { Layout } from "../nats/layout.ts";
import type { PodMessages } from "../nats/messages/pod-messages.ts";
import { createBucket } from "../nats/streams/buckets.ts";
import { createEventIndexStream } from "../nats/streams/event-index-stream.ts";
import type { StreamWrites } from "../nats/streams/stream-writes.ts";
import { createWatchedStreams } from "./delivery/watched-streams.ts";
import { createReplaysStream } from "../nats/streams/replays-stream.ts";
import type { StreamRecord } from "../nats/streams/stream-identities.ts";
import type { Tracer } from "../tracing/tracer.ts";
import { createTokens } from "./authorization/access-tokens.ts";
import { createEndpointValidations } from "./authorization/endpoint-validation.ts";
import { createBacklogs, type Backlogs } from "./routing/backlog-limit.ts";
import { createOperationalEvents } from "./delivery/operational-events.ts";
import { createPartnerHolds, createDisabledPartners, holdsPod } from "./partners/partner-holds.ts";
import type { RouterDeps } from "./routing/missing-steps.ts";
import { createCachedBlock, createFindBlock } from "./history/find-block.ts";
import { createEventIndex } from "./event-index/event-index.ts";
import type { IndexedDeps } from "./history/indexed-list.ts";
import { createPartnerFigures, type PartnerFigures } from "./live/live-state.ts";
import type { Log } from "./log.ts";
import type { ConfigFolder, Partner } from "./partners/partner.ts";
import type { ConfiguredPartners } from "./partners/configured-partners.ts";
import { createListPartner, createRemovedPartners } from "./partners/partner-registry.ts";
import { createSettledCounter } from "./replay/replay-job.ts";
import { createDeadLetterIndex } from "./replay/dead-letter-index.ts";
import { createSelectedLetters } from "./replay/selected-letters.ts";
import type { DeadLetterDeps } from "./replay/dead-letters-api.ts";
import type { ReplayDeps } from "./replay/run-chunk.ts";
import { createSender, type Sender } from "./sending/send.ts";
import { createDeliveryMetrics, createPartnerMetrics } from "./telemetry/delivery-metrics.ts";
import { createDeliverySpans } from "./telemetry/delivery-spans.ts";

/** Dependencies of the webhook engine. */
export interface WebhookEngineDeps {
  readonly nats: NatsConnectionHandle;
  readonly settings: Settings;
  readonly config: RuntimeConfig;
  /** Hash of the configuration, for the records of routing. @default they do not contain it */
  readonly configHash?: string;
  readonly log: Log;
  /** @default a new one */
  readonly registry?: Registry;
  /** @default no spans */
  readonly tracer?: Tracer | undefined;
  /** Folder that the configuration is read from. @default it is in a cluster */
  readonly configFolder?: ConfigFolder | undefined;
  /** Unique among the pods. */
  readonly podId: string;
  /** Version of this program, for `User-Agent`. @default "dev" */
  readonly version?: string;
  /** @default guarded connections over the network of the system */
  readonly sender?: Sender;
  /** Requests between pods, for the partners that other pods have. @default no requests */
  readonly peers?: Pick<PodMessages, "request" | "serve">;
  /** The streams as they are kept outside NATS. @default the pods alone remember them */
  readonly streamRecord?: StreamRecord;
}

/** Dependencies of routing, delivery, history and replay. */
export interface EngineContext extends RouterDeps, ReplayDeps, IndexedDeps, DeadLetterDeps {
  /** What the writes of this pod show about its streams. */
  readonly writes: StreamWrites;
  readonly backlogs: Backlogs;
  /** @see ConfiguredPartners.mayExist */
  readonly mayExist: (key: string) => boolean;
  /** @see ConfiguredPartners.notApplied */
  readonly notApplied: ConfiguredPartners["notApplied"];
  /** @see ConfiguredPartners.declared */
  readonly declared: ConfiguredPartners["declared"];
  /** The last counts of this pod. */
  readonly figures: PartnerFigures;
}

interface ContextParts {
  readonly layout: Layout;
  readonly partners: ConfiguredPartners;
  /** True when this pod owns the lane of the partner. */
  readonly isOwn: (partner: Partner) => boolean;
  readonly ending: AbortSignal;
}

export function createEngineContext(deps: WebhookEngineDeps, parts: ContextParts): EngineContext {
  const { nats, settings, log, version = "dev" } = deps;
  const { layout, partners, isOwn, ending } = parts;
  const { buckets } = layout;
  const { writes, events, attempts, deliveries, deadLetters } = createWatchedStreams(nats, layout);
  const replays = createReplaysStream(nats, layout);
  const now = (): number => nats.clock.now();
  const registry = deps.registry ?? new Registry();
  const sender = deps.sender ?? createSender();
  const tokens = createTokens(sender, now);
  const countSettled = createSettledCounter(replays, log, ending);
  const operational = createOperationalEvents({
    events,
    table: partners.table,
    now,
    installation: settings.name,
    nonce: createNonce(),
    log,
    signal: ending,
  });
  const deadLetterIndex = createDeadLetterIndex(deadLetters);
  return {
    writes,
    events,
    deliveries,
    attempts,
    deadLetters,
    deadLetterIndex,
    selectedLetters: createSelectedLetters({ deadLetters, deadLetterIndex, partners: partners.all }),
    replays,
    index: createEventIndex({ stream: createEventIndexStream(nats, layout), attempts, clock: backgroundClock }),
    ...createBlocks(deps, parts, now),
    partners: partners.all,
    mayExist: partners.mayExist,
    notApplied: partners.notApplied,
    declared: partners.declared,
    table: partners.table,
    removed: createRemovedPartners(createBucket(nats, buckets.partners), partners),
    backlogs: createBacklogs({
      deliveries,
      bucket: createBucket(nats, buckets.fullPartners),
      partners: partners.all,
      isOwn,
      log,
    }),
    listPartner: createListPartner(createBucket(nats, buckets.partners), ending),
    sender,
    tokens,
    validations: createEndpointValidations({ sender, tokens, origin: settings.name, version, now }),
    now,
    clock: backgroundClock,
    random: Math.random,
    podId: deps.podId,
    installation: settings.name,
    version,
    log,
    metrics: createDeliveryMetrics(registry),
    spans: createDeliverySpans(deps.tracer),
    partnerMetrics: createPartnerMetrics(registry),
    figures: createPartnerFigures(),
    onSettled: async (settled) => {
      await Promise.all([countSettled(settled), operational.settled(settled)]);
    },
    onBreakerOpen: (partner, restMs) => operational.breakerOpened(partner, restMs),
    ending,
  };
}

/** What keeps partners waiting: marks of a 410, and pauses. */
function createBlocks({ nats, log }: WebhookEngineDeps, { layout, ending: signal }: ContextParts, now: () => number) {
  const announce = (message: object): void =>
    nats.outbox.publish(`${layout.podSubject(holdsPod)}.held`, JSON.stringify(message));
  const disabled = createDisabledPartners(createBucket(nats, layout.buckets.disabledPartners), announce);
  const holds = createPartnerHolds({
    bucket: createBucket(nats, layout.buckets.pausedPartners),
    announce,
    log,
    signal,
  });
  const findBlock = createFindBlock({ disabled, holds, now });
  return { disabled, holds, findBlock, findCachedBlock: createCachedBlock(findBlock) };
}

const nonceBytes = 9;

/** Creates texts that no other request of any pod has: a random prefix of this process and a count. */
export function createNonce(): () => string {
  const prefix = randomBytes(nonceBytes).toString("base64url");
  let count = 0;
  return () => {
    count += 1;
    return `${prefix}.${count.toString(36)}`;
  };
}
