/** Cost units of a response; undefined if its headers have none. */
export function costOf(headers: Headers | undefined): number | undefined {
  const cost = headers?.get("x-query-cost") ?? null;
  return cost === null ? undefined : Number(cost);
}

/** Age of the newest sample of a response, such as `12s`. */
export function freshnessOf(headers: Headers | undefined): string | undefined {
  return headers?.get("x-data-freshness") ?? undefined;
}
