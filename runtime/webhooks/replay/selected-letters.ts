import { BoundedMap } from "../../../limits/bounded-map.ts";
import type { DeadLettersStream } from "../../nats/streams/dead-letters-stream.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { partnersOf } from "../history/history-view.ts";
import { partnerKey } from "../ids.ts";
import type { Partner } from "../partners/partner.ts";
import {
  deadLetterId,
  deadLetterKeys,
  deadLetterSeq,
  parseDeadLetter,
  parseDeadLetterHead,
} from "../records/dead-letter-record.ts";
import type { SelectedLetter } from "./acknowledge-letter.ts";
import type { DeadLetterIndex, KnownDeadLetters } from "./dead-letter-index.ts";
import { createRowFilter, isInRange, labelOf, type DeadLetterRow, type DeadLetterScope } from "./dead-letter-rows.ts";
import type { ReplayJob, ReplaySource, ReplaySpec } from "./replay-job.ts";

interface SelectedDeps {
  readonly deadLetters: Pick<DeadLettersStream, "at" | "scan">;
  readonly partners: () => readonly Partner[];
  readonly deadLetterIndex: DeadLetterIndex;
}

type Place = Pick<ReplayJob, "id" | "source" | "filter" | "tenants" | "partners" | "cursor">;
type Selection = Extract<ReplaySource, { kind: "selected_dead_letters" }>;

/** Consecutive dead letters of a selection. */
export interface LetterChunk {
  readonly letters: readonly SelectedLetter[];
  /** Requested dead letters that are removed, or that the caller may not see. */
  readonly missing: number;
  /** Start of the next chunk. */
  readonly cursor: number;
  readonly isEnd: boolean;
}

/** Number of the dead letters of a selection. */
export interface LetterCount {
  readonly matched: number;
  /** False when there may be more: older ones than the index has, or some whose tenant or type is not known yet. */
  readonly isExact: boolean;
}

/** Counts and reads the dead letters that jobs select. */
export type SelectedLetters = ReturnType<typeof createSelectedLetters>;

/** Jobs whose view of the index is kept. Beyond, a chunk reads the index again. */
const viewsMax = 8;

/** Creates the access to the dead letters of selections. */
export function createSelectedLetters(deps: SelectedDeps) {
  // Rows that left the index since are gone, and newer ones belong to no selection: a job needs the index once.
  const views = new BoundedMap<string, KnownDeadLetters>(viewsMax);
  const viewOf = async (id: string): Promise<KnownDeadLetters> => {
    const view = views.use(id) ?? (await deps.deadLetterIndex.read());
    views.set(id, view);
    return view;
  };
  return {
    /**
     * Counts without reading a dead letter; undefined when their ids or events are named.
     *
     * @throws NoReplyError, Error of the client
     */
    count: async (spec: Pick<ReplaySpec, "source" | "filter" | "tenants" | "partners">) => {
      const { source } = spec;
      if (source.kind !== "dead_letters" && source.kind !== "selected_dead_letters") return undefined;
      if (source.eventIds !== undefined || ("letterIds" in source && source.letterIds !== undefined)) return undefined;
      return countSelected(await deps.deadLetterIndex.read(), scopeOf(deps, spec), source.lastSeq);
    },
    /** Reads the next chunk, of at most `countMax` dead letters. @throws NoReplyError */
    read: async (place: Place, source: Selection, countMax: number): Promise<LetterChunk> => {
      const { cursor } = place;
      const scope = scopeOf(deps, place);
      const order = { scope, decide: createRowFilter(scope), source, cursor, countMax };
      const { letterIds } = source;
      if (letterIds !== undefined) return readIds(deps, order, letterIds);
      const { rows, isWhole } = await viewOf(place.id);
      const firstSeq = rows[0]?.seq ?? Infinity;
      // What is older than the index has is read one by one.
      return !isWhole && cursor < firstSeq ? scanOlder(deps, order) : readRows(deps, order, rows);
    },
  };
}

function countSelected({ rows, isWhole }: KnownDeadLetters, scope: DeadLetterScope, lastSeq: number): LetterCount {
  const decide = createRowFilter(scope);
  const oldestMs = rows[0]?.endedAtMs ?? Infinity;
  let [matched, isExact] = [0, isWhole || (scope.fromMs ?? 0) > oldestMs];
  for (const row of rows) {
    const decided = row.seq > lastSeq || !isInRange(scope, row) ? "hidden" : decide(row.kind);
    if (decided === "shown") matched += 1;
    if (decided === "unknown") isExact = false;
  }
  return { matched, isExact };
}

interface ReadOrder {
  readonly scope: DeadLetterScope;
  readonly decide: ReturnType<typeof createRowFilter>;
  readonly source: Selection;
  readonly cursor: number;
  readonly countMax: number;
}

