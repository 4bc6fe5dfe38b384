import type { EventHistory } from "../../api/histories.ts";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { mayUse, useSession } from "../api/session-context.ts";
import { useRead } from "../api/use-read.ts";
import { DeliverySection } from "../events/delivery-section.tsx";
import { PackageSection } from "../events/package-section.tsx";
import type { PageProps } from "../page-entry.ts";
import { CopyButton } from "../components/copy-button.tsx";
import { Facts } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { Page } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { pathTo } from "../router/place.ts";
import { StartReplay } from "../webhooks/start-replay.tsx";

/** While a delivery goes on; an ended one is read less often, since replays begin anew. */
const everySecondsOpen = 3;
const everySecondsEnded = 30;

/** One event: its package, its deliveries and each attempt. */
export function EventPage({ parameters }: PageProps): JSX.Element {
  const { id = "" } = parameters;
  const { me } = useSession();
  const [isReplaying, setReplaying] = useState(false);
  const [isOpen, setOpen] = useState(true);
  const path = `/webhooks${pathTo("events", id)}`;
  const read = useRead<EventHistory>(path, { everySeconds: isOpen ? everySecondsOpen : everySecondsEnded });
  const isGoingOn = read.data?.deliveries.some(({ state }) => state === "in_delivery") ?? true;
  if (isGoingOn !== isOpen) setOpen(isGoingOn);
  return (
    <Page
      title={id}
      actions={
        <>
          <CopyButton text={id} what="the event id" />
          {mayUse(me, ["webhooks:replay"]) ? (
            <button type="button" aria-expanded={isReplaying} onClick={() => setReplaying(!isReplaying)}>
              Replay this event
            </button>
          ) : null}
        </>
      }
    >
      {isReplaying ? (
        <StartReplay
          path="/webhooks/replay"
          action="Replay"
          what={["Every delivery of this event that your token may see, also those that were delivered already."]}
          body={() => Promise.resolve({ event_ids: [id] })}
          onClose={() => setReplaying(false)}
        />
      ) : null}
      <Reading read={read} what="the event" lines={24}>
        {(history) => (
          <>
            <EventFacts history={history} />
            <Deliveries history={history} />
            <PackageSection path={path} />
          </>
        )}
      </Reading>
    </Page>
  );
}

function EventFacts({ history }: { readonly history: EventHistory }): JSX.Element {
  const { event, accepted_at: acceptedAt, routed_at: routedAt } = history;
  const member = (name: string): JSX.Element | undefined => {
    const value = event[name];
    return typeof value === "string" ? <code>{value}</code> : undefined;
  };
  return (
    <Facts
      facts={[
        ["Type", member("type")],
        ["Tenant", member("tenant")],
        ["Producer", member("producer")],
        ["Version", member("version")],
        ["Happened", typeof event["ts"] === "string" ? <Timestamp at={event["ts"]} /> : undefined],
        ["Accepted", acceptedAt === undefined ? undefined : <Timestamp at={acceptedAt} />],
        ["Not for every partner since", routedAt === null ? undefined : <Timestamp at={routedAt} />],
      ]}
    />
  );
}

function Deliveries({ history: { deliveries, routed_at: routedAt } }: { readonly history: EventHistory }): JSX.Element {
  if (deliveries.length === 0) {
    return (
      <Empty
        title="No deliveries"
        why={routedAt === null ? "The event is not routed yet." : "No partner subscribes to this type and tenant."}
        next="A replay delivers it once a partner subscribes."
      />
    );
  }
  return (
    <>
      {deliveries.map((delivery) => (
        <DeliverySection key={delivery.partner} delivery={delivery} />
      ))}
    </>
  );
}
