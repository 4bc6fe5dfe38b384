import { Refusal } from "../../errors/refusal.ts";
import { anyTenant, includesTenant } from "../events/tenants.ts";
import type { DisabledPartners } from "../partners/disabled-partners.ts";
import type { Partner } from "../partners/partner.ts";
import { mayNamePartner, type PartnerAccess } from "./partner-access.ts";

/** `held`: nothing is sent until the configuration is resolved. `disabled`: the endpoint answered 410. */
export const partnerStates = ["active", "paused", "held", "disabled"] as const;
type PartnerState = (typeof partnerStates)[number];

/** A configured partner, without its endpoint. */
export interface PartnerSummary {
  /** `namespace/name`. */
  readonly partner: string;
  readonly state: PartnerState;
  /** Why it is held; null otherwise. */
  readonly reason: string | null;
  readonly subscriptions: readonly {
    readonly name: string;
    readonly types: readonly string[];
    readonly tenants: readonly string[];
  }[];
  /** Signing keys; the first signs. */
  readonly keys: readonly { readonly id: string; readonly not_after: string | null }[];
}

export interface PartnerPage {
  readonly items: readonly PartnerSummary[];
  /** Number of partners before the next page; undefined at the end. */
  readonly next?: number;
}

/** A caller that asks for partners. */
interface PartnerCaller extends PartnerAccess {
  /** `*`: all tenants. */
  readonly tenants: readonly string[];
}

interface PartnerQuery extends PartnerCaller {
  /** Partners before the page. A change of the configuration between two pages may move one over their border. */
  readonly skipped: number;
  readonly limit: number;
}

/** The configured partners, for callers. */
export interface PartnerList {
  /**
   * Partners by their names, with the subscriptions to the caller's tenants. A partner without one of them is left out.
   * @throws Refusal `events_unavailable`
   */
  page(query: PartnerQuery): Promise<PartnerPage>;
  /**
   * A partner of the list by `namespace/name`.
   * @throws Refusal `partner_not_found`, also for one that the list leaves out; `events_unavailable`
   */
  find(label: string, caller: PartnerCaller): Promise<{ readonly partner: Partner; readonly summary: PartnerSummary }>;
}

interface PartnerListDeps {
  readonly partners: () => readonly Partner[];
  readonly disabled: Pick<DisabledPartners, "list">;
}

export function createPartnerList({ partners, disabled }: PartnerListDeps): PartnerList {
  return {
    page: async (query) => {
      const digests = await disabledDigests(disabled);
      const visible = partners()
        .filter(({ label }) => mayNamePartner(query, label))
        .toSorted((a, b) => (a.label < b.label ? -1 : 1))
        .map((partner) => summaryOf(partner, query.tenants, digests))
        .filter(({ subscriptions }) => subscriptions.length > 0);
      const end = query.skipped + query.limit;
      const items = visible.slice(query.skipped, end);
      return visible.length > end ? { items, next: end } : { items };
    },
    find: async (label, caller) => {
      const partner = mayNamePartner(caller, label) ? partners().find((one) => one.label === label) : undefined;
      if (partner === undefined || subscriptionsOf(partner, caller.tenants).length === 0)
        throw new Refusal("partner_not_found", `There is no partner ${label}.`);
      return { partner, summary: summaryOf(partner, caller.tenants, await disabledDigests(disabled)) };
    },
  };
}

/** The subscriptions to tenants of the caller. */
function subscriptionsOf({ config }: Partner, tenants: readonly string[]): PartnerSummary["subscriptions"] {
  const narrowed = config.subscriptions.map((one) => ({
    name: one.name,
    types: one.types,
    tenants: one.tenants.filter((tenant) => tenant === anyTenant || includesTenant(tenants, tenant)),
  }));
  return narrowed.filter((one) => one.tenants.length > 0);
}

function summaryOf(partner: Partner, tenants: readonly string[], digests: ReadonlySet<string>): PartnerSummary {
  const { config, label } = partner;
  return {
    partner: label,
    state: stateOf(config, digests),
    reason: config.held ?? null,
    subscriptions: subscriptionsOf(partner, tenants),
    keys: config.signing.keys.map(({ id, notAfterMs }) => ({
      id,
      not_after: notAfterMs === undefined ? null : new Date(notAfterMs).toISOString(),
    })),
  };
}

function stateOf({ uid, specDigest, held, state }: Partner["config"], digests: ReadonlySet<string>): PartnerState {
  if (held !== undefined) return "held";
  if (digests.has(`${uid} ${specDigest}`)) return "disabled";
  return state === "Paused" ? "paused" : "active";
}

/** Partners that are disabled as they were specified. */
async function disabledDigests(disabled: PartnerListDeps["disabled"]): Promise<ReadonlySet<string>> {
  try {
    return new Set((await disabled.list()).map(({ uid, specDigest }) => `${uid} ${specDigest}`));
  } catch (cause) {
    throw new Refusal("events_unavailable", "The event store does not answer", { cause, retryAfterSeconds: 1 });
  }
}
