import { unsentReasons } from "../../../api/histories.ts";
import type { FailureCause } from "../../../api/partner-health.ts";
import type { DeadLetter as DeadLetterSummary, DeadLetterCount } from "../../../api/replays.ts";
import { orEventsUnavailable } from "../../errors/api-error.ts";
import type { DeadLettersStream } from "../../nats/streams/dead-letters-stream.ts";
import { includesTenant } from "../ids.ts";
import { readLastFailures, type FailureIndex } from "../history/last-failure.ts";
import type { Partner } from "../partners/partner.ts";
import type { AttemptRecord } from "../records/attempt-records.ts";
import { deadLetterId, deadLetterKeys, parseDeadLetter, type DeadLetter } from "../records/dead-letter-record.ts";
import type { DeadLetterIndex } from "./dead-letter-index.ts";
import { failureDetail, heldDetails, outcomeCode } from "../settlement/outcome.ts";
import {
  countRows,
  createRowFilter,
  isInRange,
  labelOf,
  type DeadLetterGroup,
  type DeadLetterRow,
  type DeadLetterScope,
} from "./dead-letter-rows.ts";
import type { ReplayCaller } from "./replay-job.ts";

interface OverviewDeps {
  readonly deadLetters: Pick<DeadLettersStream, "at">;
  readonly index: DeadLetterIndex;
  readonly eventIndex: FailureIndex;
  readonly partners: () => readonly Partner[];
}

/** Dead letters of all partners, or of some keys, and within the other members of a {@link DeadLetterScope}. */
export interface OverviewQuery extends Pick<DeadLetterScope, "reason" | "types" | "fromMs" | "toMs"> {
  readonly keys?: readonly string[] | undefined;
  /** @default every tenant of the caller */
  readonly tenant?: string;
}

/** The page of an {@link OverviewQuery}. */
interface OverviewPage extends OverviewQuery {
  readonly isNewestFirst: boolean;
  /** Sequence of the last dead letter of the previous page; 0 for the first page. */
  readonly afterSeq: number;
  readonly limit: number;
}

/** Dead letters by partner and reason. */
export interface DeadLetterCounts {
  readonly counts: readonly DeadLetterCount[];
  /** False when there are more: older ones, or some whose tenant is not known yet. */
  readonly isComplete: boolean;
}

/** Dead letters that are read concurrently, and at most for one page. A page may then be short of its limit. */
const readAtOnceMax = 16;
const readMax = 1_024;
const countsMax = 1_000;
/** Ends that follow from failed attempts: they open the circuit breaker, and deliveries wait. */
const failureEnds: ReadonlySet<string> = new Set(["held_expired", "backlog_full"]);

export interface DeadLetterPage {
  readonly items: readonly DeadLetterSummary[];
  /** Sequence after which the next page begins; undefined at the end. */
  readonly nextSeq?: number;
  /** Given by lists of the index: false when there are older dead letters than it holds. */
  readonly isComplete?: boolean;
}

/** Lists dead letters by the index. Each one of the page is read, so that none is shown that is gone. */
export async function listByIndex(
  deps: OverviewDeps,
  page: OverviewPage,
  caller: ReplayCaller,
): Promise<DeadLetterPage> {
  const { isNewestFirst, afterSeq, limit } = page;
  const scope = scopeOf(deps, page, caller);
  const { rows, isWhole } = await orUnavailable(() => deps.index.read());
  const decide = createRowFilter(scope);
  const isAhead = ({ seq }: DeadLetterRow): boolean =>
    isNewestFirst ? afterSeq === 0 || seq < afterSeq : seq > afterSeq;
  const ahead = rows.filter((row) => isAhead(row) && isInRange(scope, row) && decide(row.kind) !== "hidden");
  const ordered = isNewestFirst ? ahead.toReversed() : ahead;
  const items: DeadLetterSummary[] = [];
  let read = 0;
  while (read < Math.min(ordered.length, readMax) && items.length < limit) {
    const some = ordered.slice(read, read + Math.min(readAtOnceMax, limit - items.length));
    const found = await orUnavailable(() => Promise.all(some.map((row) => readOne(deps, row, scope, decide))));
    items.push(...found.filter((summary) => summary !== undefined));
    read += some.length;
  }
  const last = read < ordered.length ? ordered[read - 1] : undefined;
  const shown = await withPartnerFailures(deps.eventIndex, items, caller);
  return { items: shown, isComplete: isWhole, ...(last === undefined ? {} : { nextSeq: last.seq }) };
}

/** Counts the dead letters that a caller may see, without reading them. */
export async function countByIndex(
  deps: OverviewDeps,
  { groupBy, ...query }: OverviewQuery & { readonly groupBy?: DeadLetterGroup | undefined },
  caller: ReplayCaller,
): Promise<DeadLetterCounts> {
  const { rows, isWhole } = await orUnavailable(() => deps.index.read());
  const { counts, isComplete } = countRows(rows, scopeOf(deps, query, caller), groupBy);
  const shown =
    groupBy === undefined ? counts.slice(0, countsMax).map(failureSought(deps)) : counts.slice(0, countsMax);
  return {
    counts: await withPartnerFailures(deps.eventIndex, shown, caller),
    isComplete: isComplete && isWhole && counts.length <= countsMax,
  };
}

