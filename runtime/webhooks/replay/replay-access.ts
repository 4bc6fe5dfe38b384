import { isNarrowed, mayNamePartner, partnersOf, type PartnerAccess } from "../history/partner-access.ts";
import { includesTenant } from "../events/tenants.ts";
import type { ReplayFilter, ReplayJob, ReplaySpec } from "./replay-job.ts";

/** The caller of a request, with its access. */
export interface ReplayCaller extends PartnerAccess {
  readonly client: string;
  /** `*`: all tenants. */
  readonly tenants: readonly string[];
}

/** A label that no partner has, for a filter that matches none. An empty filter would match all. */
export const noPartner = "/";

/** True when a caller may read and cancel a replay, which requires access to all its tenants and partners. */
export function mayReadReplay(job: ReplayJob, caller: ReplayCaller): boolean {
  const mayReadTenants = job.tenants.every((tenant) => includesTenant(caller.tenants, tenant));
  if (!isNarrowed(caller)) return mayReadTenants;
  return mayReadTenants && isNarrowed(job) && job.partners.every((label) => mayNamePartner(caller, label));
}

/**
 * Limits a replay to the access of its caller. The filter itself names only permitted partners, so that a pod of an
 * earlier version enforces the limit too.
 */
export function accessOf(
  caller: ReplayCaller,
  filter: ReplayFilter,
): Pick<ReplaySpec, "filter" | "tenants" | "partners"> {
  const tenants = [...new Set(caller.tenants)];
  if (!isNarrowed(caller)) return { filter, tenants };
  const named =
    filter.partners.length === 0 ? caller.partners : filter.partners.filter((label) => mayNamePartner(caller, label));
  return { filter: { ...filter, partners: named.length === 0 ? [noPartner] : named }, tenants, ...partnersOf(caller) };
}
