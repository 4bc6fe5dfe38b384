import { anyTenant, includesTenant } from "../events/tenants.ts";

/**
 * The tenant of a ping: the requested one, or the first that the caller and the partner share by its name. Undefined
 * when they share none by its name, or not the requested one.
 *
 * @param subscribed tenants of the partner's subscriptions; `*`: all
 * @param allowed tenants of the caller; `*`: all
 */
export function pingTenant(
  subscribed: readonly string[],
  allowed: readonly string[],
  requested: string | undefined,
): string | undefined {
  if (requested !== undefined)
    return includesTenant(subscribed, requested) && includesTenant(allowed, requested) ? requested : undefined;
  const shared = subscribed.flatMap((tenant) => {
    if (tenant === anyTenant) return allowed;
    return includesTenant(allowed, tenant) ? [tenant] : [];
  });
  return shared.find((tenant) => tenant !== anyTenant);
}
