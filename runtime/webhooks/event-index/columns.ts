import { unsentReasons } from "../../../api/histories.ts";
import { pingType } from "../events/envelope.ts";
import { rowKinds, type AttemptRow, type EventKey, type EventRow, type RowKind } from "./index-message.ts";
import { Rollups, type RolledAttempt, type RollupSearch } from "./rollups.ts";
import { segmentRows, type Segments, createSegments, createTextNumbers } from "./segments.ts";

/** No row. */
export const noRow = -1;

/** Rows of events: 44 bytes each. */
const eventColumns = () => ({
  seq: new Float64Array(segmentRows),
  atMs: new Float64Array(segmentRows),
  high: new Uint32Array(segmentRows),
  low: new Uint32Array(segmentRows),
  tenant: new Uint16Array(segmentRows),
  type: new Uint16Array(segmentRows),
  producer: new Uint16Array(segmentRows),
  about: new Uint16Array(segmentRows),
  /** The newest row of attempts. */
  newest: new Int32Array(segmentRows),
  /** Hash table of the rows of this segment, by their key: row in the segment and 1; half of the places stay empty. */
  table: new Int32Array(2 * segmentRows),
});

type EventColumns = ReturnType<typeof eventColumns>;

/** Rows of attempts: 32 bytes each. */
const attemptColumns = () => ({
  /** The next older row of the same event. */
  older: new Int32Array(segmentRows),
  atMs: new Float64Array(segmentRows),
  durationMs: new Uint32Array(segmentRows),
  tenant: new Uint16Array(segmentRows),
  partner: new Uint16Array(segmentRows),
  reason: new Uint16Array(segmentRows),
  status: new Uint16Array(segmentRows),
  generation: new Uint16Array(segmentRows),
  attempt: new Uint32Array(segmentRows),
  kind: new Uint8Array(segmentRows),
  /** 1 for an attempt of a ping. */
  ping: new Uint8Array(segmentRows),
});

type AttemptColumns = ReturnType<typeof attemptColumns>;

/** Most rows of events, and most of attempts: together 76 MiB. */
const indexRowsMax = 1_000_000;
/** The counter of each kind of row; a kind without one is not about an attempt. */
const rolledOutcomes: Readonly<Partial<Record<RowKind, RolledAttempt["outcome"]>>> = {
  delivered: "delivered",
  retry: "retried",
  rejected: "failed",
  dead: "failed",
  disabled: "failed",
};
/** Failures that are kept, one for each tenant and partner. */
const failuresMax = 65_536;
/** Rows of one event that are looked through for a repeated record. */
const repeatsSoughtMax = 64;
const numberMax = 65_535;

/** A failed attempt. The key of its event says where its record is. */
export interface FailedAttempt extends Pick<
  AttemptRow,
  "high" | "low" | "tenant" | "partner" | "atMs" | "status" | "reason"
> {}

/** Rows in typed arrays. The oldest rows go when there are too many. */
export class IndexColumns {
  readonly events: Segments<EventColumns>;
  readonly attempts: Segments<AttemptColumns>;
  readonly tenants = createTextNumbers();
  readonly types = createTextNumbers();
  readonly producers = createTextNumbers();
  readonly partners = createTextNumbers();
  readonly reasons = createTextNumbers();
  /** Counts by minute, without pings. They outlive the rows. */
  readonly rollups = new Rollups();
  /** The number of the type of pings, which has one however many types there are. */
  readonly #pingType = this.types.add(pingType);
  /** The last failure by tenant and partner, the newest at the end. */
  readonly #failures = new Map<string, FailedAttempt>();
  #lastSeq = 0;

  /** @param rowsMax of each kind, in whole segments. @default 1,000,000 */
  constructor(rowsMax: number = indexRowsMax) {
    this.events = createSegments(eventColumns, rowsMax);
    this.attempts = createSegments(attemptColumns, rowsMax);
  }

