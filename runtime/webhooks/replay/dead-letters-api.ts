import type { Ack, DeadLetter as DeadLetterSummary } from "../../../api/replays.ts";
import { ApiError } from "../../errors/api-error.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { DeadLetterIndex } from "./dead-letter-index.ts";
import {
  countByIndex,
  listByIndex,
  summaryOf,
  withPartnerFailures,
  type DeadLetterPage,
  type OverviewQuery,
} from "./dead-letter-overview.ts";
import {
  deadLettersOfDelivery,
  parseDeadLetter,
  readDeadLetters,
  type DeadLetter,
} from "../records/dead-letter-record.ts";
import { readEvent } from "../records/event-record.ts";
import { eventHash, anyTenant, includesTenant } from "../ids.ts";
import { isNarrowed } from "../history/history-view.ts";
import type { FailureIndex } from "../history/last-failure.ts";
import type { Partner } from "../partners/partner.ts";
import type { DeliveryContext } from "../delivery/delivery-context.ts";
import { parseAckRequest, type AckRequest } from "./parse-body.ts";
import type { DeadLetterGroup } from "./dead-letter-rows.ts";
import type { ReplayCaller } from "./replay-job.ts";
import { storeHandledNote } from "./acknowledge-letter.ts";
import { deadLetterKeysOf, partnerNamed } from "./partner-named.ts";
import { notifyRecipient, type NotifyDeps } from "./notify-recipient.ts";

/** Selects the dead letters of a list or of counts. */
export interface DeadLetterFilter {
  /** `namespace/name`. @default every partner of the caller */
  readonly partner?: string;
  /** @default every reason */
  readonly reason?: string;
  /** A type or a pattern. @default every type */
  readonly type?: string;
  /** @default every tenant of the caller */
  readonly tenant?: string;
  /** Start by the end of the delivery, Unix milliseconds. */
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
}

/** Parameters of a list of dead letters. */
export interface DeadLetterQuery extends DeadLetterFilter {
  /** @default false: the oldest first */
  readonly isNewestFirst?: boolean;
  /** Sequence of the last dead letter of the previous page; 0 for the first page. */
  readonly afterSeq: number;
  readonly limit: number;
}

/** Dead letters, for callers. */
export type DeadLettersApi = ReturnType<typeof createDeadLettersApi>;

export interface DeadLetterDeps extends NotifyDeps, Pick<DeliveryContext, "events" | "attempts" | "deadLetters"> {
  readonly partners: () => readonly Partner[];
  readonly deadLetterIndex: DeadLetterIndex;
  readonly index: FailureIndex;
}

const batchMax = 64;
/** Dead letters that one request reads at most. The page then ends early, with the sequence to continue after. */
const readMax = 1_024;

export function createDeadLettersApi(deps: DeadLetterDeps) {
  const overview = { ...deps, index: deps.deadLetterIndex, eventIndex: deps.index };
  return {
    /** @throws ApiError `partner_not_found`, `events_unavailable` */
    list: async ({ isNewestFirst = false, afterSeq, limit, ...filter }: DeadLetterQuery, caller: ReplayCaller) => {
      const { partner, reason, ...more } = filter;
      // Only the stream itself has also the oldest ones; it selects by partner and reason.
      if (partner !== undefined && !isNewestFirst && Object.keys(more).length === 0)
        return listDeadLetters(deps, { partner, afterSeq, limit, ...(reason === undefined ? {} : { reason }) }, caller);
      const query = await overviewOf(deps, filter, caller, afterSeq > 0);
      return listByIndex(overview, { ...query, isNewestFirst, afterSeq, limit }, caller);
    },
    /**
     * Counts dead letters by partner and reason, or by one member.
     *
     * @throws ApiError `partner_not_found`, `events_unavailable`
     */
    counts: async (filter: DeadLetterFilter, groupBy: DeadLetterGroup | undefined, caller: ReplayCaller) =>
      countByIndex(overview, { ...(await overviewOf(deps, filter, caller)), groupBy }, caller),
    /**
     * Acknowledges an event that was handled by hand.
     *
     * @throws ApiError `invalid_request`, `partner_not_found`, `dead_letter_not_found`
     */
    ack: async (body: Uint8Array, caller: ReplayCaller) => acknowledge(deps, await parseAckRequest(body), caller),
  };
}

