import type { PartnerSummary } from "../../../api/partners.ts";
import type { NotAppliedPartner } from "../../../crds/config.ts";
import { orEventsUnavailable, ApiError } from "../../errors/api-error.ts";
import { anyTenant, includesTenant } from "../ids.ts";
import type { DisabledPartners } from "../partners/partner-holds.ts";
import type { Partner } from "../partners/partner.ts";
import { isNarrowed, mayNamePartner, type PartnerAccess } from "./history-view.ts";

export interface PartnerPage {
  readonly items: readonly PartnerSummary[];
  /** Number of partners before the next page; undefined at the end. */
  readonly next?: number;
}

/** A caller that requests partners. */
interface PartnerCaller extends PartnerAccess {
  /** `*`: all tenants. */
  readonly tenants: readonly string[];
}

export interface PartnerQuery extends PartnerCaller {
  /** Parts of `namespace/name`, lowercase. @default all partners */
  readonly search?: readonly string[];
  /** Partners before the page. A change of the configuration between two pages may move one over their border. */
  readonly skipped: number;
  readonly limit: number;
}

/** The configured partners, for callers. */
export type PartnerList = ReturnType<typeof createPartnerList>;

interface PartnerListDeps {
  readonly partners: () => readonly Partner[];
  readonly disabled: Pick<DisabledPartners, "list">;
  /** By key. */
  readonly notApplied: () => ReadonlyMap<string, NotAppliedPartner>;
}

export function createPartnerList({ partners, disabled, notApplied }: PartnerListDeps) {
  return {
    /**
     * Partners by their names, with the subscriptions to the caller's tenants. A partner without one of them is left
     * out.
     * @throws ApiError `events_unavailable`
     */
    page: async (query: PartnerQuery): Promise<PartnerPage> => {
      const digests = await disabledDigests(disabled);
      const configured = partners()
        .filter(({ label }) => mayNamePartner(query, label))
        .map((partner) => summaryOf(partner, query, { digests, notApplied: notApplied() }))
        .filter(({ subscriptions }) => subscriptions.length > 0);
      const keys = new Set(partners().map(({ key }) => key));
      const { search = [] } = query;
      const visible = [...configured, ...leftOut(notApplied(), keys, query)]
        .filter(({ partner }) => search.every((part) => partner.includes(part)))
        .toSorted((a, b) => (a.partner < b.partner ? -1 : 1));
      const end = query.skipped + query.limit;
      const items = visible.slice(query.skipped, end);
      return visible.length > end ? { items, next: end } : { items };
    },
    /**
     * A partner of the list by `namespace/name`.
     * @throws ApiError `partner_not_found`, also for one that the list leaves out; `events_unavailable`
     */
    find: async (label: string, caller: PartnerCaller) => {
      const partner = mayNamePartner(caller, label) ? partners().find((one) => one.label === label) : undefined;
      if (partner === undefined || subscriptionsOf(partner, caller.tenants).length === 0)
        throw new ApiError("partner_not_found", absence(label, notApplied(), caller));
      const summary = summaryOf(partner, caller, {
        digests: await disabledDigests(disabled),
        notApplied: notApplied(),
      });
      return { partner, summary };
    },
  };
}

/** Whether the caller sees every tenant whose events the partner gets. Some figures count the events of all of them. */
export function seesAll({ config }: Partner, tenants: readonly string[]): boolean {
  return config.subscriptions.every((one) => one.tenants.every((tenant) => includesTenant(tenants, tenant)));
}

type NotApplied = ReadonlyMap<string, NotAppliedPartner>;

/** Partners without any applied version. Their tenants are unknown, so only callers for all tenants see them. */
function leftOut(all: NotApplied, applied: ReadonlySet<string>, caller: PartnerCaller): readonly PartnerSummary[] {
  if (!caller.tenants.includes(anyTenant)) return [];
  return [...all]
    .map(([key, partner]) => ({ key, partner, label: `${partner.namespace}/${partner.name}` }))
    .filter(({ key, label }) => !applied.has(key) && mayNamePartner(caller, label))
    .map(({ partner, label }) => ({
      partner: label,
      state: "rejected",
      reason: null,
      missing: null,
      rejected: rejectionOf(partner, caller),
      subscriptions: [],
      keys: [],
    }));
}

function rejectionOf(partner: NotAppliedPartner | undefined, caller: PartnerCaller): PartnerSummary["rejected"] {
  if (partner === undefined) return null;
  const seesMessage = caller.tenants.includes(anyTenant) && !isNarrowed(caller);
  return { reason: partner.reason, message: (seesMessage ? partner.message : undefined) ?? null };
}

function absence(label: string, all: NotApplied, caller: PartnerCaller): string {
  const rejected = leftOut(all, new Set(), caller).find(({ partner }) => partner === label)?.rejected ?? undefined;
  if (rejected === undefined) return `The partner ${label} does not exist.`;
  const message = rejected.message === null ? "" : `, ${rejected.message}`;
  return `The partner ${label} is not applied: ${rejected.reason}${message}`;
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

interface Marks {
  readonly digests: ReadonlySet<string>;
  readonly notApplied: NotApplied;
}

function summaryOf(partner: Partner, caller: PartnerCaller, { digests, notApplied }: Marks): PartnerSummary {
  const { config, label, key } = partner;
  return {
    partner: label,
    state: stateOf(config, digests),
    reason: config.held ?? null,
    missing: config.heldBy ?? null,
    rejected: rejectionOf(notApplied.get(key), caller),
    subscriptions: subscriptionsOf(partner, caller.tenants),
    keys: config.signing.keys.map(({ id, notAfterMs }) => ({
      id,
      not_after: notAfterMs === undefined ? null : new Date(notAfterMs).toISOString(),
    })),
  };
}

function stateOf(
  { uid, specDigest, held, state }: Partner["config"],
  digests: ReadonlySet<string>,
): PartnerSummary["state"] {
  if (held !== undefined) return "held";
  if (digests.has(`${uid} ${specDigest}`)) return "disabled";
  return state === "Paused" ? "paused" : "active";
}

/** Partners that are disabled as they were specified. */
async function disabledDigests(disabled: PartnerListDeps["disabled"]): Promise<ReadonlySet<string>> {
  const marks = await orEventsUnavailable(() => disabled.list());
  return new Set(marks.map(({ uid, specDigest }) => `${uid} ${specDigest}`));
}
