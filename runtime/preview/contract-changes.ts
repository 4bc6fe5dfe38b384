import type { contractErrors } from "../../api/events.ts";
import { canonicalJson } from "../../crds/compile/canonical-json.ts";
import type { EventVersionConfig, RuntimeConfig } from "../../crds/config.ts";
import { declaredTypes } from "../../crds/declared-types.ts";
import { parseSchema } from "../../crds/event-schema/parse-schema.ts";
import type { SchemaNode } from "../../crds/event-schema/schema-node.ts";
import { validateData } from "../../crds/event-schema/validate-data.ts";
import { parseJsonObject } from "../json/json-body.ts";
import { selectPayload } from "../webhooks/events/payload-selection.ts";
import { isOwnType } from "../webhooks/events/envelope.ts";
import { createRoutingTable, type RoutingTable } from "../webhooks/partners/configured-partners.ts";
import { compilePartners } from "../webhooks/partners/partner.ts";
import { versionOf, type StoredEvent } from "../webhooks/records/event-record.ts";

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
  const [judgeBefore, judgeAfter] = [createJudge(base, rules), createJudge(edit, rules)];
  const [old, edited] = [base, edit].map((config) => createRoutingTable(compilePartners(config, []))) as [
    RoutingTable,
    RoutingTable,
  ];
  return {
    /** Adds one event that these partners get before the edit. */
    addTo: (tally: ContractTally, event: StoredEvent, labels: readonly string[]): void => {
      const [before, after] = hasContracts && !isOwnType(event.type) ? [judgeBefore(event), judgeAfter(event)] : [];
      if (before === undefined && after !== undefined) {
        addRejected(tally, event, after);
        for (const label of labels) addToPartner(tally, label, "rejected");
      }
      if (before !== undefined && after === undefined) tally.accepted += 1;
      for (const label of changedPayloads(event, old, edited)) addToPartner(tally, label, "changed");
    },
  };
}

function payloadsOf({ partners }: RuntimeConfig): string {
  return canonicalJson(
    partners.map(({ uid, subscriptions }) => [uid, subscriptions.map(({ selects }) => selects ?? null)]),
  );
}

interface Judged {
  readonly version: string;
  readonly code: (typeof contractErrors)[number];
}

/** Finds why the declared types reject an event; undefined if they do not. */
function createJudge(config: RuntimeConfig, { rejectsUndeclared, nowMs }: ContractRules) {
  const types = declaredTypes(config);
  const roots = new Map<EventVersionConfig, SchemaNode | undefined>();
  const rootOf = (declared: EventVersionConfig): SchemaNode | undefined => {
    if (!roots.has(declared)) roots.set(declared, parseSchema(declared.schema).root);
    return roots.get(declared);
  };
  return ({ type, body }: StoredEvent): Judged | undefined => {
    const { data = {} } = parseJsonObject(Buffer.from(body).toString()) ?? {};
    const version = versionOf(body) ?? "";
    const declared = types.get(type)?.versions.get(version);
    if (declared === undefined) return rejectsUndeclared ? { version, code: "undeclared_type" } : undefined;
    if (hasEnded(declared, nowMs)) return { version, code: "version_retired" };
    const root = rootOf(declared);
    if (root === undefined || validateData(root, data).length === 0) return undefined;
    return { version, code: "invalid_data" };
  };
}

function hasEnded({ sunsetAtMs = Number.POSITIVE_INFINITY }: EventVersionConfig, nowMs: number): boolean {
  return sunsetAtMs <= nowMs;
}

function addRejected(tally: ContractTally, { type, eventId }: StoredEvent, { version, code }: Judged): void {
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
  const before = new Map(
    old
      .routeOf(event)
      .payloads.entries()
      .map(([{ label }, payload]) => [label, payload]),
  );
  const route = edited.routeOf(event);
  const had = new Set(old.routeOf(event).matching.map(({ label }) => label));
  return route.matching.flatMap((partner) => {
    if (!had.has(partner.label)) return [];
    const [was, is] = [before.get(partner.label) ?? [], route.payloads.get(partner) ?? []];
    if (canonicalJson(was) === canonicalJson(is)) return [];
    const [sent, next] = [selectPayload(event.body, was), selectPayload(event.body, is)];
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
