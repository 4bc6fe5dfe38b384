import type { DeadLetterCount } from "../../api/replays.ts";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Problem } from "../api/problem.ts";
import type { ListPage } from "../api/types.ts";
import { useRead, type Read } from "../api/use-read.ts";
import { Badge } from "../components/badge.tsx";
import { Empty } from "../components/empty.tsx";
import { formatNumber } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { Reading, Skeleton } from "../components/reading.tsx";
import { Link } from "../router/router.tsx";
import { breakerNeeds, deadLetterNeeds, partnerNeeds, type Need } from "./needs.ts";
import { usePartners, type Partners } from "./use-partners.ts";

const everySeconds = 30;
const needsShownMax = 20;

type Counts = ListPage<DeadLetterCount, { readonly complete: boolean }>;

/** Webhooks: how many partners there are in which state, and what needs a person. */
export function NeedsSection(): JSX.Element {
  const [turn, setTurn] = useState(0);
  const partners = usePartners(turn);
  const counts = useRead<Counts>("/webhooks/dead-letters/counts", { everySeconds });
  const read = readOfPartners(partners, () => {
    setTurn(turn + 1);
    counts.refresh();
  });
  return (
    <>
      <Section
        title="What needs a person"
        actions={
          <button type="button" class="small" onClick={read.refresh}>
            Refresh
          </button>
        }
      >
        <Reading read={read} what="the partners" lines={4}>
          {({ all, details }) => (
            <Needs
              needs={[...partnerNeeds(all), ...breakerNeeds(details), ...lettersOf(counts)]}
              isKnown={!counts.isReading || counts.data !== undefined}
              isCounted={counts.data !== undefined}
            />
          )}
        </Reading>
        {counts.problem === undefined || isAbsent(counts.problem) || read.problem !== undefined ? null : (
          <Reading read={counts} what="the counts of dead letters">
            {() => null}
          </Reading>
        )}
      </Section>
      <Section title="Webhooks">
        {read.problem === undefined ? (
          <Reading read={read} what="the partners" lines={3}>
            {(data) => <PartnerCounts partners={data} />}
          </Reading>
        ) : (
          <p class="lead">Nothing is known without the partners.</p>
        )}
      </Section>
    </>
  );
}

type Known = Partners & { readonly all: NonNullable<Partners["all"]> };

function readOfPartners(partners: Partners, refresh: () => void): Read<Known> {
  const { all, problem } = partners;
  return {
    data: all === undefined ? undefined : { ...partners, all },
    problem,
    isReading: all === undefined && problem === undefined,
    isStale: all !== undefined && problem !== undefined,
    atMs: undefined,
    headers: undefined,
    missing: [],
    refresh,
  };
}

/** A server without this question, as during an update: the rest of the page is of use without it. */
function isAbsent({ status }: Problem): boolean {
  return status === 404;
}

function lettersOf({ data }: Read<Counts>): readonly Need[] {
  return data === undefined ? [] : deadLetterNeeds(data.data);
}

interface NeedsProps {
  readonly needs: readonly Need[];
  /** False while the dead letters are counted. */
  readonly isKnown: boolean;
  /** False when this server or this token does not count them. */
  readonly isCounted: boolean;
}

function Needs({ needs, isKnown, isCounted }: NeedsProps): JSX.Element {
  if (needs.length === 0 && !isKnown) return <Skeleton what="the counts of dead letters" lines={3} />;
  if (needs.length === 0) {
    return (
      <Empty
        title="Nothing needs a person now"
        why={
          isCounted
            ? "No partner is held, paused or disabled, no open breaker is known, and there are no dead letters."
            : "No partner is held, paused or disabled, and no open breaker is known. The dead letters are not counted."
        }
      />
    );
  }
  const more = needs.length - needsShownMax;
  return (
    <>
      <ul class="plain needs">
        {needs.slice(0, needsShownMax).map(({ key, state, text, to }) => (
          <li key={key}>
            <Badge state={state} /> <Link to={to}>{text}</Link>
          </li>
        ))}
      </ul>
      {more > 0 ? <p class="lead">And {formatNumber(more)} more.</p> : null}
    </>
  );
}

function PartnerCounts({ partners: { all, isComplete } }: { readonly partners: Known }): JSX.Element {
  if (all.length === 0) {
    return (
      <Empty
        title="No partners"
        why="No WebhookPartner that your token may see is in force."
        next="Apply one with kubectl, or ask for a token with its tenants."
      />
    );
  }
  const states = ["active", "held", "paused", "disabled"] as const;
  return (
    <>
      <ul class="plain cards">
        {states.map((state) => (
          <li class="card" key={state}>
            <h3>
              <Badge state={state} /> partners
            </h3>
            <div class="figure">{formatNumber(all.filter((partner) => partner.state === state).length)}</div>
          </li>
        ))}
      </ul>
      {isComplete ? null : <p class="lead">Counted in the first {formatNumber(all.length)} partners.</p>}
    </>
  );
}
