import type { EventHistory } from "../../api/histories.ts";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { mayUse, useSession } from "../api/session-context.ts";
import { useRead } from "../api/use-read.ts";
import { countStates, failuresFirst, isFailed } from "../events/failures-first.ts";
import { DeliverySection } from "../events/delivery-section.tsx";
import { Explanation } from "../events/explanation.tsx";
import { type RawEvent, useRawEvent } from "../events/use-raw-event.ts";
import type { PageProps } from "../page-entry.ts";
import { CopyButton } from "../components/copy-button.tsx";
import { Facts } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { Page, Section } from "../components/page.tsx";
import { Reading, Skeleton } from "../components/reading.tsx";
import { Badge } from "../components/badge.tsx";
import { pathTo } from "../router/place.ts";
import { useQueryState } from "../router/router.tsx";
import { StartReplay } from "../webhooks/start-replay.tsx";
import { formatNumber, formatWord } from "../components/format.ts";
import { indentJson } from "../events/raw-json.ts";
import { TextBlock } from "../events/text-block.tsx";

/** While a delivery continues; an ended one is read less often, since replays begin anew. */
const everySecondsOpen = 3;
const everySecondsEnded = 30;

/** One event: its deliveries, each attempt, and its payload. */
export function EventPage({ parameters }: PageProps): JSX.Element {
  const { id = "" } = parameters;
  const { me } = useSession();
  const [isReplaying, setReplaying] = useState(false);
  const [isOpen, setOpen] = useState(true);
  const path = `/webhooks${pathTo("events", id)}`;
  const read = useRead<EventHistory>(path, { everySeconds: isOpen ? everySecondsOpen : everySecondsEnded });
  const raw = useRawEvent(path);
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
              Replay event
            </button>
          ) : null}
        </>
      }
    >
      {isReplaying ? (
        <StartReplay
          path="/webhooks/replay"
          action="Replay"
          what={["All deliveries of this event that your token may see, including delivered ones."]}
          body={() => Promise.resolve({ event_ids: [id] })}
          onClose={() => setReplaying(false)}
        />
      ) : null}
      <Reading read={read} what="the event" lines={24}>
        {(history) => (
          <>
            <EventFacts history={history} />
            <Deliveries history={history} raw={raw} />
            {history.deliveries.length === 0 && history.routed_at === null ? null : (
              <Explanation path={path} isOpenAtFirst={history.deliveries.length === 0} />
            )}
            <PayloadSection raw={raw} />
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
        ["Event time", typeof event["ts"] === "string" ? <Timestamp at={event["ts"]} /> : undefined],
        ["Accepted", acceptedAt === undefined ? undefined : <Timestamp at={acceptedAt} />],
        ["Routing incomplete since", routedAt === null ? undefined : <Timestamp at={routedAt} />],
      ]}
    />
  );
}

interface DeliveriesProps {
  readonly history: EventHistory;
  readonly raw: RawEvent;
}

/** Of `open` in the address: no delivery is open. */
const noneOpen = "none";

/** Failed deliveries first, the first of them open. The address names the open ones once somebody opens another. */
function Deliveries({ history: { deliveries, routed_at: routedAt }, raw }: DeliveriesProps): JSX.Element {
  const state = useQueryState();
  if (deliveries.length === 0) {
    return (
      <Empty
        title="No deliveries"
        why={routedAt === null ? "The event is not routed yet." : "No partner subscribes to this type and tenant."}
        next="Replay the event after a partner subscribes."
      />
    );
  }
  const ordered = failuresFirst(deliveries);
  const named = state.query.getAll("open");
  const open = named.length > 0 ? named : openAtFirst(ordered);
  const toggle = (partner: string): void => {
    const others = open.filter((one) => one !== partner && one !== noneOpen);
    const next = open.includes(partner) ? others : [...others, partner];
    state.set({ open: next.length === 0 ? noneOpen : next }, true);
  };
  return (
    <Section
      title={`Deliveries (${deliveries.length})`}
      actions={countStates(deliveries).map(([one, count]) => (
        <Badge key={one} state={one} label={`${count} ${formatWord(one)}`} />
      ))}
    >
      <div class="delivery-stack">
        {ordered.map((delivery) => (
          <DeliverySection
            key={delivery.partner}
            delivery={delivery}
            event={raw.text}
            isOpen={open.includes(delivery.partner)}
            onToggle={toggle}
          />
        ))}
      </div>
    </Section>
  );
}

/** The first failed delivery, or the only one. */
function openAtFirst(ordered: EventHistory["deliveries"]): readonly string[] {
  const [first] = ordered;
  return first !== undefined && (ordered.length === 1 || isFailed(first)) ? [first.partner] : [];
}

/** Longer payloads are shown as they are. */
const indentedLengthMax = 256 * 1024;

/** The payload as the producer sent it. */
function PayloadSection({ raw: { text: raw, isAbsent } }: { readonly raw: RawEvent }): JSX.Element {
  const shown = useMemo(() => (raw === undefined || raw.length > indentedLengthMax ? raw : indentJson(raw)), [raw]);
  return (
    <Section
      title="Payload"
      lead={
        raw === undefined
          ? undefined
          : `What the producer sent, ${formatNumber(new TextEncoder().encode(raw).length)} bytes: indented here, ` +
            "copied as received. The body of each request, which is what was signed, is in its attempt above."
      }
      actions={raw === undefined ? undefined : <CopyButton text={raw} what="the payload as received" />}
    >
      {raw === undefined && !isAbsent ? <Skeleton what="the payload" lines={6} /> : null}
      {isAbsent ? <p class="lead">The payload cannot be shown as it was received. Reload the page.</p> : null}
      {shown === undefined ? null : <TextBlock text={shown} what="The payload" />}
    </Section>
  );
}
