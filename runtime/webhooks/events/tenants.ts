/** The entry of a list of tenants that includes all tenants. */
export const anyTenant = "*";

/** True when the list includes a tenant; {@link anyTenant} includes all. */
export function includesTenant(tenants: readonly string[], tenant: string): boolean {
  return tenants.includes(anyTenant) || tenants.includes(tenant);
}

/** True when events for an entry of a subscription may be events of a caller's tenants. */
export function mayConcern(entry: string, tenants: readonly string[]): boolean {
  return tenants.length > 0 && (entry === anyTenant || includesTenant(tenants, entry));
}

/** The tenant whose events are scanned: the only one of the list, or {@link anyTenant}. */
export function tenantToScan(tenants: readonly string[]): string {
  const [only = anyTenant, ...more] = tenants;
  return more.length === 0 ? only : anyTenant;
}
