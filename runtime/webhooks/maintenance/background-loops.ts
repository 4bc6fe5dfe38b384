import type { LaneOwnership } from "../workers/lane-ownership.ts";
import { keepAliveMs } from "../delivery/in-flight.ts";
import type { Lanes } from "../workers/lane-workers.ts";
import type { Log } from "../log.ts";
import type { Router, RouterDeps } from "../delivery/router.ts";
import type { Partner } from "../partners/partner.ts";
import { runPeriodically } from "../../bounds/periodic.ts";
import { createDueBacklog } from "./due-backlog.ts";
import { createHeldBytes } from "./held-bytes.ts";
import { createOldestDue } from "./oldest-due.ts";

/** What runs beside routing and delivering. */
export interface BackgroundParts {
  readonly context: RouterDeps;
  readonly router: Router;
  readonly lanes: Lanes;
  readonly ownership: LaneOwnership;
  readonly partners: () => readonly Partner[];
  /** Bytes that may wait for delivery. */
  readonly deliveriesBytesMax: number;
  /** What this pod looks at once a second. */
  readonly looks: readonly (() => Promise<void>)[];
  /** What one pod does for all of them, made anew whenever this pod becomes the one. */
  readonly jobs: readonly MaintenanceJob[];
}

/** Something that is looked after in turns. */
export interface MaintenanceJob {
  readonly name: string;
  readonly periodMs: number;
  /** Begins with fresh eyes and answers one turn. */
  readonly begin: () => () => Promise<void>;
}

const backlogMs = 1_000;
const leftoversMs = 5_000;
/** Routing resumes when this part of the room for deliveries is free again. */
const resumeShare = 0.95;
/** The home of this name, which is no partner's token, has the duties. */
const leaderKey = "duties";

/** Starts what runs in turns; the answer ends it. */
export function startBackground(parts: BackgroundParts): () => void {
  const { context, router, lanes, ownership, partners, jobs } = parts;
  const { deliveries, partnerMetrics: metrics, now } = context;
  const isOwner = (lane: string): boolean => ownership.isOwner(lane);
  const own = (): readonly Partner[] => partners().filter(({ lane }) => isOwner(lane));
  const stops = [
    runPeriodically(keepAliveMs, async () => {
      router.keepAlive();
      lanes.keepAlive();
    }),
    runPeriodically(backlogMs, sizeLook(parts)),
    runPeriodically(backlogMs, createOldestDue({ deliveries, own, metrics, now })),
    runPeriodically(backlogMs, createDueBacklog({ deliveries, partners, isOwner, metrics })),
    ...parts.looks.map((look) => runPeriodically(backlogMs, look)),
    runPeriodically(leftoversMs, () => lanes.lookForLeftovers()),
    ...jobs.map((job) => runPeriodically(job.periodMs, leaderTurn(job, ownership, context.log))),
  ];
  return () => stops.forEach((stop) => stop());
}

/** A turn of a duty, if this pod has it; one line when it begins to fail and one when it goes on. */
function leaderTurn({ name, begin }: MaintenanceJob, ownership: LaneOwnership, log: Log): () => Promise<void> {
  let turn: (() => Promise<void>) | undefined;
  let isFailing = false;
  return async () => {
    turn = ownership.isOwner(leaderKey) ? (turn ?? begin()) : undefined;
    try {
      await turn?.();
      if (isFailing) {
        log.info({ duty: name }, "a duty of the installation is done again");
      }
      isFailing = false;
    } catch (error) {
      turn = undefined;
      if (!isFailing) {
        log.warn({ err: error, duty: name }, "a duty of the installation fails, trying again");
      }
      isFailing = true;
    }
  };
}

/** Holds routing while too much waits for delivery; events then fill their own stream, and producers are told so. */
function sizeLook({ context, router, partners, deliveriesBytesMax: bytesMax }: BackgroundParts): () => Promise<void> {
  const { deliveries, log } = context;
  const heldBytes = createHeldBytes({ deliveries, partners });
  let isHeld = false;
  return async () => {
    const { bytes: all } = await deliveries.size();
    const limit = isHeld ? bytesMax * resumeShare : bytesMax;
    // What waits for a partner that is held is bounded by that partner's own limit, and no reason to refuse producers.
    const bytes = all > limit ? all - (await heldBytes()) : all;
    const isTooMuch = bytes > limit;
    if (isTooMuch !== isHeld) {
      isHeld = isTooMuch;
      log.warn({ bytes, bytesMax }, isHeld ? "too much waits for delivery, routing is held" : "routing goes on");
      router.hold(isHeld);
    }
  };
}
