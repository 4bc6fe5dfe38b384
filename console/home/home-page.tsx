// The first page: whether anything is wrong, for whom and since when. Each need is solved on another page.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { mayUse, useSession } from "../api/session-context.ts";
import { Page } from "../components/page.tsx";
import { Skeleton } from "../components/reading.tsx";
import { DeliveriesSection } from "./deliveries-section.tsx";
import { MetricsSection } from "./metrics-section.tsx";
import { NeedsSection, PartnersSection } from "./needs-section.tsx";
import { ObjectivesSection } from "./objectives-section.tsx";
import { metricScopes, useHome, type Home } from "./use-home.ts";

/** Panels that are late do not hold up the others for longer. */
const settleMsMax = 2_000;

/** What needs attention, the deliveries of a day, and the health of the metrics API. */
export function HomePage(): JSX.Element {
  const home = useHome();
  const isSettled = useSettled(home.isKnown);
  const refresh = (
    <button type="button" class="small" onClick={home.refresh}>
      Refresh
    </button>
  );
  return (
    <Page title="Home" actions={refresh}>
      {isSettled ? <Panels home={home} /> : <Skeleton what="the state of the installation" lines={12} />}
    </Page>
  );
}

function Panels({ home }: { readonly home: Home }): JSX.Element {
  const { me } = useSession();
  return (
    <>
      <NeedsSection home={home} />
      {mayUse(me, ["webhooks:read"]) ? <DeliveriesSection home={home} /> : null}
      <PartnersSection home={home} />
      {mayUse(me, metricScopes) ? (
        <>
          <ObjectivesSection home={home} />
          <MetricsSection health={home.health} />
        </>
      ) : null}
    </>
  );
}

/** True once everything is known or late: panels are shown together, because each would push those below it. */
function useSettled(isKnown: boolean): boolean {
  const [isSettled, setSettled] = useState(isKnown);
  useEffect(() => {
    if (isSettled) return undefined;
    if (isKnown) {
      setSettled(true);
      return undefined;
    }
    const late = setTimeout(() => setSettled(true), settleMsMax);
    return () => clearTimeout(late);
  }, [isKnown, isSettled]);
  return isSettled || isKnown;
}
