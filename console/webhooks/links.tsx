import type { JSX } from "preact";
import { changedQuery, pathTo } from "../router/place.ts";
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

interface EventLinkProps {
  readonly id: string;
  /** The partner whose delivery is open. @default the first failed one */
  readonly partner?: string;
}

/** The id of an event, as a link to its page. */
export function EventLink({ id, partner }: EventLinkProps): JSX.Element {
  const query = partner === undefined ? "" : changedQuery(new URLSearchParams(), { open: partner });
  return (
    <Link to={`${pathTo("events", id)}${query}`} class="id">
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
