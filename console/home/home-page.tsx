// The first page: whether anything is wrong, for whom and since when. Each need is solved on another page.
import type { JSX } from "preact";
import { mayUse, useSession } from "../api/session-context.ts";
import { Page } from "../components/page.tsx";
import { DeliveriesSection } from "./deliveries-section.tsx";
import { MetricsSection } from "./metrics-section.tsx";
import { NeedsSection, PartnersSection } from "./needs-section.tsx";
import { ObjectivesSection } from "./objectives-section.tsx";
import { metricScopes, useHome } from "./use-home.ts";

/** What needs attention, the deliveries of a day, and the health of the metrics API. */
export function HomePage(): JSX.Element {
  const { me } = useSession();
  const home = useHome();
  const refresh = (
    <button type="button" class="small" onClick={home.refresh}>
      Refresh
    </button>
  );
  return (
    <Page title="Home" actions={refresh}>
      <NeedsSection home={home} />
      {mayUse(me, ["webhooks:read"]) ? <DeliveriesSection details={home.details} /> : null}
      <PartnersSection home={home} />
      {mayUse(me, metricScopes) ? (
        <>
          <ObjectivesSection home={home} />
          <MetricsSection health={home.health} />
        </>
      ) : null}
    </Page>
  );
}
