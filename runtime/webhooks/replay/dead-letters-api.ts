import type { Ack, DeadLetter as DeadLetterSummary } from "../../../api/replays.ts";
import { ApiError } from "../../errors/api-error.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { createDeadLetterIndex } from "./dead-letter-index.ts";
import { countByIndex, listByIndex, summaryOf, type DeadLetterPage } from "./dead-letter-overview.ts";
import {
  deadLettersOfDelivery,
  deadLetterKeys,
  readDeadLetters,
  type DeadLetter,
} from "../records/dead-letter-record.ts";
import { type HandledNote, readEvent } from "../records/event-record.ts";
import { eventHash, partnerKey } from "../ids.ts";
import { isNarrowed, mayNamePartner } from "../history/partner-access.ts";
import type { Partner } from "../partners/partner.ts";
import type { DeliveryContext } from "../delivery/delivery-context.ts";
import { anyTenant, includesTenant } from "../events/tenants.ts";
import { parseDeadLetter } from "./read-chunk.ts";
import { parseAckRequest, type AckRequest } from "./parse-body.ts";
import type { ReplayCaller } from "./replay-job.ts";
import { partnerNamed } from "./replays.ts";
import { notifyRecipient, type NotifyDeps } from "./notify-recipient.ts";

/** Parameters of a list of dead letters. */
export interface DeadLetterQuery {
  /** `namespace/name`. @default every partner of the caller */
  readonly partner?: string;
  /** @default every reason */
  readonly reason?: string;
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
}

const batchMax = 64;
/** Dead letters that one request reads at most. The page then ends early, with the sequence to continue after. */
const readMax = 1_024;

export function createDeadLettersApi(deps: DeadLetterDeps) {
  const overview = { ...deps, index: createDeadLetterIndex(deps.deadLetters) };
  return {
    /** @throws ApiError `partner_not_found`, `events_unavailable` */
    list: async ({ partner, isNewestFirst = false, ...query }: DeadLetterQuery, caller: ReplayCaller) => {
      if (partner !== undefined && !isNewestFirst) return listDeadLetters(deps, { ...query, partner }, caller);
      const keys = partner === undefined ? undefined : await keysOf(deps, { ...query, partner }, caller);
      return listByIndex(overview, { ...query, keys, isNewestFirst }, caller);
    },
    /**
     * Counts dead letters by partner and reason.
     *
     * @param partner `namespace/name`. @default every partner of the caller
     * @throws ApiError `partner_not_found`, `events_unavailable`
     */
    counts: async (partner: string | undefined, caller: ReplayCaller) => {
      const keys = partner === undefined ? undefined : await keysOf(deps, { partner, afterSeq: 0 }, caller);
      return countByIndex(overview, { keys }, caller);
    },
    /**
     * Acknowledges an event that was handled by hand.
     *
     * @throws ApiError `invalid_request`, `partner_not_found`, `dead_letter_not_found`
     */
    ack: async (body: Uint8Array, caller: ReplayCaller) => acknowledge(deps, await parseAckRequest(body), caller),
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
  const keys = await keysOf(deps, query, caller);
  const items: DeadLetterSummary[] = [];
  let lastSeq = query.afterSeq;
  for (let read = 0; read < readMax;) {
    const from = { reason: query.reason ?? "*", fromSeq: lastSeq + 1, countMax: batchMax };
    const messages = await readDeadLetters(deps.deadLetters, keys, from);
    if (messages.length === 0) return { items };
    for (const message of messages) {
      const deadLetter = parseDeadLetter(message.data);
      if (deadLetter !== undefined && includesTenant(tenants, deadLetter.tenant))
        items.push(summaryOf(deadLetter, label));
      lastSeq = message.seq;
      if (items.length === query.limit) return { items, nextSeq: lastSeq };
    }
    read += messages.length;
  }
  return { items, nextSeq: lastSeq };
}

/**
 * The keys under which dead letters of a partner are stored. A removed partner counts as long as it has some.
 *
 * @throws ApiError `partner_not_found`
 */
async function keysOf(
  { deadLetters, partners }: DeadLetterDeps,
  { partner: label, afterSeq }: { readonly partner: string; readonly afterSeq: number },
  caller: ReplayCaller,
): Promise<readonly string[]> {
  const key = partnerKey(label);
  const isKnown = !mayNamePartner(caller, label) || partners().some((one) => one.label === label);
  const isLeft = !isKnown && (afterSeq > 0 || (await deadLetters.list(key, "*", 1, 1)).length > 0);
  return isLeft ? [key] : deadLetterKeys(partnerNamed(partners(), label, caller));
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
  await storeNote(deps, last.deadLetter, request, caller);
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

async function storeNote(
  { attempts, now }: DeadLetterDeps,
  { did, generation, tenant, eventId }: DeadLetter,
  { note }: AckRequest,
  { client }: ReplayCaller,
): Promise<void> {
  const at = new Date(now()).toISOString();
  const handled: HandledNote = {
    kind: "handled",
    did,
    generation,
    at,
    by: client,
    ...(note === undefined ? {} : { note }),
  };
  const result = await attempts.append(tenant, eventHash(eventId), JSON.stringify(handled));
  if (result.kind === "rejected") {
    throw new ApiError("events_unavailable", "The acknowledgement cannot be stored at the moment", {
      cause: result.detail,
      retryAfterSeconds: 1,
    });
  }
}
