import { isPing } from "../events/envelope.ts";
import type { EventFacts } from "../events/subscriptions.ts";
import { noRow, type IndexColumns } from "./columns.ts";
import { valueAt, anyText } from "./segments.ts";
import { rowKinds, type RowKind } from "./index-message.ts";

/** Which events are looked for. */
export interface EventSearch {
  /** False: the newest first. */
  readonly isAscending: boolean;
  readonly isTenant: (tenant: string) => boolean;
  readonly isType: (type: string) => boolean;
  /** Accepted at or after this, Unix milliseconds. */
  readonly fromMs: number;
  /** Accepted before this, Unix milliseconds. */
  readonly toMs: number;
  /** Only events with a greater sequence. */
  readonly afterSeq: number;
  /** Only events with a lesser sequence. */
  readonly beforeSeq: number;
  /** Only events with such a delivery. @default all events */
  readonly delivery?: DeliverySearch;
}

/** A delivery of an event, all of it together. */
export interface DeliverySearch {
  readonly isPartner: (partner: string) => boolean;
  /** Kinds of its last row. @default all */
  readonly kinds?: ReadonlySet<RowKind>;
  /** Tests the status of its last attempt; 0 without a response. @default any, also no attempt */
  readonly isStatus?: (status: number) => boolean;
  /** Reason of its last row. @default any */
  readonly reason?: string;
  /** Partners (`namespace/name`) with a delivery even without a row. @default none */
  readonly waiting?: (event: EventFacts) => readonly string[];
}

/** Rows between two places at which a search may pause. */
const rowsBetweenPauses = 4_096;

/**
 * Yields the sequences of events that may match, in order; the caller reads each and decides. Undefined marks a place
 * at which the search may pause.
 */
export function* findCandidates(columns: IndexColumns, search: EventSearch): Generator<number | undefined> {
  const { events } = columns;
  const isWanted = eventTest(columns, search);
  const from = firstWith(columns, (seq, atMs) => seq > search.afterSeq && atMs >= search.fromMs);
  const end = firstWith(columns, (seq, atMs) => seq >= search.beforeSeq || atMs >= search.toMs);
  for (let count = 0; count < end - from; count += 1) {
    if (count % rowsBetweenPauses === rowsBetweenPauses - 1) yield undefined;
    const row = events.find(search.isAscending ? from + count : end - 1 - count);
    // Rows may go while the search pauses.
    if (row !== undefined && isWanted(row.columns, row.at)) yield valueAt(row.columns.seq, row.at);
  }
}

type EventColumns = IndexColumns["events"]["list"][number];
type EventTest = (event: EventColumns, at: number) => boolean;

function eventTest(columns: IndexColumns, { isTenant, isType, delivery }: EventSearch): EventTest {
  const hasTenant = columns.tenants.matcher(isTenant);
  const hasType = columns.types.matcher(isType);
  const isItself: EventTest = ({ tenant, type }, at) => hasTenant(valueAt(tenant, at)) && hasType(valueAt(type, at));
  if (delivery === undefined) return isItself;
  const isDelivered = deliveryTest(columns, delivery);
  return (event, at) => isItself(event, at) && isDelivered(event, at);
}

/** The first row for which the test is true, which is then true for all later ones; the end when it is for none. */
function firstWith({ events }: IndexColumns, test: (seq: number, atMs: number) => boolean): number {
  let [low, high] = [events.first, events.end];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const { columns, at } = events.find(middle) ?? {};
    if (columns === undefined || at === undefined || test(valueAt(columns.seq, at), valueAt(columns.atMs, at)))
      high = middle;
    else low = middle + 1;
  }
  return low;
}

const handledKind = rowKinds.indexOf("handled");

interface FoundRow {
  readonly columns: IndexColumns["attempts"]["list"][number];
  readonly at: number;
}

function olderOf({ attempts }: IndexColumns, { columns, at }: FoundRow): FoundRow | undefined {
  return attempts.find(columns.older[at] ?? noRow);
}

