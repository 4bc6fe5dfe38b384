import type { contractErrors } from "../../api/events.ts";
import { canonicalJson } from "../../crds/compile/canonical-json.ts";
import type { EventVersionConfig, RuntimeConfig } from "../../crds/config.ts";
import { declaredTypes } from "../../crds/declared-types.ts";
import { parseExactly } from "../../crds/event-schema/long-number.ts";
import { parseSchema } from "../../crds/event-schema/parse-schema.ts";
import type { SchemaNode } from "../../crds/event-schema/schema-node.ts";
import { selectPayload } from "../webhooks/events/payload-selection.ts";
import { type Envelope, isOwnType } from "../webhooks/events/envelope.ts";
import { contractError } from "../webhooks/events/contract-error.ts";
import { createRoutingTable, type RoutingTable } from "../webhooks/partners/configured-partners.ts";
import { compilePartners } from "../webhooks/partners/partner.ts";
import type { StoredEvent } from "../webhooks/records/event-record.ts";

/** Events of one type and version that the edit would reject. Its members are a stored form. */
interface RejectedType {
  readonly type: string;
  readonly version: string;
  readonly code: (typeof contractErrors)[number];
  events: number;
  /** The first event ids. */
  readonly ids: string[];
}

/** Effect of an edit on contracts and payloads of the events read so far. Its members are a stored form. */
export interface ContractTally {
  rejected: number;
  accepted: number;
  /** At most {@link typesMax}. */
  readonly types: RejectedType[];
  /** By `namespace/name`, at most {@link partnersMax}. */
  readonly partners: Record<string, { rejected: number; changed: number }>;
}

export interface ContractRules {
  /** Whether a type or version that no catalog declares is rejected. */
  readonly rejectsUndeclared: boolean;
  /** Unix milliseconds at which versions are judged. */
  readonly nowMs: number;
}

/** Rows of types, and event ids of each. */
const typesMax = 100;
const idsMax = 10;
const partnersMax = 1_024;

export function noContracts(): ContractTally {
  return { rejected: 0, accepted: 0, types: [], partners: {} };
}

/** Compares what event catalogs reject, and the payloads of partners, before and after an edit. */
export type ContractChanges = ReturnType<typeof createContractChanges>;

/**
 * Judges recorded events by the catalogs before and after an edit, as if they were sent now, and compares the part of
 * each event that a partner gets. Undefined if the edit changes neither, so that no event needs to be read.
 */
export function createContractChanges(base: RuntimeConfig, edit: RuntimeConfig, rules: ContractRules) {
  const hasContracts = canonicalJson(base.eventCatalogs ?? []) !== canonicalJson(edit.eventCatalogs ?? []);
  const hasPayloads = hasContracts || payloadsOf(base) !== payloadsOf(edit);
  if (!hasPayloads) return undefined;
  const rootOf = createRoots();
  const [judgeBefore, judgeAfter] = [createJudge(base, rules, rootOf), createJudge(edit, rules, rootOf)];
  const [old, edited] = [base, edit].map((config) => createRoutingTable(compilePartners(config, []))) as [
    RoutingTable,
    RoutingTable,
  ];
  const addJudged = (tally: ContractTally, event: StoredEvent, labels: readonly string[]): void => {
    const sent = asSent(event);
    const [before, after] = [judgeBefore(sent), judgeAfter(sent)];
    if (before === undefined && after !== undefined) {
      addRejected(tally, event.eventId, sent, after);
      for (const label of labels) addToPartner(tally, label, "rejected");
    }
    if (before !== undefined && after === undefined) tally.accepted += 1;
  };
  return {
    /** Adds one event that these partners get before the edit. */
    addTo: (tally: ContractTally, event: StoredEvent, labels: readonly string[]): void => {
      if (hasContracts && !isOwnType(event.type)) addJudged(tally, event, labels);
      for (const label of changedPayloads(event, old, edited)) addToPartner(tally, label, "changed");
    },
  };
}

function payloadsOf({ partners }: RuntimeConfig): string {
  return canonicalJson(
    partners.map(({ uid, subscriptions }) => [uid, subscriptions.map(({ selects }) => selects ?? null)]),
  );
}

/** The part of an event that its declared type judges. */
type JudgedEvent = Pick<Envelope, "type" | "version" | "data">;

/** A recorded event as it was sent, with every digit of its data. */
function asSent({ type, body }: StoredEvent): JudgedEvent {
  const { version, data } = parseExactly(Buffer.from(body).toString()) as Partial<Omit<JudgedEvent, "type">>;
  return { type, version: version ?? "", ...(data === undefined ? {} : { data }) };
}

type Code = (typeof contractErrors)[number];

/** Finds why the declared types reject an event; undefined if they do not. */
function createJudge(config: RuntimeConfig, rules: ContractRules, rootOf: RootOf) {
  const types = declaredTypes(config);
  const terms = { ...rules, rootOf: (_type: string, declared: EventVersionConfig) => rootOf(declared) };
  return (event: JudgedEvent): Code | undefined => contractError(types, event, terms)?.code as Code | undefined;
}

type RootOf = (declared: EventVersionConfig) => SchemaNode | undefined;

/** Parses each schema once: both configurations hold the versions that the edit leaves. */
function createRoots(): RootOf {
  const roots = new Map<EventVersionConfig, SchemaNode | undefined>();
  return (declared) => {
    if (!roots.has(declared)) roots.set(declared, parseSchema(declared.schema).root);
    return roots.get(declared);
  };
}

function addRejected(tally: ContractTally, eventId: string, { type, version }: JudgedEvent, code: Code): void {
  tally.rejected += 1;
  const known = tally.types.find((one) => one.type === type && one.version === version && one.code === code);
  if (known === undefined && tally.types.length >= typesMax) return;
  const row = known ?? { type, version, code, events: 0, ids: [] };
  if (known === undefined) tally.types.push(row);
  row.events += 1;
  if (row.ids.length < idsMax) row.ids.push(eventId);
}

/** Labels of partners that get other bytes of the event. */
function changedPayloads(event: StoredEvent, old: RoutingTable, edited: RoutingTable): readonly string[] {
  const [was, route] = [old.routeOf(event), edited.routeOf(event)];
  const before = new Map(was.payloads.entries().map(([{ label }, payload]) => [label, payload]));
  const had = new Set(was.matching.map(({ label }) => label));
  return route.matching.flatMap((partner) => {
    if (!had.has(partner.label)) return [];
    const [now, then] = [before.get(partner.label) ?? [], route.payloads.get(partner) ?? []];
    if (canonicalJson(now) === canonicalJson(then)) return [];
    const [sent, next] = [selectPayload(event.body, now), selectPayload(event.body, then)];
    return Buffer.compare(sent, next) === 0 ? [] : [partner.label];
  });
}

function addToPartner({ partners }: ContractTally, label: string, counted: "rejected" | "changed"): void {
  const known = Object.hasOwn(partners, label) ? partners[label] : undefined;
  if (known === undefined && Object.keys(partners).length >= partnersMax) return;
  const row = known ?? { rejected: 0, changed: 0 };
  row[counted] += 1;
  partners[label] = row;
}
