import type { Me } from "../../api/documents.ts";

/** Labels whose values a token names. */
export const placeLabels = ["tenant", "region", "environment"] as const;
export type PlaceLabel = (typeof placeLabels)[number];

const members = { tenant: "tenants", region: "regions", environment: "environments" } as const;

/**
 * Tenants, regions or environments that a token may read: those that it names, or for all of them those that the
 * configuration names. Undefined if neither is known, as with a server of an earlier version.
 */
export function choicesOf(me: Me | undefined, label: PlaceLabel): readonly string[] | undefined {
  if (me === undefined) return undefined;
  const named = me[members[label]];
  if (!named.includes("*")) return named;
  const known = me.choices?.[members[label]];
  return known === undefined || known.length === 0 ? undefined : known;
}

/** True for a label whose values {@link choicesOf} may know. */
export function isPlaceLabel(label: string): label is PlaceLabel {
  return (placeLabels as readonly string[]).includes(label);
}