  /** Sequence of the newest event; 0 for none. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Adds an event that is newer than all before; any other is left out. */
  addEvent({ seq, atMs, high, low, tenant, type, producer, about }: EventRow): void {
    if (seq <= this.#lastSeq) return;
    this.#lastSeq = seq;
    const { columns, at } = this.events.add();
    columns.seq[at] = seq;
    columns.atMs[at] = atMs;
    columns.high[at] = high;
    columns.low[at] = low;
    columns.tenant[at] = this.tenants.add(tenant);
    columns.type[at] = this.types.add(type);
    columns.producer[at] = this.producers.add(producer);
    columns.about[at] = this.producers.add(about);
    columns.newest[at] = noRow;
    if (type !== pingType) this.rollups.addEvent(tenant, atMs);
    const { table } = columns;
    let place = placeOf(low);
    while (table[place] !== 0) place = (place + 1) % table.length;
    table[place] = at + 1;
  }

  /** Adds an attempt. A record that was stored twice counts once. */
  addAttempt(row: AttemptRow): void {
    const partner = this.partners.add(row.partner);
    const event = this.#eventOf(row);
    if (event !== undefined && this.#isRepeat(event.columns.newest[event.at] ?? noRow, row, partner)) return;
    const { columns, at, id } = this.attempts.add();
    columns.older[at] = event?.columns.newest[event.at] ?? noRow;
    if (event !== undefined) event.columns.newest[event.at] = id;
    columns.atMs[at] = row.atMs;
    columns.durationMs[at] = row.durationMs;
    columns.tenant[at] = this.tenants.add(row.tenant);
    columns.partner[at] = partner;
    columns.reason[at] = this.reasons.add(row.reason);
    columns.status[at] = row.status;
    columns.generation[at] = Math.min(row.generation, numberMax);
    columns.attempt[at] = row.attempt;
    columns.kind[at] = rowKinds.indexOf(row.kind);
    const isPing = event?.columns.type[event.at] === this.#pingType;
    columns.ping[at] = isPing ? 1 : 0;
    if (!isPing) this.#roll(row);
  }

  /**
   * The failed attempts that began last, by partner, without pings and ends without a request. Partners without one are
   * left out.
   */
  lastFailed({
    isTenant,
    isPartner,
  }: Pick<RollupSearch, "isTenant" | "isPartner">): ReadonlyMap<string, FailedAttempt> {
    const last = new Map<string, FailedAttempt>();
    for (const failure of this.#failures.values()) {
      const { partner, tenant, atMs } = failure;
      if (atMs > (last.get(partner)?.atMs ?? 0) && isPartner(partner) && isTenant(tenant)) last.set(partner, failure);
    }
    return last;
  }

  /** The sequence of an event; undefined if its row is gone. */
  seqOf(key: EventKey): number | undefined {
    const event = this.#eventOf(key);
    return event?.columns.seq[event.at];
  }

  #roll({ kind, tenant, partner, atMs, durationMs, status, reason, high, low }: AttemptRow): void {
    const outcome = rolledOutcomes[kind];
    if (outcome === undefined) return;
    const isSent = !unsentReasons.has(reason);
    this.rollups.addAttempt({ tenant, partner, atMs, outcome, durationMs: isSent ? durationMs : undefined });
    if (isSent && outcome !== "delivered") this.#addFailure({ tenant, partner, atMs, status, reason, high, low });
  }

  #addFailure(failure: FailedAttempt): void {
    const key = `${failure.tenant}\n${failure.partner}`;
    if (failure.atMs < (this.#failures.get(key)?.atMs ?? 0)) return;
    this.#failures.delete(key);
    this.#failures.set(key, failure);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > failuresMax && oldest !== undefined) this.#failures.delete(oldest);
  }

  /** The newest segment is searched first: an attempt mostly follows its event soon. */
  #eventOf({ high, low }: EventKey): { readonly columns: EventColumns; readonly at: number } | undefined {
    const { list } = this.events;
    for (let segment = list.length - 1; segment >= 0; segment -= 1) {
      const columns = list[segment] as EventColumns;
      const { table } = columns;
      for (let place = placeOf(low); table[place] !== 0; place = (place + 1) % table.length) {
        const at = (table[place] ?? 0) - 1;
        if (columns.low[at] === low && columns.high[at] === high) return { columns, at };
      }
    }
    return undefined;
  }

  #isRepeat(newest: number, { atMs, attempt, generation, kind }: AttemptRow, partner: number): boolean {
    let id = newest;
    for (let sought = 0; sought < repeatsSoughtMax; sought += 1) {
      const found = this.attempts.find(id);
      if (found === undefined) return false;
      const { columns, at } = found;
      const isSame = columns.partner[at] === partner && columns.atMs[at] === atMs && columns.attempt[at] === attempt;
      const isEqual = columns.generation[at] === generation && columns.kind[at] === rowKinds.indexOf(kind);
      if (isSame && isEqual) return true;
      id = columns.older[at] ?? noRow;
    }
    return false;
  }
}

/** Even the low bits of a hash are evenly spread. */
function placeOf(low: number): number {
  return low % (2 * segmentRows);
}
