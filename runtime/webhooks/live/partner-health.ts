import type { DeliveryWait } from "../../../api/histories.ts";
import type { PartnerHealth } from "../../../api/partner-health.ts";
import type { PartnerSummary } from "../../../api/partners.ts";
import { failingShare, type PartnerFigures } from "../history/partner-figures.ts";

/** Attempts below which a share says little. */
const attemptsMin = 3;

/** The parts of a partner that decide. */
interface PartnerFacts {
  readonly rejected: PartnerSummary["rejected"];
  /** What keeps all of its deliveries waiting; undefined for nothing. */
  readonly block: DeliveryWait | undefined;
  readonly figures: Pick<PartnerFigures, "latest" | "failedSinceSuccess" | "failingSinceMs">;
}

/** The health of an applied partner. What stops all deliveries comes before failures. */
export function partnerHealth({ block, figures }: Omit<PartnerFacts, "rejected">): PartnerHealth {
  return (block === undefined ? undefined : blockedHealth(block)) ?? deliveredHealth(figures);
}

/** The health of a partner whose definition was never applied. */
export function rejectedHealth({ rejected }: Pick<PartnerFacts, "rejected">): PartnerHealth {
  const reason = rejected === null ? null : [rejected.reason, ...(rejected.message === null ? [] : [rejected.message])];
  return { kind: "rejected", reason: reason === null ? null : reason.join(": "), since: null, until: null };
}

/** Undefined for a wait that is about a single delivery. */
function blockedHealth({ kind, reason, since, until }: DeliveryWait): PartnerHealth | undefined {
  switch (kind) {
    case "held":
    case "paused":
    case "disabled":
    case "circuit_open":
    case "rate_limited":
      return { kind, reason, since, until };
    case "keyless":
      return { kind: "held", reason, since, until };
    case "retry":
    case "turn":
      return undefined;
  }
}

function deliveredHealth({ latest, failedSinceSuccess, failingSinceMs }: PartnerFacts["figures"]): PartnerHealth {
  const reason = failureReason(latest, failedSinceSuccess);
  if (reason === undefined) return { kind: "healthy", reason: null, since: null, until: null };
  const since = failingSinceMs === undefined ? null : new Date(failingSinceMs).toISOString();
  return { kind: "failing", reason, since, until: null };
}

function failureReason({ attempts, failed }: PartnerFigures["latest"], failedSinceSuccess: number): string | undefined {
  if (attempts >= attemptsMin)
    return failed >= failingShare * attempts
      ? `${failed} of ${attempts} attempts failed in the last 15 min`
      : undefined;
  return failedSinceSuccess >= attemptsMin
    ? `${failedSinceSuccess} attempts failed since the last success, none succeeded`
    : undefined;
}
