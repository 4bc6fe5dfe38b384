import type { PartnerDetail } from "../../api/partners.ts";
import type { JSX } from "preact";
import { useRead } from "../api/use-read.ts";
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
import { pathTo } from "../router/place.ts";

const everySeconds = 10;

/** One partner: its health, live state, figures, keys, timeline and configuration. */
export function PartnerPage({ parameters }: PageProps): JSX.Element {
  const { namespace = "", name = "" } = parameters;
  const read = useRead<PartnerDetail>(`/webhooks${pathTo("partners", namespace, name)}`, { everySeconds });
  return (
    <Page title={`${namespace}/${name}`}>
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
