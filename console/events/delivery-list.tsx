import type { DeliverySummary } from "../../api/histories.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { Link } from "../router/router.tsx";
import { partnerPath } from "../webhooks/links.tsx";
import { countStates, failuresFirst, resultText } from "./failures-first.ts";
import { deliveryPath } from "./delivery-path.ts";

/** Numbers of deliveries by state, failures first: `1 dead`, `9 delivered`. */
export function DeliveryCounts({ deliveries }: { readonly deliveries: readonly DeliverySummary[] }): JSX.Element {
  if (deliveries.length === 0) return <span class="quiet">no deliveries</span>;
  return (
    <>
      {countStates(deliveries).map(([state, count]) => (
        <Badge key={state} state={state} label={`${count} ${state.replaceAll("_", " ")}`} />
      ))}
    </>
  );
}

interface FirstDeliveryProps {
  readonly deliveries: readonly DeliverySummary[];
  /** The partner of the filter; empty for none. */
  readonly partner: string;
}

/** The delivery that a person looks for first, with its last result. */
export function FirstDelivery({ deliveries, partner }: FirstDeliveryProps): JSX.Element | null {
  const [first] = failuresFirst(deliveries, partner);
  if (first === undefined) return null;
  const result = resultText(first);
  return (
    <>
      <Link to={partnerPath(first.partner)}>{first.partner}</Link>
      {result === "" ? null : <span class="quiet"> {result}</span>}
    </>
  );
}

interface DeliveryListProps {
  readonly eventId: string;
  readonly deliveries: readonly DeliverySummary[];
}

/** All deliveries of an event, failures first, a line each. */
export function DeliveryList({ eventId, deliveries }: DeliveryListProps): JSX.Element {
  return (
    <ul class="plain delivery-list" aria-label={`Deliveries of ${eventId}`}>
      {failuresFirst(deliveries).map((delivery) => {
        const { partner, state } = delivery;
        return (
          <li key={partner}>
            <Badge state={state} />
            <Link to={deliveryPath(eventId, partner)} label={`Delivery of ${eventId} to ${partner}`}>
              {partner}
            </Link>
            <span class="quiet">{resultText(delivery)}</span>
          </li>
        );
      })}
    </ul>
  );
}
