import type { EventSummary } from "../../api/histories.ts";
import type { PartnerFailure } from "../../api/partner-health.ts";
import type { PartnerDetail, PartnerEndpoint, PartnerSummary } from "../../api/partners.ts";
import type { JSX } from "preact";
import type { ListPage } from "../api/types.ts";
import { useRead } from "../api/use-read.ts";
import { Badge } from "../components/badge.tsx";
import { Facts } from "../components/data-table.tsx";
import { formatCount, formatMs, formatNumber, formatShare } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { Countdown, Timestamp } from "../components/timestamp.tsx";
import { changedQuery } from "../router/place.ts";
import { Link } from "../router/router.tsx";
import { EventLink } from "../webhooks/links.tsx";
import { adviceOf } from "./advice.ts";
import { healthKind, healthReason, isHalfOpen } from "./health-kind.ts";
import { latestFailure } from "./latest-failure.ts";
import { StepLine } from "./step-line.tsx";

interface StatusProps {
  /** A partner of the list is enough: one that is not applied has no details. */
  readonly partner: Omit<PartnerSummary, "last_failure"> & Pick<PartnerDetail, "endpoint" | "last_failure">;
}

/** Whether the partner is well, since when and why not, what to do, and where its events go. */
export function StatusSection({ partner }: StatusProps): JSX.Element {
  const advice = adviceOf(partner);
  const { last_failure: failure = null } = partner;
  return (
    <Section title="Health">
      <div class="partner-status">
        <StatusHead partner={partner} />
        {advice === undefined ? null : (
          <>
            <p>{advice.text}</p>
            <StepLine step={advice.step} />
            {failure !== null && failingKinds.has(healthKind(partner)) ? (
              <Failure partner={partner.partner} failure={failure} />
            ) : null}
            <FailedLinks partner={partner.partner} />
          </>
        )}
      </div>
      <Figures partner={partner} />
    </Section>
  );
}

function StatusHead({ partner }: StatusProps): JSX.Element {
  const reason = healthReason(partner);
  const { since = null, until = null } = partner.health ?? {};
  return (
    <p class="partner-status-head">
      <Badge state={isHalfOpen(partner) ? "half_open" : healthKind(partner)} />
      {reason === "" ? null : <span>{reason}</span>}
      {since === null ? null : (
        <span class="quiet">
          since <Timestamp at={since} shows="both" />
        </span>
      )}
      {until === null ? null : (
        <span class="quiet">
          next attempt <Countdown to={until} />
        </span>
      )}
    </p>
  );
}

/** Servers of earlier versions report none of them. */
function Figures({ partner }: StatusProps): JSX.Element {
  const { endpoint, recent } = partner;
  const figures =
    recent === undefined
      ? []
      : ([
          ["Success rate, 24 h", successText(recent)],
          ["Duration p95, 24 h", formatMs(recent.p95_ms)],
          ["Last success", <Timestamp key="last" at={recent.last_success_at} shows="both" />],
          ["Next key expiry", <NextKey key="next" partner={partner} />],
        ] as const);
  const address = endpoint === undefined ? undefined : <code>{addressOf(endpoint)}</code>;
  return (
    <div class="partner-facts">
      <Facts facts={[["Endpoint", address], ...figures]} />
    </div>
  );
}

const failingKinds: ReadonlySet<string> = new Set(["failing", "circuit_open"]);
const everySeconds = 30;

interface FailureProps {
  readonly partner: string;
  readonly failure: PartnerFailure;
}

/** Whether the cause of the last failed attempt is here or at the partner, and where the failed attempts are. */
function Failure({ partner, failure }: FailureProps): JSX.Element {
  const { cause, side, response, filter } = latestFailure(failure);
  const query = changedQuery(new URLSearchParams(), { partner, ...filter });
  // The deliveries that failed so may have ended otherwise since.
  const same = useRead<ListPage<EventSummary>>(
    `/webhooks/events${changedQuery(new URLSearchParams({ order: "desc", limit: "1" }), { partner, ...filter })}`,
    { everySeconds },
  );
  return (
    <>
      <p>
        Latest failure <Timestamp at={failure.at} shows="both" />: {cause}, attempt {formatNumber(failure.attempt)} of
        event <EventLink id={failure.event_id} partner={partner} />. {side}{" "}
        {(same.data?.data.length ?? 0) === 0 ? null : <Link to={`/events${query}`}>Events with this failure</Link>}
      </p>
      {response === "" ? null : (
        <p>
          It responded: <code>{response}</code>
        </p>
      )}
    </>
  );
}

function FailedLinks({ partner }: { readonly partner: string }): JSX.Element {
  const query = (change: Readonly<Record<string, string>>): string =>
    changedQuery(new URLSearchParams(), { partner, ...change });
  return (
    <div class="actions">
      <Link to={`/events${query({})}`}>Events of this partner</Link>
      <Link to={`/dead-letters${query({})}`}>Dead letters of this partner</Link>
    </div>
  );
}

/** The path is for administrators; others see that there is one. */
function addressOf({ scheme, host, path }: PartnerEndpoint): string {
  return `${scheme}://${host}${path ?? "/…"}`;
}

function successText({ success_rate: share, attempts }: NonNullable<PartnerDetail["recent"]>): string {
  return share === null ? "no attempts" : `${formatShare(share)} of ${formatCount(attempts, "attempt")}`;
}

function NextKey({ partner: { next_key_to_expire: key } }: StatusProps): JSX.Element {
  if (key === undefined || key === null) return <>none expires</>;
  return (
    <>
      <code>{key.id}</code> <Timestamp at={key.not_after} shows="both" />
    </>
  );
}
