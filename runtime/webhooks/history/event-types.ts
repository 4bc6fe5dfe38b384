import type { EventTypeDetail, EventTypeState, EventTypeSummary, EventTypeVersion } from "../../../api/events.ts";
import { producersOf, type EventVersionConfig, type SubscriptionConfig } from "../../../crds/config.ts";
import type { SigningScheme } from "../../../crds/signing-key.ts";
import type { DeclaredType } from "../../../crds/declared-types.ts";
import { ApiError } from "../../errors/api-error.ts";
import { differentSelections, withClasses, type PayloadSelection } from "../events/payload-selection.ts";
import { compilePattern } from "../events/subscriptions.ts";
import { anyTenant, includesTenant, mayConcern } from "../ids.ts";
import { visibleExamples, visibleSchema } from "../events/visible-schema.ts";
import type { Partner } from "../partners/partner.ts";
import { isNarrowed, mayNamePartner, type PartnerAccess } from "./history-view.ts";

/** A caller that requests event types. */
export interface TypeCaller extends PartnerAccess {
  /** `*`: all tenants. */
  readonly tenants: readonly string[];
}

export interface TypeQuery extends TypeCaller {
  /** Start of the type. @default all types */
  readonly prefix?: string;
  readonly state?: EventTypeState;
  /** Parts of type, description and owner, lowercase. @default all types */
  readonly search?: readonly string[];
  /** Types before the page. */
  readonly skipped: number;
  readonly limit: number;
}

/** What deliveries to some partners look like. */
interface SentForms {
  readonly schemes: readonly SigningScheme[];
  readonly formats: readonly ("CloudEvents" | "Envelope")[];
}