function scopeOf(
  { partners }: OverviewDeps,
  { keys, tenant, reason, types, fromMs, toMs }: OverviewQuery,
  caller: ReplayCaller,
): DeadLetterScope {
  const filters = Object.entries({ reason, types, fromMs, toMs }).filter(([, value]) => value !== undefined);
  const labels = new Map(partners().flatMap((partner) => deadLetterKeys(partner).map((key) => [key, partner.label])));
  return {
    // A tenant that the caller may not see has no dead letters for it.
    caller:
      tenant === undefined ? caller : { ...caller, tenants: includesTenant(caller.tenants, tenant) ? [tenant] : [] },
    labels,
    ...(keys === undefined ? {} : { keys: new Set(keys) }),
    ...Object.fromEntries(filters),
  };
}

/** Undefined for a dead letter that is gone, or that the caller may not see by its body. */
async function readOne(
  { deadLetters }: OverviewDeps,
  { seq, kind }: DeadLetterRow,
  { labels }: DeadLetterScope,
  decide: ReturnType<typeof createRowFilter>,
): Promise<DeadLetterSummary | undefined> {
  const message = await deadLetters.at(seq);
  const deadLetter = message === undefined ? undefined : parseDeadLetter(message.data);
  if (deadLetter === undefined) return undefined;
  const { tenant, type, partnerName } = deadLetter;
  const about = { tenant, type, label: `${partnerName.namespace}/${partnerName.name}` };
  const label = labelOf(labels, kind.key, about);
  return label !== undefined && decide({ ...kind, about }) === "shown" ? summaryOf(seq, deadLetter, label) : undefined;
}

/** @throws ApiError `events_unavailable` */
function orUnavailable<T>(read: () => Promise<T>): Promise<T> {
  return orEventsUnavailable(read, "The dead-letter store does not respond");
}

/** The part of a dead letter that lists show. */
export function summaryOf(seq: number, deadLetter: DeadLetter, partner: string): DeadLetterSummary {
  const { did, eventId, tenant, type, state, reason, attemptsBefore, attempt, endedAt, replayId = null } = deadLetter;
  const unsent = deadLetter.attempts.filter(
    ({ outcome }) => outcome.kind === "failure" && unsentReasons.has(outcome.reason),
  );
  const attempts = Math.max(0, attemptsBefore + attempt - unsent.length);
  const named = { dead_letter_id: deadLetterId(seq, did), event_id: eventId, tenant, type, partner };
  return { ...named, state, reason, attempts, ended_at: endedAt, replay_id: replayId, ...endOf(deadLetter) };
}

/** Why the delivery ended without a request; nothing if a request ended it. */
function endOf({ reason, attempts }: DeadLetter): Pick<DeadLetterSummary, "detail" | "last_failure"> {
  const outcome = attempts.at(-1)?.outcome;
  if (outcome?.kind !== "failure" || !unsentReasons.has(outcome.reason)) return {};
  const detail = failureDetail(outcome.reason, outcome.detail);
  if (!failureEnds.has(reason) || outcome.detail === heldDetails.held) return { detail };
  return { detail, last_failure: ownFailure(attempts) };
}

function ownFailure(attempts: readonly AttemptRecord[]): FailureCause | null {
  const failed = attempts.findLast(
    ({ outcome, settlement }) =>
      settlement.kind !== "delivered" && (outcome.kind === "response" || !unsentReasons.has(outcome.reason)),
  );
  if (failed === undefined) return null;
  const { at, outcome } = failed;
  return { at, status: outcome.kind === "response" ? outcome.status : null, reason: outcomeCode(outcome) };
}

/** Marks counts whose reason follows from failures. A partner that is held now may lack something else. */
function failureSought({ partners }: OverviewDeps): (count: DeadLetterCount) => DeadLetterCount {
  const held = new Set(partners().flatMap(({ label, config }) => (config.held === undefined ? [] : [label])));
  return (count) =>
    failureEnds.has(count.reason) && !held.has(count.partner) ? { ...count, last_failure: null } : count;
}

/**
 * Completes items that have no failure with the last one of their partner. Lists are useful without it, so an index
 * that does not respond leaves it out.
 */
export async function withPartnerFailures<T extends Pick<DeadLetterSummary, "partner" | "last_failure">>(
  index: FailureIndex,
  items: readonly T[],
  { tenants }: Pick<ReplayCaller, "tenants">,
): Promise<readonly T[]> {
  const sought = new Set(items.flatMap(({ partner, last_failure: known }) => (known === null ? [partner] : [])));
  if (sought.size === 0) return items;
  const failures = await readLastFailures(index, { tenants, partners: sought }).catch(() => undefined);
  if (failures === undefined) return items;
  return items.map((item) =>
    item.last_failure === null ? { ...item, last_failure: failures.get(item.partner) ?? null } : item,
  );
}
