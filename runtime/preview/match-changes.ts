import type { RuntimeConfig } from "../../crds/config.ts";
import type { EventFacts } from "../webhooks/events/subscriptions.ts";
import { compilePartners } from "../webhooks/partners/partner.ts";
import { createRoutingTable, type RoutingTable } from "../webhooks/partners/configured-partners.ts";

/** Deliveries of one partner before and after an edit. Its members are a stored form. */
export interface PartnerTally {
  before: number;
  after: number;
  gained: number;
  lost: number;
  /** The first event ids of each kind. */
  readonly gainedIds: string[];
  readonly lostIds: string[];
}

/** The effect of an edit on the events read so far. Its members are a stored form. */
export interface MatchTally {
  events: number;
  /** Deliveries, to every partner that the caller may see. */
  before: number;
  after: number;
  /** Events without such a partner. */
  unroutedBefore: number;
  unroutedAfter: number;
  /** By `namespace/name`; at most {@link partnersMax}. */
  readonly partners: Record<string, PartnerTally>;
  /** Event ids that all partners list. */
  ids: number;
}

/** An event with its id. */
export interface RecordedEvent extends EventFacts {
  readonly eventId: string;
}

/** Partners of one event before and after an edit, by their labels. */
export interface Difference {
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

/** Compares the routing of events before and after an edit. */
export type MatchChanges = ReturnType<typeof createMatchChanges>;

/** Event ids that are listed of one partner and kind, and of all together. */
export const idsPerPartnerMax = 10;
export const idsMax = 1_000;
/** Partners that are counted one by one. The sums count the others too. */
export const partnersMax = 1_024;
/** Bounds the memory, because producers choose types and tenants. */
const cachedMax = 4_096;

interface Counted extends Difference {
  events: number;
  readonly ids: string[];
}

export function noMatches(): MatchTally {
  return { events: 0, before: 0, after: 0, unroutedBefore: 0, unroutedAfter: 0, partners: {}, ids: 0 };
}

/**
 * Matches by the routing table of the product, once for each type, tenant, producer and concerned partner. If matchers
 * decide, each event is matched with its body.
 *
 * @param isVisible true for the labels of partners that the caller may see
 */
export function createMatchChanges(base: RuntimeConfig, edit: RuntimeConfig, isVisible: (label: string) => boolean) {
  const old = createRoutingTable(compilePartners(base, []));
  const edited = createRoutingTable(compilePartners(edit, []));
  const cache = new Map<string, Counted>();
  let uncounted: Counted[] = [];
  const labelsOf = (table: RoutingTable, event: EventFacts): readonly string[] =>
    table.partnersFor(event).flatMap(({ label }) => (isVisible(label) ? [label] : []));
  const of = (event: EventFacts): Counted => {
    const facts = `${event.type}\n${event.tenant}\n${event.producer ?? ""}\n${event.about ?? ""}\n${event.only ?? ""}`;
    const isFixed = [old, edited].every((table) => !table.readsContent(event));
    const known = isFixed ? cache.get(facts) : undefined;
    if (known !== undefined) return known;
    const [before, after] = [labelsOf(old, event), labelsOf(edited, event)];
    const key = isFixed ? facts : `${facts}\n${before.join()}\n${after.join()}`;
    const equal = cache.get(key);
    if (equal !== undefined) return equal;
    const difference = differenceOf(before, after);
    if (cache.size >= cachedMax) cache.clear();
    cache.set(key, difference);
    return difference;
  };
  return {
    of,
    /** Takes one event, which {@link addTo} counts, and returns its difference. */
    take: (event: RecordedEvent) => {
      const found = of(event);
      if (found.events === 0) uncounted.push(found);
      found.events += 1;
      const isListed = found.gained.length + found.lost.length > 0 && found.ids.length < idsPerPartnerMax;
      if (isListed) found.ids.push(event.eventId);
      return found;
    },
    /** Adds the events since the last call to a tally. */
    addTo: (tally: MatchTally) => {
      for (const found of uncounted) addCounted(tally, found);
      uncounted = [];
    },
  };
}

function differenceOf(before: readonly string[], after: readonly string[]): Counted {
  const [had, has] = [new Set(before), new Set(after)];
  const [gained, lost] = [[...has.difference(had)], [...had.difference(has)]];
  return { before, after, gained, lost, events: 0, ids: [] };
}

function addCounted(tally: MatchTally, counted: Counted): void {
  const { events, before, after, gained, lost, ids } = counted;
  tally.events += events;
  tally.before += events * before.length;
  tally.after += events * after.length;
  tally.unroutedBefore += before.length === 0 ? events : 0;
  tally.unroutedAfter += after.length === 0 ? events : 0;
  for (const label of before) addToPartner(tally, label, { before: events });
  for (const label of after) addToPartner(tally, label, { after: events });
  for (const label of gained) addToPartner(tally, label, { gained: events, gainedIds: ids });
  for (const label of lost) addToPartner(tally, label, { lost: events, lostIds: ids });
  counted.events = 0;
  counted.ids.length = 0;
}

function addToPartner(tally: MatchTally, label: string, added: Partial<PartnerTally>): void {
  const partner = partnerOf(tally, label);
  if (partner === undefined) return;
  partner.before += added.before ?? 0;
  partner.after += added.after ?? 0;
  partner.gained += added.gained ?? 0;
  partner.lost += added.lost ?? 0;
  list(tally, partner.gainedIds, added.gainedIds ?? []);
  list(tally, partner.lostIds, added.lostIds ?? []);
}

function list(tally: MatchTally, listed: string[], ids: readonly string[]): void {
  const space = Math.min(idsPerPartnerMax - listed.length, idsMax - tally.ids);
  const more = ids.slice(0, Math.max(0, space));
  listed.push(...more);
  tally.ids += more.length;
}

function partnerOf({ partners }: MatchTally, label: string): PartnerTally | undefined {
  const known = Object.hasOwn(partners, label) ? partners[label] : undefined;
  if (known !== undefined || Object.keys(partners).length >= partnersMax) return known;
  const added = { before: 0, after: 0, gained: 0, lost: 0, gainedIds: [], lostIds: [] };
  partners[label] = added;
  return added;
}
