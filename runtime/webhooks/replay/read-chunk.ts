import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { deadLetterKeys, parseDeadLetter, readDeadLetters, type DeadLetter } from "../records/dead-letter-record.ts";
import { deliveryId, eventHash, tenantToScan } from "../ids.ts";
import { isNarrowed, mayNamePartner } from "../history/history-view.ts";
import type { Partner } from "../partners/partner.ts";
import type { DeliveryContext } from "../delivery/delivery-context.ts";
import { readEvent, type StoredEvent } from "../records/event-record.ts";
import { compileSubscriptions, type Matcher } from "../events/subscriptions.ts";
import type { PayloadSelection } from "../events/payload-selection.ts";
import type { SelectedLetter } from "./acknowledge-letter.ts";
import type { ReplayJob, ReplaySource, ReplaySpec } from "./replay-job.ts";
import type { SelectedLetters } from "./selected-letters.ts";

/** One delivery of a chunk. */
export interface ReplayUnit {
  readonly did: string;
  readonly partner: Partner;
  readonly tenant: string;
  readonly eventId: string;
  readonly type: string;
  readonly producer?: string;
  readonly trace?: string;
  readonly acceptedAtMs: number;
  /** The event as stored, or the bytes of the dead letter. */
  readonly body: Uint8Array;
  /** The payload that the present configuration selects. */
  readonly payload: PayloadSelection;
  /** As in the dead letter. @default as in the attempts */
  readonly routedBy?: string;
  /** True when the router has published the deliveries of the event. */
  readonly isRouted: boolean;
  /** The dead letter it comes from. */
  readonly deadLetter?: { readonly generation: number; readonly number: number };
}

/** Consecutive deliveries of a replay. */
export interface ReplayChunk {
  readonly units: readonly ReplayUnit[];
  /** Dead letters to acknowledge. @default none */
  readonly letters?: readonly SelectedLetter[];
  /** Requested event ids that are not stored. */
  readonly missing: number;
  /** Start of the next chunk. */
  readonly cursor: number;
  readonly isEnd: boolean;
}

export type ReadDeps = Pick<DeliveryContext, "events" | "deadLetters"> & {
  /** Partners of the configuration. */
  readonly partners: () => readonly Partner[];
  readonly selectedLetters: SelectedLetters;
};

type Place = Pick<ReplayJob, "id" | "source" | "filter" | "tenants" | "partners" | "cursor">;

/** Reads the next chunk, of at most `countMax` events. */
export async function readChunk(deps: ReadDeps, job: Place, countMax: number): Promise<ReplayChunk> {
  const { source } = job;
  switch (source.kind) {
    case "ids":
      return readIds(deps, job, source, countMax);
    case "window":
      return readWindow(deps, job, source, countMax);
    case "dead_letters":
      return readDeadLetterChunk(deps, job, source, countMax);
    case "selected_dead_letters":
      return readSelected(deps, job, source, countMax);
    default:
      throw new Error(`unknown source ${String(source satisfies never)}`);
  }
}

async function readIds(
  deps: ReadDeps,
  job: Place,
  { eventIds }: Extract<ReplaySource, { kind: "ids" }>,
  countMax: number,
): Promise<ReplayChunk> {
  const ids = eventIds.slice(job.cursor, job.cursor + countMax);
  const routedUpTo = await deps.events.routedUpTo();
  const found = await Promise.all(ids.map((id) => deps.events.find(job.tenants, eventHash(id))));
  const events = found.flatMap((message) => (message === undefined ? [] : (readEvent(message) ?? [])));
  const cursor = job.cursor + ids.length;
  return {
    units: unitsOf(deps, job, events, routedUpTo),
    missing: ids.length - events.filter((event) => isVisible(deps, job, event)).length,
    cursor,
    isEnd: cursor >= eventIds.length,
  };
}

async function readWindow(
  deps: ReadDeps,
  job: Place,
  source: Extract<ReplaySource, { kind: "window" }>,
  countMax: number,
): Promise<ReplayChunk> {
  const { fromMs, toMs, afterSeq, beforeSeq = Number.POSITIVE_INFINITY } = source;
  const firstSeq = Math.max(job.cursor, (afterSeq ?? 0) + 1);
  const start = job.cursor === 0 && afterSeq === undefined ? { atMs: fromMs } : { seq: firstSeq };
  const routedUpTo = await deps.events.routedUpTo();
  const messages = await deps.events.scan(tenantToScan(job.tenants), start, countMax);
  const isInside = ({ seq, storedAtMs }: StoredMessage): boolean => storedAtMs < toMs && seq < beforeSeq;
  const inside = messages.filter((message) => isInside(message) && message.storedAtMs >= fromMs);
  return {
    units: unitsOf(
      deps,
      job,
      inside.flatMap((message) => readEvent(message) ?? []),
      routedUpTo,
    ),
    missing: 0,
    cursor: (messages.at(-1)?.seq ?? job.cursor) + 1,
    isEnd: messages.length === 0 || !messages.every(isInside),
  };
}

