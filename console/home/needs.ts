import type { PartnerDetail, PartnerSummary } from "../../api/partners.ts";
import type { DeadLetterCount } from "../../api/replays.ts";
import { formatNumber, formatWord } from "../components/format.ts";
import { changedQuery, pathTo } from "../router/place.ts";

/** Something that a person should look at. */
export interface Need {
  readonly key: string;
  /** State of the API that gives the tone. */
  readonly state: string;
  readonly text: string;
  /** Where it can be solved. */
  readonly to: string;
}

/** Partners that get nothing now. */
export function partnerNeeds(partners: readonly PartnerSummary[]): readonly Need[] {
  const gravestFirst = ["rejected", "disabled", "held", "paused"];
  return partners
    .filter(({ state }) => gravestFirst.includes(state))
    .toSorted((a, b) => gravestFirst.indexOf(a.state) - gravestFirst.indexOf(b.state))
    .map(({ partner, state, reason }) => ({
      key: `${state} ${partner}`,
      state,
      text: `${partner}${reason === null ? "" : `: ${formatWord(reason)}`}`,
      to: partnerPath(partner),
    }));
}

/** Partners whose circuit breaker lets nothing through, or little. */
export function breakerNeeds(partners: readonly PartnerDetail[]): readonly Need[] {
  return partners
    .filter(({ live }) => live.known && live.breaker !== null && live.breaker !== "closed")
    .map(({ partner, live }) => ({
      key: `breaker ${partner}`,
      state: live.breaker ?? "open",
      text:
        live.breaker === "rate_limited"
          ? `${partner}: its Retry-After pauses deliveries`
          : `${partner}: the circuit breaker is ${formatWord(live.breaker ?? "open")}`,
      to: partnerPath(partner),
    }));
}

/** Dead letters by partner and reason, the most first. */
export function deadLetterNeeds(counts: readonly DeadLetterCount[]): readonly Need[] {
  return counts
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count)
    .map(({ partner, reason, count }) => ({
      key: `letters ${partner} ${reason}`,
      state: "dead",
      text: `${partner}: ${formatNumber(count)} dead letters, ${formatWord(reason)}`,
      to: `/dead-letters${changedQuery(new URLSearchParams(), { partner, reason })}`,
    }));
}

/** The page of a partner that is named `namespace/name`. */
export function partnerPath(partner: string): string {
  const [namespace = "", name = ""] = partner.split("/", 2);
  return pathTo("partners", namespace, name);
}
