import type { PartnerFailure } from "../../../api/partner-health.ts";
import type { PartnerDetail, PartnerEndpoint } from "../../../api/partners.ts";
import { orEventsUnavailable } from "../../errors/api-error.ts";
import type { PartnerAccess } from "../history/history-view.ts";
import { type PartnerList, seesAll } from "../history/partner-list.ts";
import type { ConfigFolder, Partner } from "../partners/partner.ts";
import { hiddenView, type LiveStates } from "./live-state.ts";
import { placeOf, type PartnerOverview } from "./partner-overview.ts";

/** A caller that reads one partner. */
interface DetailsCaller extends PartnerAccess {
  readonly tenants: readonly string[];
  /** True if paths of the endpoint and of this machine are shown. @default false */
  readonly showsInternals?: boolean;
}

/** One partner, for callers. */
export interface PartnerDetails {
  /**
   * A partner by `namespace/name`, with the subscriptions to the caller's tenants.
   * @throws ApiError `partner_not_found` for one that the caller may not see too; `events_unavailable`
   */
  read(label: string, caller: DetailsCaller): Promise<PartnerDetail>;
}

interface PartnerDetailsDeps {
  readonly list: Pick<PartnerList, "find">;
  readonly live: Pick<LiveStates, "of">;
  readonly overview: Pick<PartnerOverview, "withFigures">;
  /** Reads the failed attempt to a partner that began last; null if none is known. */
  readonly lastFailure: (label: string, caller: DetailsCaller) => Promise<PartnerFailure | null>;
  /** Folder of the configuration. @default the configuration is in a cluster */
  readonly configFolder?: ConfigFolder | undefined;
}

export function createPartnerDetails({
  list,
  live,
  overview,
  lastFailure,
  configFolder,
}: PartnerDetailsDeps): PartnerDetails {
  return {
    read: async (label, caller) => {
      const { showsInternals = false } = caller;
      const { partner, summary } = await list.find(label, caller);
      const [view, [current = summary], failure] = await Promise.all([
        seesAll(partner, caller.tenants) ? live.of(partner) : hiddenView,
        overview.withFigures([summary], caller),
        orEventsUnavailable(() => lastFailure(label, caller)),
      ]);
      return {
        ...current,
        ...settingsOf(partner),
        live: view,
        last_failure: failure,
        endpoint: partnerEndpoint(partner.config.endpoint.url, showsInternals),
        managed_by: placeOf(configFolder, label, showsInternals),
      };
    },
  };
}

function settingsOf({ config }: Partner): Pick<PartnerDetail, "signing" | "retry" | "delivery"> {
  const { signing, retry, delivery } = config;
  return {
    signing: { scheme: signing.scheme, ...(signing.sideBySide === true ? { side_by_side: true } : {}) },
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

const form = /^(?<scheme>https?):\/\/(?<authority>[^/?#]*)(?<path>[^?#]*)(?:\?(?<query>[^#]*))?/iu;
const hiddenValue = "***";

/**
 * Where events are sent, by the URL of the configuration, whose path may contain `{domain}`. Values of a query may be
 * secrets, and nobody sees them. @param showsPath for administrators
 */
export function partnerEndpoint(url: string, showsPath: boolean): PartnerEndpoint {
  const { scheme, authority = "", path = "", query } = form.exec(url)?.groups ?? {};
  return {
    scheme: scheme?.toLowerCase() === "http" ? "http" : "https",
    host: authority.slice(authority.lastIndexOf("@") + 1),
    path: showsPath ? `${path}${query === undefined ? "" : `?${maskedQuery(query)}`}` : null,
  };
}

/** A parameter without a value may be a secret itself. */
function maskedQuery(query: string): string {
  return query
    .split("&")
    .map((pair) => (pair.includes("=") ? `${pair.slice(0, pair.indexOf("="))}=${hiddenValue}` : hiddenValue))
    .join("&");
}
