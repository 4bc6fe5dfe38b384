import { isNarrowed, mayNamePartner, partnersOf, type PartnerAccess } from "../history/partner-access.ts";
import { includesTenant } from "../events/tenants.ts";
import type { ReplayFilter, ReplayJob, ReplaySpec } from "./replay-job.ts";

/** Who asks. */
export interface ReplayCaller extends PartnerAccess {
  readonly client: string;
  /** `*` is every one. */
  readonly tenants: readonly string[];
}

/** No partner is called so: a filter that named none would mean every one. */
const nobody = "/";

/** Whether a caller may read and cancel a replay: it concerns no tenant and no partner that the caller may not see. */
export function mayReadReplay(job: ReplayJob, caller: ReplayCaller): boolean {
  const mayReadTenants = job.tenants.every((tenant) => includesTenant(caller.tenants, tenant));
  if (!isNarrowed(caller)) return mayReadTenants;
  return mayReadTenants && isNarrowed(job) && job.partners.every((label) => mayNamePartner(caller, label));
}

/**
 * What a replay of this caller may concern. The filter itself names only partners that the caller may see, so that a
 * pod of an earlier version that runs the replay keeps to them too.
 */
export function accessOf(
  caller: ReplayCaller,
  filter: ReplayFilter,
): Pick<ReplaySpec, "filter" | "tenants" | "partners"> {
  const tenants = [...new Set(caller.tenants)];
  if (!isNarrowed(caller)) return { filter, tenants };
  const named =
    filter.partners.length === 0 ? caller.partners : filter.partners.filter((label) => mayNamePartner(caller, label));
  return { filter: { ...filter, partners: named.length === 0 ? [nobody] : named }, tenants, ...partnersOf(caller) };
}
