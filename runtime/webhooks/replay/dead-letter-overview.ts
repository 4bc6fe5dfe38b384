import type { DeadLetter as DeadLetterSummary, DeadLetterCount } from "../../../api/replays.ts";
import { orEventsUnavailable } from "../../errors/api-error.ts";
import type { DeadLettersStream } from "../../nats/streams/dead-letters-stream.ts";
import { includesTenant } from "../events/tenants.ts";
import { mayNamePartner } from "../history/partner-access.ts";
import type { Partner } from "../partners/partner.ts";
import { deadLetterKeys, type DeadLetter } from "../records/dead-letter-record.ts";
import type { DeadLetterIndex } from "./dead-letter-index.ts";
import { countRows, createRowFilter, labelOf, type DeadLetterRow, type DeadLetterScope } from "./dead-letter-rows.ts";
import { parseDeadLetter } from "./read-chunk.ts";
import type { ReplayCaller } from "./replay-job.ts";

interface OverviewDeps {
  readonly deadLetters: Pick<DeadLettersStream, "at">;
  readonly index: DeadLetterIndex;
  readonly partners: () => readonly Partner[];
}

/** Dead letters of all partners, or of some keys. */
interface OverviewQuery {
  readonly keys?: readonly string[] | undefined;
  readonly reason?: string | undefined;
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
  const ahead = rows.filter((row) => isAhead(row) && decide(row.kind) !== "hidden");
  const ordered = isNewestFirst ? ahead.toReversed() : ahead;
  const items: DeadLetterSummary[] = [];
  let read = 0;
  while (read < Math.min(ordered.length, readMax) && items.length < limit) {
    const some = ordered.slice(read, read + Math.min(readAtOnceMax, limit - items.length));
    const found = await orUnavailable(() => Promise.all(some.map((row) => readOne(deps, row, scope))));
    items.push(...found.filter((summary) => summary !== undefined));
    read += some.length;
  }
  const last = read < ordered.length ? ordered[read - 1] : undefined;
  return { items, isComplete: isWhole, ...(last === undefined ? {} : { nextSeq: last.seq }) };
}

/** Counts the dead letters that a caller may see, without reading them. */
export async function countByIndex(
  deps: OverviewDeps,
  query: OverviewQuery,
  caller: ReplayCaller,
): Promise<DeadLetterCounts> {
  const { rows, isWhole } = await orUnavailable(() => deps.index.read());
  const { counts, isComplete } = countRows(rows, scopeOf(deps, query, caller));
  return { counts: counts.slice(0, countsMax), isComplete: isComplete && isWhole && counts.length <= countsMax };
}

function scopeOf({ partners }: OverviewDeps, { keys, reason }: OverviewQuery, caller: ReplayCaller): DeadLetterScope {
  const labels = new Map(partners().flatMap((partner) => deadLetterKeys(partner).map((key) => [key, partner.label])));
  return {
    caller,
    labels,
    ...(keys === undefined ? {} : { keys: new Set(keys) }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** Undefined for a dead letter that is gone, or that the caller may not see by its body. */
async function readOne(
  { deadLetters }: OverviewDeps,
  { seq, kind }: DeadLetterRow,
  { caller, labels }: DeadLetterScope,
): Promise<DeadLetterSummary | undefined> {
  const message = await deadLetters.at(seq);
  const deadLetter = message === undefined ? undefined : parseDeadLetter(message.data);
  if (deadLetter === undefined || !includesTenant(caller.tenants, deadLetter.tenant)) return undefined;
  const { namespace, name } = deadLetter.partnerName;
  const label = labelOf(labels, kind.key, { tenant: deadLetter.tenant, label: `${namespace}/${name}` });
  return label !== undefined && mayNamePartner(caller, label) ? summaryOf(deadLetter, label) : undefined;
}

/** @throws ApiError `events_unavailable` */
function orUnavailable<T>(read: () => Promise<T>): Promise<T> {
  return orEventsUnavailable(read, "The dead-letter store does not respond");
}

/** The part of a dead letter that lists show. */
export function summaryOf(deadLetter: DeadLetter, partner: string): DeadLetterSummary {
  const { eventId, tenant, type, state, reason, attemptsBefore, attempt, endedAt, replayId = null } = deadLetter;
  const attempts = attemptsBefore + attempt;
  return { event_id: eventId, tenant, type, partner, state, reason, attempts, ended_at: endedAt, replay_id: replayId };
}
