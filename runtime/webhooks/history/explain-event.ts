import type { EventDeclaration, EventExplanation, PartnerExplanation } from "../../../api/partner-health.ts";
import type { DeclaredType } from "../../../crds/declared-types.ts";
import type { EventMatcherConfig, NotAppliedPartner, SubscriptionConfig } from "../../../crds/config.ts";
import { createEventValues, treeOf } from "../events/compile-matchers.ts";
import { selectPayload, type PayloadSelection } from "../events/payload-selection.ts";
import { unmetOf, type EventFacts, type Unmet } from "../events/subscriptions.ts";
import { anyTenant, mayConcern } from "../ids.ts";
import type { Partner } from "../partners/partner.ts";
import { parseRoutedBy, routedByText, versionOf } from "../records/event-record.ts";
import type { DeliveryHistory } from "./delivery-histories.ts";
import { versionSummary } from "./event-types.ts";
import { isNarrowed, mayNamePartner, type PartnerAccess } from "./history-view.ts";

/** A page of partners that is explained. */
export interface ExplainQuery {
  /** `namespace/name`. @default all partners */
  readonly partner?: string;
  /** The last partner of the page before. @default the first page */
  readonly after?: string;
  readonly limit: number;
}

export interface ExplainCaller extends PartnerAccess {
  /** `*`: all tenants. */
  readonly tenants: readonly string[];
}

