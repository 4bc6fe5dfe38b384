import type { PartnerHealth } from "../../api/partner-health.ts";
import type { PartnerDetail, PartnerLive, PartnerSummary } from "../../api/partners.ts";
import { stateReasons } from "./state-reasons.ts";

/** The most severe first. */
const ranks: Readonly<Record<PartnerHealth["kind"], number>> = {
  rejected: 0,
  disabled: 1,
  circuit_open: 2,
  failing: 3,
  held: 4,
  rate_limited: 5,
  paused: 6,
  healthy: 7,
};

/** Place of a health among all, the most severe first; the last one for a state that is no health. */
export function healthRank(kind: string): number {
  return (ranks as Readonly<Record<string, number>>)[kind] ?? ranks.healthy;
}

/** Health, or the state for a server of an earlier version, which reports no health. */
export function healthKind({ health, state }: Pick<PartnerSummary, "health" | "state">): string {
  return health?.kind ?? state;
}

/** Whether the circuit breaker of a partner lets its next attempt through: the time of the pause is over. */
export function isHalfOpen({ health }: Pick<PartnerSummary, "health">): boolean {
  return health?.kind === "circuit_open" && health.until === null;
}

/** State of the circuit breaker as the health has it, or else as the pod that delivers to the partner has it. */
export function breakerOf(partner: Pick<PartnerDetail, "health" | "live">): PartnerLive["breaker"] {
  if (partner.health?.kind !== "circuit_open") return partner.live.breaker;
  return isHalfOpen(partner) ? "half_open" : "open";
}

/** Why a partner is not healthy, and why its last edit is rejected; empty if it is healthy. */
export function healthReason(partner: PartnerSummary): string {
  const { health, state } = partner;
  const lines = stateReasons(partner);
  // The state has the longer text: what is missing. A failing partner is active, and has none.
  const reason = state === "active" ? (health?.reason ?? "") : "";
  return [reason, ...lines].filter((line) => line !== "").join(". ");
}

/** Counts by health, the most severe first. */
export function healthCounts(partners: readonly PartnerSummary[]): readonly (readonly [kind: string, count: number])[] {
  const counts = Map.groupBy(partners, healthKind);
  return [...counts]
    .map(([kind, some]) => [kind, some.length] as const)
    .toSorted(([a], [b]) => healthRank(a) - healthRank(b));
}