async function overviewOf(
  deps: DeadLetterDeps,
  { partner, type, tenant, ...filter }: DeadLetterFilter,
  caller: ReplayCaller,
  isLater = false,
): Promise<OverviewQuery> {
  return {
    ...filter,
    ...(partner === undefined ? {} : { keys: await deadLetterKeysOf(deps, partner, caller, isLater) }),
    ...(type === undefined ? {} : { types: [type] }),
    ...(tenant === undefined ? {} : { tenant }),
  };
}

/** Lists the dead letters of one partner, the oldest first. */
async function listDeadLetters(
  deps: DeadLetterDeps,
  query: DeadLetterQuery & { readonly partner: string },
  caller: ReplayCaller,
): Promise<DeadLetterPage> {
  const { tenants } = caller;
  const label = query.partner;
  const keys = await deadLetterKeysOf(deps, label, caller, query.afterSeq > 0);
  const items: DeadLetterSummary[] = [];
  let lastSeq = query.afterSeq;
  const pageOf = async (found: readonly DeadLetterSummary[], nextSeq?: number): Promise<DeadLetterPage> => ({
    items: await withPartnerFailures(deps.index, found, caller),
    ...(nextSeq === undefined ? {} : { nextSeq }),
  });
  for (let read = 0; read < readMax;) {
    const from = { reason: query.reason ?? "*", fromSeq: lastSeq + 1, countMax: batchMax };
    const messages = await readDeadLetters(deps.deadLetters, keys, from);
    if (messages.length === 0) return pageOf(items);
    for (const message of messages) {
      const deadLetter = parseDeadLetter(message.data);
      if (deadLetter !== undefined && includesTenant(tenants, deadLetter.tenant))
        items.push(summaryOf(message.seq, deadLetter, label));
      lastSeq = message.seq;
      if (items.length === query.limit) return pageOf(items, lastSeq);
    }
    read += messages.length;
  }
  return pageOf(items, lastSeq);
}

async function acknowledge(deps: DeadLetterDeps, request: AckRequest, caller: ReplayCaller): Promise<Ack> {
  const partner = partnerNamed(deps.partners(), request.partner, caller);
  const tenants = await tenantsOf(deps, request, caller);
  const found = await Promise.all(tenants.map((tenant) => deadLettersOf(deps, partner, tenant, request.eventId)));
  const deadLetters = found.flat();
  const [last] = deadLetters.toSorted((a, b) => b.deadLetter.generation - a.deadLetter.generation);
  if (last === undefined)
    throw new ApiError("dead_letter_not_found", "The dead letter does not exist or is not visible to this caller.");
  // The note is stored first. A dead letter removed without a note would be lost.
  await storeHandledNote(deps, last.deadLetter, { note: request.note, client: caller.client });
  await Promise.all(deadLetters.map(({ message }) => deps.deadLetters.remove(message.seq)));
  const recipient = await notifyRecipient(deps, partner, last.deadLetter, request.note);
  return { event_id: request.eventId, partner: partner.label, state: "delivered", handled: "manual", recipient };
}

/** The tenants of the event. A token for every tenant names none; the request or the stored event then gives it. */
async function tenantsOf(
  deps: DeadLetterDeps,
  { eventId, tenant }: AckRequest,
  caller: ReplayCaller,
): Promise<readonly string[]> {
  const { tenants } = caller;
  if (tenant !== undefined) {
    if (!includesTenant(tenants, tenant))
      throw new ApiError("tenant_forbidden", `The token does not allow events of tenant ${tenant}`);
    return [tenant];
  }
  if (!tenants.includes(anyTenant)) return tenants;
  const message = await deps.events.find(tenants, eventHash(eventId));
  const event = message === undefined ? undefined : readEvent(message);
  // A caller without access to the deliveries must not learn whether the event is stored.
  if (event === undefined && isNarrowed(caller)) return [];
  if (event === undefined)
    throw new ApiError("tenant_required", "The event is no longer stored: add its tenant to the request.");
  return [event.tenant];
}

async function deadLettersOf(
  { deadLetters }: DeadLetterDeps,
  partner: Partner,
  tenant: string,
  eventId: string,
): Promise<readonly { readonly message: StoredMessage; readonly deadLetter: DeadLetter }[]> {
  const messages = await deadLettersOfDelivery(deadLetters, partner, { tenant, eventId });
  return messages.flatMap((message) => {
    const deadLetter = parseDeadLetter(message.data);
    return deadLetter === undefined ? [] : [{ message, deadLetter }];
  });
}