interface EventTypesDeps {
  /** Declared types by name. */
  readonly declared: () => ReadonlyMap<string, DeclaredType>;
  readonly partners: () => readonly Partner[];
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The declared event types, for callers. */
export type EventTypes = ReturnType<typeof createEventTypes>;

/**
 * A caller that is limited to partners or tenants sees the types that the subscriptions of these partners to these
 * tenants match, whatever the content. Of a type, a caller that is limited to partners sees the fields that at least
 * one of them may get.
 */
export function createEventTypes({ declared, partners, now }: EventTypesDeps) {
  const visibleTo = (caller: TypeCaller): readonly DeclaredType[] => {
    const all = [...declared().values()].toSorted((one, other) => (one.type < other.type ? -1 : 1));
    if (!isLimited(caller)) return all;
    const isMatched = typeMatcher(visibleSubscriptions(partners(), caller));
    return all.filter(({ type }) => isMatched(type));
  };
  const detailOf = (type: DeclaredType, caller: TypeCaller): EventTypeDetail => {
    const { sensitive } = type;
    const selections = isNarrowed(caller) ? selectionsFor(type, partners(), caller) : [[]];
    return {
      ...summaryOf(type, caller, now()),
      versions: newestFirst(type).map((version) => versionDetail(version, selections, now())),
      ...(isNarrowed(caller) ? {} : { sensitive }),
    };
  };
  return {
    /** Types by name. A change of the configuration between two pages may move one over their border. */
    page: (query: TypeQuery): { readonly items: readonly EventTypeSummary[]; readonly next?: number } => {
      const { prefix = "", state, search = [], skipped, limit } = query;
      const found = visibleTo(query)
        .filter(({ type }) => type.startsWith(prefix))
        .map((type) => summaryOf(type, query, now()))
        .filter((type) => (state ?? type.state) === type.state && isFound(type, search));
      const end = skipped + limit;
      const items = found.slice(skipped, end);
      return found.length > end ? { items, next: end } : { items };
    },
    /** The details of all types whose name starts with a text, as they are read. */
    details: function* (caller: TypeCaller, prefix = ""): Iterable<EventTypeDetail> {
      for (const type of visibleTo(caller)) if (type.type.startsWith(prefix)) yield detailOf(type, caller);
    },
    /** Signature schemes and formats of the partners that get events of the caller's tenants. */
    deliveries: (caller: TypeCaller): SentForms => {
      const named = partners().filter(
        (partner) => mayNamePartner(caller, partner.label) && subscriptionsOf(partner, caller).length > 0,
      );
      return {
        schemes: [...new Set(named.map(({ config }) => config.signing.scheme))].sort(),
        formats: [...new Set(named.map(({ config }) => config.format ?? "Envelope"))].sort(),
      };
    },
    /** @throws ApiError `event_type_not_found`, also for a type that the caller may not see */
    find: (name: string, caller: TypeCaller): EventTypeDetail => {
      const type = declared().get(name);
      const isVisible =
        type !== undefined && (!isLimited(caller) || typeMatcher(visibleSubscriptions(partners(), caller))(type.type));
      if (isVisible) return detailOf(type, caller);
      throw new ApiError("event_type_not_found", "No event catalog declares the type, or the caller may not see it.");
    },
  };
}

function isLimited(caller: TypeCaller): boolean {
  return isNarrowed(caller) || !caller.tenants.includes(anyTenant);
}

function isFound({ type, description, owner }: EventTypeSummary, search: readonly string[]): boolean {
  const text = `${type} ${description} ${owner}`.toLowerCase();
  return search.every((part) => text.includes(part));
}

function visibleSubscriptions(partners: readonly Partner[], caller: TypeCaller): readonly SubscriptionConfig[] {
  return partners.filter(({ label }) => mayNamePartner(caller, label)).flatMap((one) => subscriptionsOf(one, caller));
}

/** The subscriptions of a partner to tenants of the caller, in the order in which they decide about the payload. */
function subscriptionsOf({ config }: Partner, { tenants }: TypeCaller): readonly SubscriptionConfig[] {
  const place = ({ selects }: SubscriptionConfig): number => selects?.order ?? 0;
  return config.subscriptions
    .filter((one) => one.tenants.some((tenant) => mayConcern(tenant, tenants)))
    .toSorted((one, other) => place(one) - place(other));
}

/** Tests types against the patterns of many subscriptions, each of which is compiled once. */
function typeMatcher(subscriptions: readonly SubscriptionConfig[]): (type: string) => boolean {
  const patterns = [...new Set(subscriptions.flatMap(({ types }) => types))];
  const exact = new Set(patterns.filter((pattern) => !pattern.includes("*")));
  const open = patterns.filter((pattern) => pattern.includes("*")).map(compilePattern);
  return (type) => exact.has(type) || open.some((matches) => matches(type));
}

/** The selections of all subscriptions that may decide about an event of the type for a partner of the caller. */
function selectionsFor(
  { type, sensitive }: DeclaredType,
  partners: readonly Partner[],
  caller: TypeCaller,
): readonly PayloadSelection[] {
  const selections = partners
    .filter(({ label }) => mayNamePartner(caller, label))
    .flatMap((partner) => {
      const matching = subscriptionsOf(partner, caller).filter(({ types }) =>
        types.some((pattern) => compilePattern(pattern)(type)),
      );
      return matching.filter(
        (one, index) => !matching.slice(0, index).some((earlier) => isCovered(one, earlier, caller)),
      );
    })
    .map(({ selects }) => withClasses(selects?.payload ?? [], sensitive));
  return [...new Map(selections.map((one) => [JSON.stringify(one), differentSelections(one)])).values()];
}

/** Whether an earlier subscription decides about every event of the caller's tenants that a later one matches. */
function isCovered(one: SubscriptionConfig, earlier: SubscriptionConfig, { tenants }: TypeCaller): boolean {
  const [own, others] = [producersOf(one), producersOf(earlier)];
  const hasProducers = others.length === 0 || (own.length > 0 && own.every((name) => others.includes(name)));
  const isAnyContent = (earlier.selects?.matchers ?? []).length === 0;
  const whose = one.tenants.filter((tenant) => mayConcern(tenant, tenants));
  return isAnyContent && hasProducers && whose.every((tenant) => includesTenant(earlier.tenants, tenant));
}

function summaryOf(type: DeclaredType, caller: TypeCaller, nowMs: number): EventTypeSummary {
  const { description, owner, contact, catalog } = type;
  const versions = newestFirst(type).map((version) => versionSummary(version, nowMs));
  const states = versions.map(({ state }) => state);
  return {
    type: type.type,
    description,
    state: (["Active", "Deprecated"] as const).find((state) => states.includes(state)) ?? "Retired",
    owner,
    ...(contact === undefined ? {} : { contact }),
    ...(isLimited(caller) ? {} : { catalog }),
    versions,
  };
}

function newestFirst({ versions }: DeclaredType): readonly EventVersionConfig[] {
  return [...versions.values()].toSorted((one, other) => (one.version < other.version ? 1 : -1));
}

/** A version and its state, for callers. */
export function versionSummary(
  { version, state, deprecatedAtMs, sunsetAtMs }: EventVersionConfig,
  nowMs: number,
): Omit<EventTypeVersion, "schema" | "examples"> {
  return {
    version,
    state: sunsetAtMs !== undefined && sunsetAtMs <= nowMs ? "Retired" : state,
    ...(deprecatedAtMs === undefined ? {} : { deprecated_at: new Date(deprecatedAtMs).toISOString() }),
    ...(sunsetAtMs === undefined ? {} : { sunset_at: new Date(sunsetAtMs).toISOString() }),
  };
}

function versionDetail(
  config: EventVersionConfig,
  selections: readonly PayloadSelection[],
  nowMs: number,
): EventTypeVersion {
  return {
    ...versionSummary(config, nowMs),
    schema: visibleSchema(config.schema, selections),
    examples: visibleExamples(config.examples, selections),
  };
}
