import type { StreamSettings } from "../../config/settings/settings.ts";
import { createAdvisoriesStream } from "../../nats/streams/advisories-stream.ts";
import { createBucket } from "../../nats/streams/buckets.ts";
import type { NatsConnectionHandle } from "../../nats/connection/connect.ts";
import type { Layout } from "../../nats/layout.ts";
import type { StreamIdentities } from "../../nats/streams/stream-identities.ts";
import { isTopologyWhole, repairTopology } from "../../nats/streams/topology.ts";
import type { MaintenanceJob } from "./background-loops.ts";
import { createPendingEnder } from "./end-pending.ts";
import { createRemovedEnder } from "./end-removed.ts";
import { createHeldExpiry } from "./expire-held.ts";
import { createPartnerRegistry } from "../partners/partner-registry.ts";
import type { Partner } from "../partners/partner.ts";
import { trimEvents } from "./stream-trim.ts";
import { createOrphanSearch, handleAdvisories, type RecoveryDeps } from "./recovery.ts";
import type { Router, RouterDeps } from "../delivery/router.ts";
import type { RunningPartners } from "./running-partners.ts";

interface MaintenanceDeps {
  readonly context: RouterDeps;
  readonly router: Pick<Router, "recover">;
  readonly nats: NatsConnectionHandle;
  readonly layout: Layout;
  readonly streams: StreamSettings;
  /** The streams that were there at the start. */
  readonly known: StreamIdentities;
  /** Partners of the configuration. */
  readonly partners: () => readonly Partner[];
  /** Which partners other pods have. */
  readonly running: RunningPartners;
  /** Begins to run replays, in turns. */
  readonly replays: () => () => Promise<void>;
  /** How long a partner is missing from the configuration before its deliveries end. */
  readonly removedAfterSeconds: number;
  /** As in {@link RecoveryDeps}. */
  readonly orphanAgeMs?: number | undefined;
}

const trimMs = 2_000;
const topologyMs = 5_000;
/** Sizes, ages and replicas are compared with the settings more rarely. */
const topologyTurnsBetweenRepairs = 12;
const replaysMs = 500;
const partnersMs = 2_000;
const advisoriesMs = 5_000;
const orphansMs = 2_000;
const secondMs = 1_000;

/** What one pod does for all of them. */
export function createMaintenanceJobs(deps: MaintenanceDeps): readonly MaintenanceJob[] {
  const { context, streams } = deps;
  return [
    {
      name: "room",
      periodMs: trimMs,
      begin: () => () => trimEvents(context.events, streams.events.maxBytes, context.log),
    },
    { name: "topology", periodMs: topologyMs, begin: () => topologyJob(deps) },
    { name: "replays", periodMs: replaysMs, begin: deps.replays },
    { name: "partners", periodMs: partnersMs, begin: () => partnersJob(deps) },
    { name: "held", periodMs: partnersMs, begin: () => heldJob(deps) },
    { name: "advisories", periodMs: advisoriesMs, begin: () => () => handleAdvisories(recoveryDeps(deps)) },
    { name: "orphans", periodMs: orphansMs, begin: () => createOrphanSearch(recoveryDeps(deps)) },
  ];
}

function recoveryDeps({ context, router, nats, layout, partners, orphanAgeMs }: MaintenanceDeps): RecoveryDeps {
  return {
    context,
    router,
    partners,
    advisories: createAdvisoriesStream(nats, layout),
    streams: layout.streams,
    registry: createBucket(nats, layout.buckets.partners),
    orphanAgeMs,
  };
}

function topologyJob(deps: MaintenanceDeps): () => Promise<void> {
  let turns = 0;
  return async () => {
    const isEasy = turns % topologyTurnsBetweenRepairs !== 0;
    turns += 1;
    if (!isEasy || !(await isTopologyWhole(deps.nats, deps.streams))) await repair(deps);
  };
}

/** Makes again what somebody deleted. Deliveries that went with their stream are made again out of the events. */
async function repair({ context, nats, layout, streams, known }: MaintenanceDeps): Promise<void> {
  const made = await repairTopology(nats, streams, known);
  if (made.length > 0) {
    context.log.error({ streams: made }, "streams were missing and are made again");
  }
  if (made.includes(layout.streams.deliveries)) {
    await context.events.forgetRouter();
  }
}

function heldJob({ context, partners }: MaintenanceDeps): () => Promise<void> {
  return createHeldExpiry({ partners, ender: createPendingEnder(context), now: context.now });
}

function partnersJob({
  context,
  nats,
  layout,
  partners,
  running,
  removedAfterSeconds,
}: MaintenanceDeps): () => Promise<void> {
  const end = createRemovedEnder({ context, partners, ender: createPendingEnder(context) });
  return createPartnerRegistry({
    bucket: createBucket(nats, layout.buckets.partners),
    partners,
    running: (tokens) => running.among(tokens),
    end: async (entry) => {
      const isGone = await end(entry);
      const { promotedPartners, fullPartners, disabledPartners } = layout.buckets;
      const marks = isGone ? [promotedPartners, fullPartners, disabledPartners] : [];
      await Promise.all(marks.map((bucket) => createBucket(nats, bucket).drop(entry.token)));
      return isGone;
    },
    now: context.now,
    log: context.log,
    removedAfterMs: removedAfterSeconds * secondMs,
  });
}
