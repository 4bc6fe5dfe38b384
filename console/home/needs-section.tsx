import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { Empty } from "../components/empty.tsx";
import { formatNumber } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { Reading, Skeleton } from "../components/reading.tsx";
import { Countdown, Timestamp } from "../components/timestamp.tsx";
import { healthCounts } from "../partners/health-kind.ts";
import { changedQuery } from "../router/place.ts";
import { Link } from "../router/router.tsx";
import type { Need } from "./needs.ts";
import type { Home, KnownPartners } from "./use-home.ts";

const needsShownMax = 20;

/** What is wrong, for whom and since when. */
export function NeedsSection({ home }: { readonly home: Home }): JSX.Element {
  const { partners, counts, needs } = home;
  return (
    <Section title={needs.length === 0 ? "Needs attention" : `Needs attention (${formatNumber(needs.length)})`}>
      <div class="needs-room">
        <Reading read={partners} what="the partners" lines={2}>
          {({ all, isComplete }) => (
            <>
              {needs.length > 0 ? <NeedList needs={needs} /> : <NoNeeds home={home} />}
              {isComplete ? null : (
                <p class="notice warn">
                  Partners after the first {formatNumber(all.length)} were not checked. Dead letters of all partners are
                  counted.
                </p>
              )}
            </>
          )}
        </Reading>
      </div>
      {partners.problem === undefined || partners.data !== undefined ? null : <OtherNeeds home={home} />}
      {counts.problem === undefined || counts.problem.status === 404 || partners.problem !== undefined ? null : (
        <Reading read={counts} what="the counts of dead letters">
          {() => null}
        </Reading>
      )}
    </Section>
  );
}

function NoNeeds({ home: { counts, isKnown, unknown } }: { readonly home: Home }): JSX.Element {
  if (unknown.length > 0) {
    return (
      <div class="notice warn">
        <p class="notice-title">Not everything could be checked</p>
        <p>The server did not return {unknown.join(", ")}. Nothing else needs attention.</p>
      </div>
    );
  }
  if (!isKnown) return <Skeleton what="what needs attention" lines={2} />;
  const letters = counts.data === undefined ? "Dead letters are not counted." : "There are no dead letters.";
  return (
    <div class="notice good">
      <p class="notice-title">Nothing needs attention</p>
      <p>
        No partner is failing, held, paused or disabled, no circuit breaker is open, and no signing key is about to
        expire. {letters}
      </p>
    </div>
  );
}

/** Needs of everything but partners, which cannot be read. */
function OtherNeeds({ home: { needs, isKnown } }: { readonly home: Home }): JSX.Element | null {
  if (needs.length > 0) return <NeedList needs={needs} />;
  return isKnown ? null : <Skeleton what="what needs attention" lines={1} />;
}

function NeedList({ needs }: { readonly needs: readonly Need[] }): JSX.Element {
  const more = needs.length - needsShownMax;
  return (
    <>
      <ul class="plain needs">
        {needs.slice(0, needsShownMax).map(({ key, state, subject, reason, since, isAfter = false, until, to }) => (
          <li key={key}>
            <Badge state={state} />
            <span>
              <Link to={to}>{subject}</Link> {reason}
              {until === undefined ? null : (
                <>
                  , next attempt <Countdown to={until} />
                </>
              )}
            </span>
            <span class="quiet">
              {isAfter && since !== null ? "at most " : ""}
              {since === null ? "" : <Timestamp at={since} shows="age" />}
            </span>
          </li>
        ))}
      </ul>
      {more > 0 ? (
        <p class="lead">
          And {formatNumber(more)} more. <Link to="/partners">All partners</Link>
        </p>
      ) : null}
    </>
  );
}

/** How many partners have which health. */
export function PartnersSection({ home: { partners } }: { readonly home: Home }): JSX.Element | null {
  // The section above says why they cannot be read.
  if (partners.data === undefined && partners.problem !== undefined) return null;
  return (
    <Section title="Partners">
      <Reading read={partners} what="the partners" lines={4}>
        {(data) => <PartnerCounts partners={data} />}
      </Reading>
    </Section>
  );
}

function PartnerCounts({ partners: { all, isComplete } }: { readonly partners: KnownPartners }): JSX.Element {
  if (all.length === 0) {
    return (
      <Empty
        title="No partners"
        why="No WebhookPartner that your token may see is applied."
        next="Apply a WebhookPartner, or request a token with its tenants."
      />
    );
  }
  const counts = healthCounts(all);
  return (
    <>
      <ul class="plain cards home-cards">
        {counts.map(([kind, count]) => (
          <li class="card" key={kind}>
            <h3>
              <Badge state={kind} />
            </h3>
            <div class="figure">
              <Link to={`/partners${changedQuery(new URLSearchParams(), { health: kind })}`}>
                {formatNumber(count)}
              </Link>
            </div>
          </li>
        ))}
      </ul>
      <p>
        <Link to="/partners">All partners</Link>
        {isComplete ? "" : ` (counted in the first ${formatNumber(all.length)})`}
      </p>
    </>
  );
}