function unitsOf(
  deps: ReadDeps,
  job: Place,
  events: readonly StoredEvent[],
  routedUpTo: number,
): readonly ReplayUnit[] {
  const matches = matcherOf(job);
  const named = new Set(job.filter.partners);
  const selected = deps.partners().filter(({ label }) => named.size === 0 || named.has(label));
  // A ping is requested again, not replayed.
  return events
    .filter((event) => event.only === undefined && matches(event))
    .flatMap((event) => {
      const wanting = selected.filter((partner) => partner.matches(event));
      return wanting.map((partner): ReplayUnit => {
        const { tenant, eventId, type, acceptedAtMs, body } = event;
        const did = deliveryId(tenant, eventId, partner.config.uid);
        const isRouted = event.seq <= routedUpTo;
        const payload = partner.payloadFor(event);
        return { did, partner, tenant, eventId, type, acceptedAtMs, body, payload, isRouted, ...optionalFields(event) };
      });
    });
}

async function readDeadLetterChunk(
  deps: ReadDeps,
  job: Place,
  source: Extract<ReplaySource, { kind: "dead_letters" }>,
  countMax: number,
): Promise<ReplayChunk> {
  const partner = deps.partners().find(({ key }) => key === source.partner);
  const keys = partner === undefined ? [source.partner] : deadLetterKeys(partner);
  const messages = await readDeadLetters(deps.deadLetters, keys, {
    reason: source.reason,
    fromSeq: job.cursor,
    countMax,
  });
  const inside = messages.filter(({ seq }) => seq <= source.lastSeq);
  const matches = matcherOf(job);
  const units = inside.flatMap(({ data }) => unitOf(parseDeadLetter(data), partner) ?? []);
  const { eventIds } = source;
  return {
    units: units.filter((unit) => matches(unit) && (eventIds === undefined || eventIds.includes(unit.eventId))),
    missing: 0,
    cursor: (messages.at(-1)?.seq ?? job.cursor) + 1,
    isEnd: messages.length === 0 || inside.length < messages.length,
  };
}

async function readSelected(
  { selectedLetters }: ReadDeps,
  job: Place,
  source: Extract<ReplaySource, { kind: "selected_dead_letters" }>,
  countMax: number,
): Promise<ReplayChunk> {
  const { letters, ...chunk } = await selectedLetters.read(job, source, countMax);
  if (source.action === "acknowledge") return { ...chunk, units: [], letters };
  return { ...chunk, units: letters.flatMap(({ deadLetter, partner }) => unitOf(deadLetter, partner) ?? []) };
}

/** Undefined for the dead letter of an unreadable message, and for a removed partner. */
function unitOf(deadLetter: DeadLetter | undefined, partner: Partner | undefined): ReplayUnit | undefined {
  if (deadLetter === undefined || partner === undefined) return undefined;
  const { tenant, eventId, type, generation, attempt, attemptsBefore, endedAt, routedBy } = deadLetter;
  return {
    // The dead letter may belong to a removed partner of the same name.
    did: deliveryId(tenant, eventId, partner.config.uid),
    partner,
    tenant,
    eventId,
    type,
    acceptedAtMs: Date.parse(endedAt),
    body: Buffer.from(deadLetter.body, "base64"),
    // Without the body: matchers may need values that it lacks.
    payload: partner.payloadFor({ tenant, type, ...optionalFields(deadLetter) }),
    isRouted: true,
    ...(routedBy === undefined ? {} : { routedBy }),
    deadLetter: { generation, number: attemptsBefore + attempt },
    ...optionalFields(deadLetter),
  };
}

function optionalFields({ producer, trace }: Pick<ReplayUnit, "producer" | "trace">) {
  return { ...(producer === undefined ? {} : { producer }), ...(trace === undefined ? {} : { trace }) };
}

function matcherOf({ filter, tenants }: Pick<ReplaySpec, "filter" | "tenants">): Matcher {
  const types = filter.types.length === 0 ? ["**"] : filter.types;
  return compileSubscriptions([{ name: "replay", types, tenants, producers: [] }]);
}

/** True when the caller may see the event. A caller that is narrowed to partners sees only events that these want. */
function isVisible(deps: ReadDeps, job: Place, event: StoredEvent): boolean {
  return (
    !isNarrowed(job) || deps.partners().some((partner) => mayNamePartner(job, partner.label) && partner.matches(event))
  );
}
