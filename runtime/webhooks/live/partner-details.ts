import { includesTenant } from "../events/tenants.ts";
import type { PartnerAccess } from "../history/partner-access.ts";
import type { PartnerList, PartnerSummary } from "../history/partner-list.ts";
import type { Partner } from "../partners/partner.ts";
import { hiddenView, type LiveView } from "./live-state.ts";
import type { LiveStates } from "./live-states.ts";

/** A partner with its settings and live state: the body of `GET /webhooks/partners/:namespace/:name`. */
export interface PartnerDetail extends PartnerSummary {
  readonly signing: { readonly scheme: string };
  readonly retry: {
    readonly schedule_seconds: readonly number[];
    readonly max_age_seconds: number;
    readonly jitter_percent: number;
  };
  readonly delivery: {
    readonly max_in_flight: number;
    /** Null without a limit. */
    readonly rate_per_second: number | null;
    /** Deliveries; null without a limit. */
    readonly max_backlog: number | null;
  };
  readonly live: LiveView;
}

/** One partner, for callers. */
export interface PartnerDetails {
  /**
   * A partner by `namespace/name`, with the subscriptions to the caller's tenants.
   * @throws Refusal `partner_not_found` for one that the caller may not see too; `events_unavailable`
   */
  read(label: string, caller: PartnerAccess & { readonly tenants: readonly string[] }): Promise<PartnerDetail>;
}

export function createPartnerDetails(list: Pick<PartnerList, "find">, live: LiveStates): PartnerDetails {
  return {
    read: async (label, caller) => {
      const { partner, summary } = await list.find(label, caller);
      const view = seesAll(partner, caller.tenants) ? await live.of(partner) : hiddenView;
      return { ...summary, ...settingsOf(partner), live: view };
    },
  };
}

/** Whether the caller sees every tenant whose events the partner gets. The figures count the events of all of them. */
function seesAll({ config }: Partner, tenants: readonly string[]): boolean {
  return config.subscriptions.every((one) => one.tenants.every((tenant) => includesTenant(tenants, tenant)));
}

function settingsOf({ config }: Partner): Pick<PartnerDetail, "signing" | "retry" | "delivery"> {
  const { signing, retry, delivery } = config;
  return {
    signing: { scheme: signing.scheme },
    retry: {
      schedule_seconds: retry.scheduleSeconds,
      max_age_seconds: retry.maxAgeSeconds,
      jitter_percent: retry.jitterPercent,
    },
    delivery: {
      max_in_flight: delivery.maxInFlight,
      rate_per_second: delivery.rate?.perSecond ?? null,
      max_backlog: delivery.maxBacklog?.messages ?? null,
    },
  };
}
