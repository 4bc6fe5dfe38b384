/** In a list of tenants: every tenant. */
export const anyTenant = "*";

/** Whether these tenants include one; {@link anyTenant} includes all. */
export function includesTenant(tenants: readonly string[], tenant: string): boolean {
  return tenants.includes(anyTenant) || tenants.includes(tenant);
}

/** The tenant to scan for the events of these tenants: their only one, or {@link anyTenant}. */
export function tenantToScan(tenants: readonly string[]): string {
  const [only = anyTenant, ...more] = tenants;
  return more.length === 0 ? only : anyTenant;
}
