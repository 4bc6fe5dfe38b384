import { retryUntilReply } from "../../nats/connection/retry-until-reply.ts";
import type { ReplaysStream } from "../../nats/streams/replays-stream.ts";
import { isUnstored, parseAttempts, type AttemptRecord } from "../records/attempt-records.ts";
import { deadLettersOfDelivery, parseDeadLetter } from "../records/dead-letter-record.ts";
import { deliveryMessage, type DeliveryRecord } from "../records/delivery-record.ts";
import { selectPayload } from "../events/payload-selection.ts";
import { parseHandled, routedByText } from "../records/event-record.ts";
import type { DeliveryContext } from "../delivery/delivery-context.ts";
import { readStoredMessages } from "../delivery/redelivery.ts";
import { acknowledgeLetter, type AcknowledgeDeps } from "./acknowledge-letter.ts";
import { decideReplay, type DeliveryState, type ReplayCandidate, type ReplayDecision } from "./decide-replay.ts";
import type { ReadDeps, ReplayChunk, ReplayUnit } from "./read-chunk.ts";
import type { ReplayPace } from "./replay-pace.ts";
import { noTally, sumOf, tallied, type ReplayJob, type ReplayTally } from "./replay-job.ts";
import { NoReplyError } from "../../nats/connection/requests.ts";

export interface ReplayDeps
  extends
    ReadDeps,
    Omit<AcknowledgeDeps, "deadLetters">,
    Pick<DeliveryContext, "deliveries" | "attempts" | "now" | "clock" | "log" | "ending"> {
  readonly replays: ReplaysStream;
}

/** What only the pod that runs replays needs. */
export interface RunDeps extends ReplayDeps {
  readonly pace: ReplayPace;
  /** False when another pod may run replays now: this process stood still, or its connection did. */
  readonly isLeader: () => boolean;
}

/** Another pod runs this replay now. */
class NotLeader extends Error {
  override readonly name = "NotLeader";
}

/** Deliveries of a chunk that are processed concurrently. */
const unitsAtOnceMax = 16;
const hopsMax = 8;
/** `message size exceeds maximum allowed`. Source: nats-server `errors.json`. */
const tooLargeCode = 10054;

/**
 * Publishes the deliveries of a chunk, or acknowledges its dead letters. A repetition of the same chunk finds what is
 * done and changes nothing.
 *
 * @throws Error when a delivery cannot be stored now; the chunk must be repeated
 */
export async function runChunk(
  deps: RunDeps,
  job: ReplayJob,
  { units, missing, letters = [] }: ReplayChunk,
): Promise<{ readonly tally: ReplayTally; readonly published: number; readonly partners: readonly string[] }> {
  let tally: ReplayTally = { ...noTally, missing, matched: letters.length };
  let published = letters.length;
  const partners = new Set(letters.map(({ deadLetter: { partnerName: of } }) => `${of.namespace}/${of.name}`));
  for (let start = 0; start < letters.length; start += unitsAtOnceMax) {
    if (!deps.isLeader()) throw new NotLeader(`another pod may run the job ${job.id}`);
    await Promise.all(
      letters.slice(start, start + unitsAtOnceMax).map((letter) => acknowledgeLetter(deps, job, letter)),
    );
  }
  for (let start = 0; start < units.length; start += unitsAtOnceMax) {
    const some = units.slice(start, start + unitsAtOnceMax);
    const kinds = await Promise.all(some.map((unit) => replayOne(deps, job, unit)));
    some.forEach(({ partner }, at) => kinds[at] !== "unmatched" && partners.add(partner.label));
    tally = kinds.map((kind) => tallies[kind]).reduce(sumOf, tally);
    published += kinds.filter((kind) => kind === "publish").length;
  }
  return { tally, published, partners: [...partners] };
}

/** Counts the deliveries of a chunk without publishing them. */
export async function countChunk(
  deps: ReplayDeps,
  job: ReplayJob,
  { units, missing, letters = [] }: ReplayChunk,
): Promise<ReplayTally> {
  let tally: ReplayTally = { ...noTally, missing, matched: letters.length };
  for (let start = 0; start < units.length; start += unitsAtOnceMax) {
    const some = units.slice(start, start + unitsAtOnceMax);
    const kinds = await Promise.all(some.map(async (unit) => (await decide(deps, job, unit)).kind));
    tally = kinds.map((kind) => tallies[kind]).reduce(sumOf, tally);
  }
  return tally;
}

const tallies: Readonly<Record<ReplayDecision["kind"], ReplayTally>> = {
  unmatched: noTally,
  in_progress: tallied(noTally, "matched", "inProgress"),
  too_old: tallied(noTally, "matched", "tooOld"),
  done: tallied(noTally, "matched"),
  publish: tallied(noTally, "matched"),
};

