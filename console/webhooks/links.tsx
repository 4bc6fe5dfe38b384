import type { DeliverySummary } from "../../api/histories.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { formatWord } from "../components/format.ts";
import { pathTo } from "../router/place.ts";
import { Link } from "../router/router.tsx";

/** The page of a partner that is named `namespace/name`. */
export function partnerPath(partner: string): string {
  const [namespace = "", name = ""] = partner.split("/", 2);
  return pathTo("partners", namespace, name);
}

/** The name of a partner, as a link to its page. */
export function PartnerLink({ partner }: { readonly partner: string }): JSX.Element {
  return <Link to={partnerPath(partner)}>{partner}</Link>;
}

/** The id of an event, as a link to its page. */
export function EventLink({ id }: { readonly id: string }): JSX.Element {
  return (
    <Link to={pathTo("events", id)} class="id">
      {id}
    </Link>
  );
}

/** The id of a replay, as a link to its page. */
export function ReplayLink({ id }: { readonly id: string }): JSX.Element {
  return (
    <Link to={pathTo("replays", id)} class="id">
      {id}
    </Link>
  );
}

/** The deliveries of an event: state, partner, last answer, attempts. */
export function DeliveryLines({ deliveries }: { readonly deliveries: readonly DeliverySummary[] }): JSX.Element {
  if (deliveries.length === 0) return <span class="quiet">no partner subscribes to it</span>;
  return (
    <ul class="plain deliveries">
      {deliveries.map(({ partner, state, reason, status, attempts }) => (
        <li key={partner}>
          <Badge state={state} /> <PartnerLink partner={partner} />{" "}
          <span class="quiet">{answerOf({ reason, status, attempts })}</span>
        </li>
      ))}
    </ul>
  );
}

function answerOf({ reason, status, attempts = 0 }: AnswerParts): string {
  const shown = typeof status === "number" ? [`HTTP ${status}`] : [];
  const why = reason === null || reason === `status_${status}` ? [] : [formatWord(reason)];
  const tries = attempts > 1 ? [`${attempts} attempts`] : [];
  return [...shown, ...why, ...tries].join(", ");
}

interface AnswerParts {
  readonly reason: string | null;
  readonly status: number | null | undefined;
  readonly attempts: number | undefined;
}
