import type { PartnerDetail } from "../../api/partners.ts";
import type { ComponentChildren, JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { formatNumber, formatSeconds } from "../components/format.ts";
import { Countdown, Timestamp } from "../components/timestamp.tsx";
import { Section } from "../components/page.tsx";
import { breakerOf, healthKind } from "./health-kind.ts";

/** What the pod that delivers to the partner knows now. */
export function LiveSection({ partner }: { readonly partner: PartnerDetail }): JSX.Element {
  const { live, state, delivery } = partner;
  const breaker = breakerOf(partner);
  return (
    <Section title="Now" lead={liveLead(partner)}>
      <div class="cards dense">
        <Card title="State" figure={<Badge state={state} />} />
        <Card
          title="Circuit breaker"
          figure={breaker === null ? "–" : <Badge state={breaker} />}
          note={breaker === "half_open" ? "the next attempt is let through" : <Until at={live.breaker_until} />}
        />
        <Card title="Waiting" figure={formatNumber(live.backlog)} note={limitOf(delivery.max_backlog)} />
        <Card title="In flight" figure={formatNumber(live.in_flight)} note={limitOf(delivery.max_in_flight)} />
        <Card
          title="Oldest due"
          figure={<Timestamp at={live.oldest_due_at} shows="age" />}
          note={live.oldest_due_at === null && (live.backlog ?? 0) > 0 ? undueNote(partner) : ""}
        />
      </div>
    </Section>
  );
}

/** Says whose figures these are, and how old they are. */
function liveLead({ live }: PartnerDetail): string | undefined {
  const { known, hidden, age_seconds: age } = live;
  if (hidden) return "Hidden, because this partner also receives events of tenants you cannot see.";
  if (known) return undefined;
  return age === null
    ? "The pod that delivers to this partner does not respond, and it has not reported before."
    : `The pod that delivers to this partner does not respond. These figures are ${formatSeconds(age)} old.`;
}

const stoppedKinds: ReadonlySet<string> = new Set(["held", "paused", "disabled"]);

/** Why none of the waiting deliveries is due. */
export function undueNote(partner: Pick<PartnerDetail, "health" | "state">): string {
  const kind = healthKind(partner);
  return stoppedKinds.has(kind) ? `none while the partner is ${kind}` : "none is due now";
}

function limitOf(limit: number | null): string {
  return limit === null ? "" : `limit ${formatNumber(limit)}`;
}

function Until({ at }: { readonly at: string | null }): JSX.Element | null {
  return at === null ? null : (
    <>
      next try <Countdown to={at} />
    </>
  );
}

interface CardProps {
  readonly title: string;
  readonly figure: ComponentChildren;
  readonly note?: ComponentChildren;
}

function Card({ title, figure, note }: CardProps): JSX.Element {
  return (
    <div class="card">
      <h3>{title}</h3>
      <div class="figure">{figure}</div>
      <div class="quiet note">{note}</div>
    </div>
  );
}
