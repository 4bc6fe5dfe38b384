import type { PartnerSummary } from "../history/partner-list.ts";

interface PartnerFacts {
  readonly state: PartnerSummary["state"];
  /** Why it is held. @default it is not */
  readonly held: string | undefined;
  /** What is missing, such as `SecretNotFound: namespace/name`. @default nothing */
  readonly missing?: string | undefined;
  /** True when a signing key is valid now and nothing else prevents deliveries. */
  readonly hasKey: boolean;
  /** True when its backlog has reached its limit. */
  readonly isFull: boolean;
}

/** Why a partner would not get a ping now, and what to do; undefined when it would. */
export function inactiveReason({ state, held, missing, hasKey, isFull }: PartnerFacts): string | undefined {
  switch (state) {
    case "held":
      return `The partner is held (${reasonOf(held, missing)}). Repair its resource, whose conditions say more.`;
    case "rejected":
      return "The definition of the partner is not applied. Repair its resource.";
    case "disabled":
      return "The endpoint answered 410, which disabled the partner. Edit its resource to enable it again.";
    case "paused":
      return "The partner is paused. Set state: Active in its resource.";
    case "active":
      if (!hasKey) return "No signing key of the partner is valid now. Add one to its resource.";
      return isFull ? "The backlog of the partner has reached its limit. Wait until deliveries have ended." : undefined;
    default:
      throw new Error(`unknown state ${String(state satisfies never)}`);
  }
}

function reasonOf(held = "unresolved", missing?: string): string {
  return missing === undefined ? held : `${held}: ${missing}`;
}
