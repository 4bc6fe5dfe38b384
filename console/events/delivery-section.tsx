import type { DeliveryHistory } from "../../api/histories.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { Empty } from "../components/empty.tsx";
import { formatCount, formatMissing, formatMs, formatNumber } from "../components/format.ts";
import { Countdown, Timestamp } from "../components/timestamp.tsx";
import { Link } from "../router/router.tsx";
import { partnerPath } from "../webhooks/links.tsx";
import { countAttempts } from "./failure-cause.ts";
import { AttemptDetails } from "./attempt-details.tsx";
import { resultText, shownState, waitWhy } from "./failures-first.ts";
import { scaleOf } from "./waterfall.tsx";

/** Attempts that are shown at once; a replayed event may have many. */
const attemptsShownMax = 50;

interface DeliverySectionProps {
  readonly delivery: DeliveryHistory;
  /** The event as its producer sent it; undefined while it is read. */
  readonly event: string | undefined;
  readonly isOpen: boolean;
  readonly onToggle: (partner: string) => void;
}

/** A delivery in a line; opened, with its attempts, the newest first. */
export function DeliverySection({ delivery, event, isOpen, onToggle }: DeliverySectionProps): JSX.Element {
  const { partner, attempts } = delivery;
  const last = attempts.at(-1);
  const result = resultText({ ...delivery, status: last?.status ?? null, attempts: countAttempts(attempts) });
  const toggle = (click: MouseEvent): void => {
    click.preventDefault();
    onToggle(partner);
  };
  return (
    <details class="delivery" open={isOpen}>
      <summary onClick={toggle}>
        <h3>{partner}</h3>
        <Badge state={shownState(delivery)} />
        <span class="quiet">{delivery.handled === null ? result : `${result}, acknowledged manually`}</span>
        <span class="number">{last === undefined ? "" : formatMs(last.duration_ms)}</span>
        {last === undefined ? <span /> : <Timestamp at={last.at} />}
      </summary>
      {isOpen ? <DeliveryBody delivery={delivery} event={event} /> : null}
    </details>
  );
}

type DeliveryBodyProps = Pick<DeliverySectionProps, "delivery" | "event">;

function DeliveryBody({ delivery, event }: DeliveryBodyProps): JSX.Element {
  const { partner, generation, attempts } = delivery;
  const newest = attempts.toReversed();
  const shown = newest.slice(0, attemptsShownMax);
  const scaleMs = scaleOf(shown);
  const replayed = generation === undefined || generation === 0 ? "" : `replayed ${times(generation)}`;
  return (
    <div class="delivery-body">
      <p class="delivery-line">
        <Link to={partnerPath(partner)}>Partner page</Link>
        <span>{replayed}</span>
        <NextAttempt delivery={delivery} />
        <Waits delivery={delivery} />
      </p>
      <Acknowledged delivery={delivery} />
      {shown.length === 0 ? (
        <Empty title="No attempt yet" why={noAttemptWhy(delivery)} />
      ) : (
        <div class="attempts">
          {shown.map((attempt, index) => (
            <AttemptDetails
              key={`${attempt.attempt} ${attempt.at}`}
              partner={partner}
              attempt={attempt}
              scaleMs={scaleMs}
              isOpen={index === 0}
              event={event}
            />
          ))}
        </div>
      )}
      {newest.length > shown.length ? (
        <p class="quiet">{formatCount(newest.length - shown.length, "earlier attempt")} in the API.</p>
      ) : null}
    </div>
  );
}

/** Who acknowledged the dead letter of a delivery, when and why; nothing from servers of earlier versions. */
function Acknowledged({ delivery: { acknowledged } }: { readonly delivery: DeliveryHistory }): JSX.Element | null {
  if (acknowledged === undefined) return null;
  const { at, by, note } = acknowledged;
  return (
    <p class="delivery-acknowledged">
      Acknowledged{by === null ? "" : ` by ${by}`} <Timestamp at={at} shows="both" />
      {note === null ? ", without a note" : `: ${note}`}
    </p>
  );
}

function times(count: number): string {
  return count === 1 ? "once" : `${formatNumber(count)} times`;
}

/** Nothing while its partner keeps the delivery waiting: {@link Waits} says until when. */
function NextAttempt({
  delivery: { state, next_attempt_at: at, attempts, waiting },
}: {
  readonly delivery: DeliveryHistory;
}) {
  if (state !== "in_delivery" || attempts.length === 0 || waitWhy(waiting) !== undefined) return null;
  if (at === null) return <span>next attempt due now</span>;
  return (
    <span>
      next attempt <Countdown to={at} over="due now" />
    </span>
  );
}

/** What keeps the partner of a delivery waiting, and since when. */
function Waits({ delivery: { waiting } }: { readonly delivery: DeliveryHistory }): JSX.Element | null {
  const text = waitWhy(waiting);
  if (text === undefined) return null;
  const [since, until] = [waiting?.since ?? null, waiting?.until ?? null];
  return (
    <span>
      {text}
      {since === null ? null : (
        <>
          {" "}
          since <Timestamp at={since} />
          {waiting?.since_at_latest === true ? " or earlier" : ""}
        </>
      )}
      {until === null ? null : (
        <>
          , until <Timestamp at={until} />
        </>
      )}
    </span>
  );
}

function noAttemptWhy({ state, reason, waiting }: DeliveryHistory): string {
  const why = waitWhy(waiting);
  if (why !== undefined) return `${why}.`;
  if (state === "not_routed") return "The permission to get this event was withdrawn before it was routed.";
  if (state === "held") return `The partner is held${reason === null ? "" : `: ${formatMissing(reason)}`}.`;
  return "It is queued for the partner.";
}
