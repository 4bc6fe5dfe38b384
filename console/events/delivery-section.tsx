import type { DeliveryHistory } from "../../api/histories.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { Empty } from "../components/empty.tsx";
import { formatNumber, formatWord } from "../components/format.ts";
import { Countdown, Timestamp } from "../components/timestamp.tsx";
import { Section } from "../components/page.tsx";
import { partnerPath } from "../webhooks/links.tsx";
import { Link } from "../router/router.tsx";
import { AttemptDetails } from "./attempt-details.tsx";
import { scaleOf } from "./phases.ts";
import { waitWhy } from "./wait-why.ts";

/** Attempts that are shown at once; a replayed event may have many. */
const attemptsShownMax = 50;

/** A delivery with its attempts, the newest first. */
export function DeliverySection({ delivery }: { readonly delivery: DeliveryHistory }): JSX.Element {
  const { partner, state, reason, generation, handled, attempts } = delivery;
  const newest = attempts.toReversed();
  const shown = newest.slice(0, attemptsShownMax);
  const scaleMs = scaleOf(shown);
  const why = [
    ...(reason === null || saysReason(delivery) ? [] : [formatWord(reason)]),
    ...(handled === null ? [] : ["acknowledged by hand"]),
    ...(generation === undefined || generation === 0 ? [] : [`replayed ${times(generation)}`]),
  ];
  return (
    <Section title={`To ${partner}`} actions={<Link to={partnerPath(partner)}>Partner</Link>}>
      <p class="delivery-line">
        <Badge state={state} /> {why.join(", ")} <NextAttempt delivery={delivery} /> <Waits delivery={delivery} />
      </p>
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
            />
          ))}
        </div>
      )}
      {newest.length > shown.length ? (
        <p class="lead">And {formatNumber(newest.length - shown.length)} earlier attempts, in the API.</p>
      ) : null}
    </Section>
  );
}

/** Whether the sentence about the wait has the reason too. */
function saysReason({ reason, waiting }: DeliveryHistory): boolean {
  return reason !== null && waitWhy(waiting)?.includes(reason) === true;
}

function times(count: number): string {
  return count === 1 ? "once" : `${formatNumber(count)} times`;
}

function NextAttempt({ delivery: { state, next_attempt_at: at, attempts } }: { readonly delivery: DeliveryHistory }) {
  if (state !== "in_delivery" || attempts.length === 0) return null;
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
  if (state === "held") return `The partner is held${reason === null ? "" : `: ${formatWord(reason)}`}.`;
  return "It waits for its turn at the partner.";
}