export interface ExplainDeps {
  readonly partners: () => readonly Partner[];
  /** By key. */
  readonly notApplied: () => ReadonlyMap<string, NotAppliedPartner>;
  /** Hash of the applied configuration; undefined if unknown. */
  readonly configuration: () => string | undefined;
  /** Declared types by name. */
  readonly declared: () => ReadonlyMap<string, DeclaredType>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** An event and what its caller sees of it. */
export interface ExplainedEvent {
  readonly event: EventFacts & { readonly body: Uint8Array };
  readonly hidden: PayloadSelection;
  readonly deliveries: readonly DeliveryHistory[];
  /** Configuration of the routing to no partner. */
  readonly routedBy: string | undefined;
  /** Of an event that is not sent: whether the same event is stored already. @default the event was sent */
  readonly dryRun?: { readonly isDuplicate: boolean };
}

const valueCharactersMax = 200;
const requirementOrder: readonly string[] = ["type", "tenant", "producer", "matcher"];

/** Explains for each partner that the caller may see why it gets the event or does not. */
export function explainEvent(
  deps: ExplainDeps,
  explained: ExplainedEvent,
  caller: ExplainCaller,
  { partner: label, after = "", limit }: ExplainQuery,
): EventExplanation {
  const configuration = deps.configuration();
  const recorded = recordedBy(explained);
  const isRecorded = recorded.size === 1 && [...recorded].every((one) => configuration?.startsWith(one));
  const all = explanationsOf(deps, explained, caller, isRecorded);
  const rest = [...all.keys()].filter((name) => name > after && (label ?? name) === name).toSorted();
  const page = rest.slice(0, limit);
  return {
    declaration: declarationOf(deps, explained.event),
    evaluated: isRecorded ? "at_routing" : "now",
    configuration: parseRoutedBy(routedByText(configuration))?.configuration ?? null,
    routed_by: recorded.size === 1 ? ([...recorded][0] ?? null) : null,
    partners: page.flatMap((name) => all.get(name)?.() ?? []),
    cursor: rest.length > limit ? (page.at(-1) ?? null) : null,
  };
}

/** The state of the type and version of an event. */
export function declarationOf(
  { declared, now }: Pick<ExplainDeps, "declared" | "now">,
  { type, body }: ExplainedEvent["event"],
): EventDeclaration {
  const found = declared()
    .get(type)
    ?.versions.get(versionOf(body) ?? "");
  if (found === undefined) return { state: "Undeclared", sunset_at: null };
  const { state, sunset_at: sunsetAt = null } = versionSummary(found, now());
  return { state, sunset_at: sunsetAt };
}

/** The configurations that routed the event first. A replay may be routed by a later one. */
function recordedBy({ routedBy, deliveries }: ExplainedEvent): ReadonlySet<string> {
  const first = deliveries.filter(({ generation }) => generation === 0);
  const all = [routedBy, ...first.map((one) => one.routed_by?.configuration)];
  return new Set(all.filter((one) => one !== undefined));
}

/** The explanations by `namespace/name`. Only those of the page are made. */
function explanationsOf(
  { partners, notApplied }: ExplainDeps,
  explained: ExplainedEvent,
  caller: ExplainCaller,
  isRecorded: boolean,
): ReadonlyMap<string, () => PartnerExplanation> {
  const found = new Map<string, () => PartnerExplanation>();
  if (caller.tenants.includes(anyTenant))
    for (const { namespace, name, reason } of notApplied().values())
      found.set(`${namespace}/${name}`, () => ({ ...without(`${namespace}/${name}`, "not_applied"), state: reason }));
  for (const partner of partners()) {
    const subscriptions = visibleOf(partner.config.subscriptions, caller);
    const withdrawn = isNarrowed(caller) ? [] : visibleOf(partner.config.withdrawn ?? [], caller);
    if (subscriptions.length + withdrawn.length > 0)
      found.set(partner.label, () => absenceOf(partner, { subscriptions, withdrawn }, explained, isRecorded));
  }
  for (const delivery of explained.deliveries) found.set(delivery.partner, () => deliveryOf(delivery));
  return new Map([...found].filter(([label]) => mayNamePartner(caller, label)));
}

/** Others cannot match an event that the caller sees. */
function visibleOf(
  subscriptions: readonly SubscriptionConfig[],
  { tenants }: ExplainCaller,
): readonly SubscriptionConfig[] {
  return subscriptions.filter((one) => one.tenants.some((tenant) => mayConcern(tenant, tenants)));
}

function deliveryOf({ partner, state, reason, waiting }: DeliveryHistory): PartnerExplanation {
  const isRouted = state !== "not_routed";
  const code = isRouted ? (waiting?.kind ?? reason ?? state) : "withdrawn";
  return { ...without(partner, code), routed: isRouted, state };
}

function without(partner: string, reason: string): PartnerExplanation {
  return { partner, routed: false, reason, state: null, subscription: null, matcher: null };
}

interface Subscriptions {
  readonly subscriptions: readonly SubscriptionConfig[];
  readonly withdrawn: readonly SubscriptionConfig[];
}

function absenceOf(
  { key, label }: Partner,
  { subscriptions, withdrawn }: Subscriptions,
  explained: ExplainedEvent,
  isRecorded: boolean,
): PartnerExplanation {
  const { event } = explained;
  if (event.only !== undefined) return without(label, event.only === key ? "no_record" : "ping");
  if (event.about === key) return without(label, "about_partner");
  const judged = subscriptions.map((one) => ({ name: one.name, unmet: unmetOf(one, event) }));
  const matching = judged.find(({ unmet }) => unmet === undefined);
  if (matching !== undefined)
    return { ...without(label, matchReason(explained, isRecorded)), subscription: matching.name };
  const lost = withdrawn.find((one) => unmetOf(one, event) === undefined);
  if (lost !== undefined) return { ...without(label, "withdrawn"), subscription: lost.name };
  const placeOf = (unmet: Unmet | undefined): number => requirementOrder.indexOf(unmet?.kind ?? "");
  const [nearest] = judged.toSorted((one, other) => placeOf(other.unmet) - placeOf(one.unmet));
  if (nearest?.unmet === undefined) return without(label, "withdrawn_other");
  const { name, unmet } = nearest;
  const matcher = unmet.kind === "matcher" ? matcherOf(unmet.matcher, explained) : null;
  return { ...without(label, unmet.kind), subscription: name, matcher };
}

/** Why no delivery is recorded for a partner with a subscription that matches. */
function matchReason({ dryRun }: ExplainedEvent, isRecorded: boolean): string {
  if (dryRun !== undefined) return dryRun.isDuplicate ? "duplicate" : "would_be_routed";
  return isRecorded ? "no_record" : "matches_now";
}

/** The matcher with the value that it found, if the caller may see the value. */
function matcherOf(
  { op, pointer }: EventMatcherConfig,
  { event, hidden }: ExplainedEvent,
): NonNullable<PartnerExplanation["matcher"]> {
  const values = createEventValues(selectPayload(event.body, hidden), treeOf([{ op, pointer }]));
  const value = values(pointer);
  const hasText = value !== undefined && value.kind !== "Object" && value.kind !== "Array";
  const missing = hidden.length > 0 ? "hidden" : "missing";
  return {
    operator: op,
    pointer,
    found: value === undefined ? missing : value.kind.toLowerCase(),
    value: hasText ? value.text.slice(0, valueCharactersMax) : null,
  };
}