function deliveryTest(columns: IndexColumns, search: DeliverySearch): EventTest {
  const isRowWanted = rowTest(columns, search);
  const isWaiting = waitingTest(columns, search);
  return (event, eventAt) => {
    const newest = columns.attempts.find(event.newest[eventAt] ?? noRow);
    let isHandled = false;
    for (let row = newest; row !== undefined; row = olderOf(columns, row)) {
      // An acknowledgement is newer than the attempts that it is about.
      if (valueAt(row.columns.kind, row.at) === handledKind) isHandled = true;
      else if (isRowWanted(row, isHandled) && isLast(columns, newest, row)) return true;
    }
    return isWaiting(event, eventAt);
  };
}

function rowTest(columns: IndexColumns, search: DeliverySearch): (row: FoundRow, isHandled: boolean) => boolean {
  const { kinds, isStatus, reason } = search;
  const isPartner = columns.partners.matcher(search.isPartner);
  const isReason = columns.reasons.matcher((text) => reason === undefined || text === reason);
  const isKind = rowKinds.map((kind) => kinds === undefined || kinds.has(kind));
  const takesHandled = isKind[handledKind] === true;
  return ({ columns: row, at }, isHandled) => {
    const kind = valueAt(row.kind, at);
    const isOfKind = isKind[kind] === true || (takesHandled && isHandled);
    if (!isOfKind || !isPartner(valueAt(row.partner, at)) || !isReason(valueAt(row.reason, at))) return false;
    return isStatus === undefined || (kind < handledKind && isStatus(valueAt(row.status, at)));
  };
}

/** Whether no other row of the same event and partner is of a later step. */
function isLast(columns: IndexColumns, newest: FoundRow | undefined, own: FoundRow): boolean {
  const partner = valueAt(own.columns.partner, own.at);
  for (let row = newest; row !== undefined; row = olderOf(columns, row))
    if (valueAt(row.columns.partner, row.at) === partner && stepOf(row) > stepOf(own)) return false;
  return true;
}

const attemptsMax = 2 ** 32;

function stepOf({ columns, at }: FoundRow): number {
  return valueAt(columns.generation, at) * attemptsMax + valueAt(columns.attempt, at);
}

/** Tests for a partner that has a delivery and no row. The partners of equal events are requested once. */
function waitingTest(columns: IndexColumns, { isPartner, waiting }: DeliverySearch): EventTest {
  if (waiting === undefined) return () => false;
  const known = new Map<number, Map<number, readonly number[]>>();
  const partnersOf = (event: EventColumns, at: number): readonly number[] => {
    const [type, tenant] = [valueAt(event.type, at), valueAt(event.tenant, at)];
    const [producer, about] = [valueAt(event.producer, at), valueAt(event.about, at)];
    const [outer, inner] = [type * numbers + tenant, producer * numbers + about];
    const equal = known.get(outer) ?? new Map<number, readonly number[]>();
    known.set(outer, equal);
    const labels = (): readonly string[] => waiting(factsOf(columns, { type, tenant, producer, about }));
    const found =
      equal.get(inner) ??
      labels()
        .filter(isPartner)
        .map((partner) => columns.partners.find(partner) ?? noRow);
    equal.set(inner, found);
    return found;
  };
  return (event, at) => {
    const isKnown = event.type[at] !== anyText && event.tenant[at] !== anyText;
    return !isKnown || partnersOf(event, at).some((partner) => !hasRowOf(columns, event, at, partner));
  };
}

/** More than the numbers of texts. */
const numbers = 65_536;

interface EventNumbers {
  readonly type: number;
  readonly tenant: number;
  readonly producer: number;
  readonly about: number;
}

function factsOf({ types, tenants, producers }: IndexColumns, of: EventNumbers): EventFacts {
  const [producer = "", about = ""] = [producers.text(of.producer), producers.text(of.about)];
  const type = types.text(of.type) ?? "";
  const named = isPing(type) ? { only: about } : { about };
  return {
    type,
    tenant: tenants.text(of.tenant) ?? "",
    ...(producer === "" ? {} : { producer }),
    ...(about === "" ? {} : named),
  };
}

function hasRowOf(columns: IndexColumns, event: EventColumns, at: number, partner: number): boolean {
  const newest = columns.attempts.find(event.newest[at] ?? noRow);
  for (let row = newest; row !== undefined; row = olderOf(columns, row))
    if (valueAt(row.columns.partner, row.at) === partner) return true;
  return false;
}