async function decide(deps: ReplayDeps, job: ReplayJob, unit: ReplayUnit): Promise<ReplayDecision> {
  const state = await readDeliveryState(deps, unit);
  // An event may be under way to another partner only.
  if (!unit.isRouted && state.live.length === 0 && isUnstored(state.attempts))
    return { kind: job.filter.onlyFailed ? "unmatched" : "in_progress" };
  return decideReplay(candidateOf(deps, job, unit), state);
}

function candidateOf(
  { now }: ReplayDeps,
  job: ReplayJob,
  { deadLetter, acceptedAtMs, partner, payload, routedBy }: ReplayUnit,
): ReplayCandidate {
  return {
    replayId: job.id,
    onlyFailed: job.filter.onlyFailed,
    force: job.force,
    acceptedAtMs,
    idempotencyMs: partner.config.endpoint.idempotencyMs,
    nowMs: now(),
    payload,
    deadLetterRoutedBy: routedBy,
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

async function replayOne(deps: RunDeps, job: ReplayJob, unit: ReplayUnit): Promise<ReplayDecision["kind"]> {
  for (let hop = 0; hop < hopsMax; hop += 1) {
    const decision = await decide(deps, job, unit);
    if (decision.kind === "publish") {
      await deps.pace.turn(unit.partner);
      // Longer ago than JetStream recognizes duplicates, another pod may have published the delivery, and it has ended.
      if (!deps.isLeader()) throw new NotLeader(`another pod may run the replay ${job.id}`);
      const delivery = recordOf(deps, job, unit, decision, hop);
      const result = await retryUntilReply(
        () =>
          deps.deliveries.publishFirst(
            deliveryMessage(delivery, unit.partner.lane, selectPayload(unit.body, decision.payload)),
          ),
        { signal: deps.ending },
      );
      if (result.kind === "rejected") {
        const { eventId, partner } = unit;
        const message = `JetStream rejects the delivery of event ${eventId} to ${partner.label}: ${result.detail}`;
        throw new ReplayFault(message, result.code === tooLargeCode);
      }
      if (result.kind !== "stored") {
        // Another replay was first, or the message id was used before. The next iteration reads the state again.
        continue;
      }
    }
    if (decision.kind === "publish" || decision.kind === "done") await settlePublished(deps, job, unit);
    return decision.kind;
  }
  const { label } = unit.partner;
  throw new ReplayFault(`other pods changed the delivery of event ${unit.eventId} to ${label} ${hopsMax} times`, false);
}

function recordOf(
  { now }: ReplayDeps,
  job: ReplayJob,
  unit: ReplayUnit,
  { generation, attemptsBefore, payload }: Extract<ReplayDecision, { kind: "publish" }>,
  hop: number,
): DeliveryRecord {
  const { did, partner, tenant, eventId, type, producer, trace } = unit;
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
    ...(trace === undefined ? {} : { trace }),
    ...(payload.length === 0 ? {} : { routedBy: routedByText(undefined, undefined, payload) }),
  };
}

/** Counts the delivery and removes the dead letters that it replaces. */
async function settlePublished(deps: ReplayDeps, job: ReplayJob, unit: ReplayUnit): Promise<void> {
  const { did, partner } = unit;
  const { ending: signal } = deps;
  await retryUntilReply(() => deps.replays.mark(job.id, "published", did), { signal });
  for (const { seq, data } of await deadLettersOfDelivery(deps.deadLetters, partner, unit)) {
    // A dead letter of this replay itself stays.
    if (parseDeadLetter(data)?.replayId !== job.id) await deps.deadLetters.remove(seq);
  }
}

/** The failure of a chunk of a replay. Callers see its message. */
export class ReplayFault extends Error {
  /** True when every further try would fail too. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal: boolean) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** Time for which the same chunk may fail before its replay fails, in milliseconds. */
export const failingMsMax = 600_000;
const pauseFirstMs = 500;
const pauseMsMax = 30_000;
const detailCharactersMax = 512;

/**
 * The state of a replay after a chunk failed. The replay fails when the error is final, or after {@link failingMsMax};
 * otherwise it continues later. A NATS that does not respond is not a failure of the replay.
 */
export function afterFailure(job: ReplayJob, error: unknown, nowMs: number): ReplayJob {
  if (error instanceof NoReplyError) return job;
  const failingSince = job.failingSince ?? new Date(nowMs).toISOString();
  const isFinal = error instanceof ReplayFault && error.isFinal;
  const isOver = isFinal || nowMs - Date.parse(failingSince) >= failingMsMax;
  return { ...job, status: isOver ? "failed" : "running", failingSince, detail: detailOf(error) };
}

/** Milliseconds until the next try of a chunk that failed this many times in a row. */
export function pauseAfterFailures(failures: number): number {
  return Math.min(pauseFirstMs * 2 ** (failures - 1), pauseMsMax);
}

function detailOf(error: unknown): string {
  if (error instanceof ReplayFault) return error.message.slice(0, detailCharactersMax);
  return "The replay stopped because of an internal error; see the runtime log for the replay id.";
}