async function readRows(deps: SelectedDeps, order: ReadOrder, rows: KnownDeadLetters["rows"]): Promise<LetterChunk> {
  const { scope, decide, source, cursor, countMax } = order;
  const isAhead = ({ seq }: DeadLetterRow): boolean => seq >= cursor && seq <= source.lastSeq;
  const ahead = rows.filter((row) => isAhead(row) && isInRange(scope, row) && decide(row.kind) !== "hidden");
  const chunk = ahead.slice(0, countMax);
  const messages = await readAll(deps, chunk);
  return {
    letters: messages.flatMap((message) => selected(deps, order, message) ?? []),
    missing: 0,
    cursor: (chunk.at(-1)?.seq ?? cursor) + 1,
    isEnd: chunk.length === ahead.length,
  };
}

async function readIds(deps: SelectedDeps, order: ReadOrder, letterIds: readonly string[]): Promise<LetterChunk> {
  const { cursor, countMax } = order;
  const ids = new Map(letterIds.map((id) => [deadLetterSeq(id), id]));
  const seqs = [...ids.keys()].filter((seq) => seq >= cursor).toSorted((a, b) => a - b);
  const chunk = seqs.slice(0, countMax);
  const messages = await readAll(
    deps,
    chunk.map((seq) => ({ seq })),
  );
  const found = messages.flatMap((message) => selected(deps, order, message) ?? []);
  const letters = found.filter(({ seq, deadLetter }) => ids.get(seq) === deadLetterId(seq, deadLetter.did));
  const isEnd = chunk.length === seqs.length;
  return { letters, missing: chunk.length - letters.length, cursor: (chunk.at(-1) ?? cursor) + 1, isEnd };
}

async function scanOlder(deps: SelectedDeps, order: ReadOrder): Promise<LetterChunk> {
  const { source, cursor, countMax } = order;
  const messages = await deps.deadLetters.scan(cursor, countMax);
  const inside = messages.filter(({ seq }) => seq <= source.lastSeq);
  return {
    letters: inside.flatMap((message) => selected(deps, order, message) ?? []),
    missing: 0,
    cursor: (messages.at(-1)?.seq ?? cursor) + 1,
    isEnd: messages.length === 0 || inside.length < messages.length,
  };
}

async function readAll(
  { deadLetters }: SelectedDeps,
  rows: readonly { readonly seq: number }[],
): Promise<readonly StoredMessage[]> {
  const messages = await Promise.all(rows.map(({ seq }) => deadLetters.at(seq)));
  return messages.filter((message) => message !== undefined);
}

/** Decides by the body, as the index may not know it. Undefined for a dead letter outside of the selection. */
function selected(
  { partners }: SelectedDeps,
  { scope, decide, source: { eventIds } }: ReadOrder,
  message: StoredMessage,
): SelectedLetter | undefined {
  const deadLetter = parseDeadLetter(message.data);
  const head = parseDeadLetterHead(message);
  if (deadLetter === undefined || head === undefined) return undefined;
  const { seq, endedAtMs, partner: key, reason } = head;
  const { tenant, type, eventId, partnerName } = deadLetter;
  const about = { tenant, type, label: `${partnerName.namespace}/${partnerName.name}` };
  if (!isInRange(scope, { endedAtMs }) || decide({ key, reason, about }) !== "shown") return undefined;
  if (eventIds !== undefined && !eventIds.includes(eventId)) return undefined;
  const label = labelOf(scope.labels, key, about);
  return { seq, deadLetter, partner: partners().find((partner) => partner.label === label) };
}

/** What the index needs to select the dead letters of a job. */
function scopeOf(
  deps: SelectedDeps,
  { source, filter, tenants, ...access }: Pick<ReplaySpec, "source" | "filter" | "tenants" | "partners">,
): DeadLetterScope {
  const configured = deps.partners();
  const labels = new Map(configured.flatMap((one) => deadLetterKeys(one).map((key) => [key, one.label])));
  const scope = {
    caller: { client: "", tenants, ...partnersOf(access) },
    labels,
    ...(filter.types.length === 0 ? {} : { types: filter.types }),
  };
  if (source.kind === "dead_letters") {
    const own = configured.filter(({ key }) => key === source.partner).flatMap(deadLetterKeys);
    return { ...scope, keys: new Set(own), ...(source.reason === "*" ? {} : { reason: source.reason }) };
  }
  if (source.kind !== "selected_dead_letters") return scope;
  const { reason, fromMs, toMs, action } = source;
  return {
    ...scope,
    isConfigured: action === "redrive",
    ...(filter.partners.length === 0 ? {} : { keys: keysOf(configured, filter.partners) }),
    ...(reason === undefined ? {} : { reason }),
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(toMs === undefined ? {} : { toMs }),
  };
}

function keysOf(configured: readonly Partner[], names: readonly string[]): ReadonlySet<string> {
  const named = new Set(names);
  const own = configured.filter(({ label }) => named.has(label)).flatMap(deadLetterKeys);
  return new Set([...own, ...names.map(partnerKey)]);
}
