import type { PartnerDetail, PartnerSummary } from "../../api/partners.ts";
import type { JSX } from "preact";
import { partnerPageItems } from "../api/read-partners.ts";
import type { ListPage } from "../api/types.ts";
import { useRead, type ReadState } from "../api/use-read.ts";
import type { PageProps } from "../page-entry.ts";
import { KeysSection, SettingsSection } from "../partners/keys-section.tsx";
import { LiveSection } from "../partners/live-section.tsx";
import { PingButton } from "../partners/ping-button.tsx";
import { StatusSection } from "../partners/status-section.tsx";
import { StatsSection } from "../partners/stats-section.tsx";
import { SubscriptionsSection } from "../partners/subscriptions-section.tsx";
import { TimelineSection } from "../partners/timeline-section.tsx";
import { Page } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { changedQuery, pathTo } from "../router/place.ts";

const everySeconds = 10;

/** One partner: its health, live state, figures, keys, timeline and configuration. */
export function PartnerPage({ parameters }: PageProps): JSX.Element {
  const { namespace = "", name = "" } = parameters;
  const label = `${namespace}/${name}`;
  const read = useRead<PartnerDetail>(`/webhooks${pathTo("partners", namespace, name)}`, { everySeconds });
  const notApplied = useNotApplied(label, read);
  if (notApplied !== undefined)
    return (
      <Page title={label}>
        <StatusSection partner={{ ...notApplied, last_failure: null }} />
      </Page>
    );
  return (
    <Page title={label}>
      <Reading read={read} what="the partner" lines={30}>
        {(partner) => (
          <>
            <StatusSection partner={partner} />
            <PingButton partner={partner} />
            <LiveSection partner={partner} />
            <StatsSection partner={partner.partner} />
            <TimelineSection partner={partner} />
            <KeysSection partner={partner} />
            <SubscriptionsSection partner={partner} />
            <SettingsSection partner={partner} />
          </>
        )}
      </Reading>
    </Page>
  );
}

/** A partner without an applied version has no details: the list has why. Undefined for other partners. */
function useNotApplied(label: string, { problem }: ReadState<PartnerDetail>): PartnerSummary | undefined {
  const isUnknown = problem?.code === "partner_not_found";
  const query = changedQuery(new URLSearchParams({ limit: String(partnerPageItems) }), { search: label });
  const read = useRead<ListPage<PartnerSummary>>(isUnknown ? `/webhooks/partners${query}` : undefined);
  return isUnknown ? read.data?.data.find(({ partner }) => partner === label) : undefined;
}
