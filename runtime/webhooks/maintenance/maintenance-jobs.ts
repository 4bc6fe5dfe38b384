import type { Settings } from "../../config/settings/settings.ts";
import { createAttemptsStream } from "../../nats/streams/attempts-stream.ts";
import { createEventIndexStream } from "../../nats/streams/event-index-stream.ts";
import { createAdvisoriesStream } from "../../nats/streams/advisories-stream.ts";
import { createBucket } from "../../nats/streams/buckets.ts";
import type { NatsConnectionHandle } from "../../nats/connection/connect.ts";
import type { Layout } from "../../nats/layout.ts";
import { readIdentities, type StreamIdentities } from "../../nats/streams/stream-identities.ts";
import { isTopologyWhole, repairTopology } from "../../nats/streams/topology.ts";
import { createIndexWriter } from "../event-index/index-writer.ts";
import type { MaintenanceContext, MaintenanceJob } from "./background-loops.ts";
import { createPendingEnder } from "./end-pending.ts";
import { createRemovedEnder, type RunningPartners, createHeldExpiry } from "./end-removed.ts";
import { createPartnerRegistry } from "../partners/partner-registry.ts";
import { createOrphanSearch, handleAdvisories, type RecoveryDeps } from "./recovery.ts";
import type { Router } from "../routing/router.ts";
import type { StreamSize } from "../../nats/messages/stored-messages.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";
import type { Log } from "../log.ts";

interface MaintenanceDeps {
  readonly context: MaintenanceContext;
  readonly router: Pick<Router, "recover">;
  readonly nats: NatsConnectionHandle;
  readonly layout: Layout;
  readonly settings: Settings;
  /** The streams at the start of this pod. */
  readonly known: StreamIdentities;
  /** False when another pod may run the jobs now: this process stood still, or its connection did. */
  readonly isLeader: () => boolean;
  /** The partners that other pods have configured. */
  readonly running: RunningPartners;
  /** Begins to run replays; returns a function for one run. */
  readonly replays: () => () => Promise<void>;
}

const indexMs = 500;
const trimMs = 2_000;
const topologyMs = 5_000;
/** Sizes, ages and replicas are compared with the settings in every twelfth run only. */
const topologyRunsBetweenRepairs = 12;
const replaysMs = 500;
const partnersMs = 2_000;
const advisoriesMs = 5_000;
const orphansMs = 2_000;
const secondMs = 1_000;

/** Share of the maximum size above which the oldest events are deleted. */
const fullShare = 0.8;
/** Share of the maximum size that remains. */
const keptShare = 0.7;

/** Creates the jobs of the leader pod. */
export function createMaintenanceJobs(deps: MaintenanceDeps): readonly MaintenanceJob[] {
  const { context, settings } = deps;
  return [
    {
      name: "room",
      periodMs: trimMs,
      begin: () => () => trimEvents(context.events, settings.streams.events.maxBytes, context.log),
    },
    { name: "topology", periodMs: topologyMs, isRepair: true, begin: () => topologyJob(deps) },
    { name: "replays", periodMs: replaysMs, begin: deps.replays },
    { name: "partners", periodMs: partnersMs, begin: () => partnersJob(deps) },
    { name: "held", periodMs: partnersMs, begin: () => heldJob(deps) },
    { name: "index", periodMs: indexMs, begin: () => indexJob(deps) },
    { name: "advisories", periodMs: advisoriesMs, begin: () => () => handleAdvisories(recoveryDeps(deps)) },
    { name: "orphans", periodMs: orphansMs, begin: () => createOrphanSearch(recoveryDeps(deps)) },
  ];
}

function recoveryDeps({ context, router, nats, layout }: MaintenanceDeps): RecoveryDeps {
  return {
    context,
    router,
    advisories: createAdvisoriesStream(nats, layout),
    streams: layout.streams,
    registry: createBucket(nats, layout.buckets.partners),
  };
}

function topologyJob(deps: MaintenanceDeps): () => Promise<void> {
  let runs = 0;
  return async () => {
    const isCheck = runs % topologyRunsBetweenRepairs !== 0;
    runs += 1;
    if (!isCheck || !(await isTopologyWhole(deps.nats, deps.settings.streams))) await repair(deps);
  };
}

/** Recreates deleted streams. The router recreates deliveries from events after their stream was lost. */
async function repair({ context, nats, layout, settings, known }: MaintenanceDeps): Promise<void> {
  const created = await repairTopology(nats, settings.streams, known);
  if (created.length > 0) context.log.error({ streams: created }, "missing streams recreated");
  if (created.includes(layout.streams.deliveries)) await context.events.forgetRouter();
}

function indexJob({ context, nats, layout }: MaintenanceDeps): () => Promise<void> {
  return createIndexWriter({
    events: context.events,
    attempts: createAttemptsStream(nats, layout),
    index: createEventIndexStream(nats, layout),
    source: async () => {
      const identities = await readIdentities(nats, layout);
      return [layout.streams.events, layout.streams.attempts].map((name) => identities.get(name)).join(" ");
    },
  });
}

function heldJob({ context, isLeader }: MaintenanceDeps): () => Promise<void> {
  const { partners, disabled, holds, now } = context;
  return createHeldExpiry({ partners, disabled, holds, now, ender: createPendingEnder(context, isLeader) });
}

function partnersJob({ context, isLeader, nats, layout, running, settings }: MaintenanceDeps): () => Promise<void> {
  const end = createRemovedEnder(context, createPendingEnder(context, isLeader));
  return createPartnerRegistry({
    bucket: createBucket(nats, layout.buckets.partners),
    partners: context.partners,
    mayExist: context.mayExist,
    running: (keys) => running.among(keys),
    end: async (entry) => {
      const isGone = await end(entry);
      const { promotedPartners, pausedPartners, fullPartners, disabledPartners } = layout.buckets;
      const marks = isGone ? [promotedPartners, pausedPartners, fullPartners, disabledPartners] : [];
      await Promise.all(marks.map((bucket) => createBucket(nats, bucket).drop(entry.token)));
      return isGone;
    },
    now: context.now,
    log: context.log,
    removedAfterMs: settings.delivery.removedAfterSeconds * secondMs,
  });
}

/**
 * Returns the first sequence to keep, so that old events never cause a rejection; undefined below the limit. Events
 * that are not routed yet always stay, so only these can fill the stream.
 */
export function firstSeqToKeep(size: StreamSize, bytesMax: number, routedUpTo: number): number | undefined {
  if (size.bytes <= bytesMax * fullShare) return undefined;
  const surplus = size.messages - Math.floor((size.messages * bytesMax * keptShare) / size.bytes);
  const keep = Math.min(size.firstSeq + surplus, routedUpTo + 1);
  return keep > size.firstSeq ? keep : undefined;
}

/** Deletes the oldest routed events above the limit. @throws NoReplyError */
async function trimEvents(events: EventsStream, bytesMax: number, log: Log): Promise<void> {
  const size = await events.size();
  const keep =
    size.bytes > bytesMax * fullShare ? firstSeqToKeep(size, bytesMax, await events.routedUpTo()) : undefined;
  if (keep !== undefined) {
    await events.dropBefore(keep);
    log.info({ bytes: size.bytes, bytesMax, firstSeq: keep }, "oldest routed events deleted");
  }
}
