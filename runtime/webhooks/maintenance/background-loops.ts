// Maintenance: the periodic loops of each pod, and the jobs that the leader pod runs for all pods. It serves no
// requests.

import { runPeriodically } from "../../../limits/clock.ts";
import type { LaneOwnership } from "../workers/lane-ownership.ts";
import { keepAliveMs } from "../delivery/in-flight.ts";
import type { Lanes } from "../workers/lane-workers.ts";
import type { PartnerFigures } from "../live/live-state.ts";
import type { Log } from "../log.ts";
import type { Router } from "../routing/router.ts";
import type { RouterDeps } from "../routing/missing-steps.ts";
import type { Partner } from "../partners/partner.ts";
import { createDueBacklog, createHeldBytes, createOldestDue } from "./due-backlog.ts";
import type { StreamWatch } from "./stream-watch.ts";

/** Dependencies of the loops. */
export interface BackgroundParts {
  readonly context: MaintenanceContext;
  readonly router: Router;
  readonly lanes: Lanes;
  readonly ownership: LaneOwnership;
  readonly streamWatch: StreamWatch;
  /** Maximum size of the deliveries stream, in bytes. */
  readonly deliveriesBytesMax: number;
  /** Runs in every pod once a second. */
  readonly polls: readonly (() => Promise<void>)[];
  readonly jobs: readonly MaintenanceJob[];
}

/** Dependencies of the room: those of the router, and the configured partners. */
export interface MaintenanceContext extends RouterDeps {
  readonly partners: () => readonly Partner[];
  /** @see ConfiguredPartners.mayExist */
  readonly mayExist: (key: string) => boolean;
  readonly figures: PartnerFigures;
}

/** Periodic work that the leader pod does for all pods. */
export interface MaintenanceJob {
  readonly name: string;
  readonly periodMs: number;
  /** True for a job that restores what heartbeats need. It runs without a current one, perhaps in two pods at once. */
  readonly isRepair?: boolean;
  /** Called when this pod becomes the leader, and after a failure; returns a function that does one run. */
  readonly begin: () => () => Promise<void>;
}

const pollMs = 1_000;
const streamWatchMs = 5_000;
const leftoversMs = 5_000;
/** Share of the maximum size below which routing resumes. */
const resumeShare = 0.95;
/** The owner of this key is the leader pod. All versions must use the same key; no partner has it. */
export const leaderKey = "duties";

/** Starts all loops. Returns a function that stops them. */
export function startBackground(parts: BackgroundParts): () => void {
  const { context, router, lanes, ownership, streamWatch, polls, jobs } = parts;
  const { deliveries, partners, partnerMetrics: metrics, figures, now } = context;
  const isOwner = (lane: string): boolean => ownership.isOwner(lane);
  const own = (): readonly Partner[] => partners().filter(({ lane }) => isOwner(lane));
  const stops = [
    runPeriodically(keepAliveMs, async () => {
      router.keepAlive();
      lanes.keepAlive();
    }),
    runPeriodically(pollMs, createSizePoll(parts)),
    runPeriodically(
      pollMs,
      orElse(createOldestDue({ deliveries, own, metrics, figures, now }), () => metrics.unknown("oldestDue")),
    ),
    runPeriodically(
      pollMs,
      orElse(createDueBacklog({ deliveries, partners, isOwner, direct: () => lanes.direct(), metrics, figures }), () =>
        metrics.unknown("backlog"),
      ),
    ),
    ...polls.map((poll) => runPeriodically(pollMs, poll)),
    runPeriodically(streamWatchMs, () => streamWatch.poll()),
    runPeriodically(leftoversMs, () => lanes.lookForLeftovers()),
    ...jobs.map((job) => runPeriodically(job.periodMs, createLeaderRun(job, ownership, context.log))),
  ];
  return () => stops.forEach((stop) => stop());
}

/** Calls `failed` before a failed run ends. */
function orElse(run: () => Promise<void>, failed: () => void): () => Promise<void> {
  return () =>
    run().catch((error: unknown) => {
      failed();
      throw error;
    });
}

/** Runs a job while this pod is the leader. Logs when the job begins to fail, and when it succeeds again. */
function createLeaderRun(
  { name, begin, isRepair = false }: MaintenanceJob,
  ownership: LaneOwnership,
  log: Log,
): () => Promise<void> {
  let run: (() => Promise<void>) | undefined;
  let isFailing = false;
  return async () => {
    run = (isRepair || ownership.isCurrent()) && ownership.isOwner(leaderKey) ? (run ?? begin()) : undefined;
    try {
      await run?.();
      if (isFailing) log.info({ duty: name }, "maintenance job recovered");
      isFailing = false;
    } catch (error) {
      run = undefined;
      if (!isFailing) log.warn({ err: error, duty: name }, "maintenance job failed, retry scheduled");
      isFailing = true;
    }
  };
}

/**
 * Stops routing while the deliveries stream is full. Events then fill their own stream, and ingest rejects producers.
 */
function createSizePoll({ context, router, deliveriesBytesMax: bytesMax }: BackgroundParts): () => Promise<void> {
  const { deliveries, partners, log } = context;
  const heldBytes = createHeldBytes({ deliveries, partners });
  let isHeld = false;
  return async () => {
    const { bytes: all } = await deliveries.size();
    const limit = isHeld ? bytesMax * resumeShare : bytesMax;
    // Deliveries of a held partner have their own limit and are no reason to reject producers.
    const bytes = all > limit ? all - (await heldBytes()) : all;
    const isTooMuch = bytes > limit;
    if (isTooMuch !== isHeld) {
      isHeld = isTooMuch;
      log.warn({ bytes, bytesMax }, isHeld ? "deliveries stream full, routing paused" : "routing resumed");
      router.hold(isHeld);
    }
  };
}
