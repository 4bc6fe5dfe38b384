import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import type { ReplaysStream } from "../../nats/streams/replays-stream.ts";
import { parseAttempts, type AttemptRecord } from "../records/attempt-records.ts";
import { deadLettersOfDelivery } from "../records/dead-letter-record.ts";
import { deliveryMessage, type DeliveryRecord } from "../records/delivery-record.ts";
import { parseHandled } from "../records/handled-record.ts";
import type { RouterDeps } from "../delivery/router.ts";
import { readStoredMessages } from "../delivery/stored-state.ts";
import { decideReplay, type DeliveryState, type ReplayCandidate, type ReplayDecision } from "./decide-replay.ts";
import { parseDeadLetter, type ReadDeps, type ReplayChunk, type ReplayUnit } from "./read-chunk.ts";
import { ReplayFault } from "./replay-fault.ts";
import { noTally, sumOf, tallied, type ReplayJob, type ReplayTally } from "./replay-job.ts";

export interface ReplayDeps extends ReadDeps, Pick<RouterDeps, "deliveries" | "attempts" | "now" | "log" | "ending"> {
  readonly replays: ReplaysStream;
}

/** Deliveries of a part that are looked at at once. */
const unitsAtOnceMax = 16;
const hopsMax = 8;
/** `message size exceeds maximum allowed`. Source: nats-server `errors.json`. */
const tooLargeCode = 10054;

/**
 * Carries a part of a replay out. Doing the same part again changes nothing: what was published is found.
 *
 * @throws Error when a delivery cannot be stored now; the part is to be done again
 */
export async function runChunk(
  deps: ReplayDeps,
  job: ReplayJob,
  { units, missing }: ReplayChunk,
): Promise<{ readonly tally: ReplayTally; readonly published: number }> {
  let tally: ReplayTally = { ...noTally, missing };
  let published = 0;
  for (let start = 0; start < units.length; start += unitsAtOnceMax) {
    const kinds = await Promise.all(
      units.slice(start, start + unitsAtOnceMax).map((unit) => replayOne(deps, job, unit)),
    );
    tally = kinds.map(tallyOf).reduce(sumOf, tally);
    published += kinds.filter((kind) => kind === "publish").length;
  }
  return { tally, published };
}

/** What a part would come to, without doing anything. */
export async function countChunk(
  deps: ReplayDeps,
  job: ReplayJob,
  { units, missing }: ReplayChunk,
): Promise<ReplayTally> {
  let tally: ReplayTally = { ...noTally, missing };
  for (let start = 0; start < units.length; start += unitsAtOnceMax) {
    const some = units.slice(start, start + unitsAtOnceMax);
    const kinds = await Promise.all(some.map(async (unit) => (await decide(deps, job, unit)).kind));
    tally = kinds.map(tallyOf).reduce(sumOf, tally);
  }
  return tally;
}

function tallyOf(kind: ReplayDecision["kind"]): ReplayTally {
  switch (kind) {
    case "unmatched":
      return noTally;
    case "in_progress":
      return tallied(noTally, "matched", "inProgress");
    case "too_old":
      return tallied(noTally, "matched", "tooOld");
    case "done":
    case "publish":
      return tallied(noTally, "matched");
    default:
      throw new Error(`unknown decision ${String(kind satisfies never)}`);
  }
}

async function decide(deps: ReplayDeps, job: ReplayJob, unit: ReplayUnit): Promise<ReplayDecision> {
  if (!unit.isRouted) {
    return { kind: job.filter.onlyFailed ? "unmatched" : "in_progress" };
  }
  return decideReplay(candidateOf(deps, job, unit), await readDeliveryState(deps, unit));
}

function candidateOf(
  { now }: ReplayDeps,
  job: ReplayJob,
  { deadLetter, acceptedAtMs, partner }: ReplayUnit,
): ReplayCandidate {
  return {
    replayId: job.id,
    onlyFailed: job.filter.onlyFailed,
    force: job.force,
    acceptedAtMs,
    idempotencyMs: partner.config.endpoint.idempotencyMs,
    nowMs: now(),
    ...(deadLetter === undefined
      ? {}
      : { deadLetterGeneration: deadLetter.generation, deadLetterNumber: deadLetter.number }),
  };
}

async function readDeliveryState(deps: ReplayDeps, unit: ReplayUnit): Promise<DeliveryState> {
  const { did, partner } = unit;
  const { live, records } = await readStoredMessages(deps, { ...unit, partner: partner.key }, partner);
  const attempts = parseAttempts(records);
  const { namespace, name } = partner.config;
  const isOfName = (attempt: AttemptRecord): boolean =>
    attempt.partner.namespace === namespace && attempt.partner.name === name;
  return {
    live,
    attempts: attempts.filter((attempt) => attempt.did === did),
    before: attempts.filter((attempt) => attempt.did !== did && isOfName(attempt)),
    handled: parseHandled(records).filter((note) => note.did === did),
  };
}

async function replayOne(deps: ReplayDeps, job: ReplayJob, unit: ReplayUnit): Promise<ReplayDecision["kind"]> {
  for (let hop = 0; hop < hopsMax; hop += 1) {
    const decision = await decide(deps, job, unit);
    if (decision.kind === "publish") {
      const delivery = itemOf(deps, job, unit, decision, hop);
      const answer = await untilAnswered(
        () => deps.deliveries.publishFirst(deliveryMessage(delivery, unit.partner.lane, unit.body)),
        { signal: deps.ending },
      );
      if (answer.kind === "refused") {
        const isFinal = answer.code === tooLargeCode;
        throw new ReplayFault(
          `JetStream refuses the delivery of event ${unit.eventId} to ${unit.partner.label}: ${answer.detail}`,
          isFinal,
        );
      }
      if (answer.kind !== "stored") {
        // Another replay was first, or the id was used and nothing of it is left: the next look tells.
        continue;
      }
    }
    if (decision.kind === "publish" || decision.kind === "done") {
      await settlePublished(deps, job, unit);
    }
    return decision.kind;
  }
  throw new ReplayFault(
    `the delivery of event ${unit.eventId} to ${unit.partner.label} is changed by others again and again`,
    false,
  );
}

function itemOf(
  { now }: ReplayDeps,
  job: ReplayJob,
  unit: ReplayUnit,
  { generation, attemptsBefore }: Extract<ReplayDecision, { kind: "publish" }>,
  hop: number,
): DeliveryRecord {
  const { did, partner, tenant, eventId, type, producer } = unit;
  return {
    did,
    partner: partner.key,
    tenant,
    eventId,
    type,
    acceptedAtMs: now(),
    generation,
    attempt: 1,
    hop,
    attemptsBefore,
    replayId: job.id,
    ...(producer === undefined ? {} : { producer }),
  };
}

/** Counts the delivery, and takes the dead letters out that it makes good for. */
async function settlePublished(deps: ReplayDeps, job: ReplayJob, unit: ReplayUnit): Promise<void> {
  const { did, partner } = unit;
  const { ending: signal } = deps;
  await untilAnswered(() => deps.replays.mark(job.id, "published", did), { signal });
  for (const { seq, data } of await deadLettersOfDelivery(deps.deadLetters, partner, unit)) {
    // What this very replay came to may be a dead letter already.
    if (parseDeadLetter(data)?.replayId !== job.id) {
      await deps.deadLetters.remove(seq);
    }
  }
}
