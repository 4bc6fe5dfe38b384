import type { PartnerDetail, Ping } from "../../api/partners.ts";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { mayUse, useSession } from "../api/session-context.ts";
import { useSend } from "../api/use-send.ts";
import { useAnnounce } from "../components/announcer.tsx";
import { Countdown, Timestamp } from "../components/timestamp.tsx";
import { ProblemNotice } from "../components/problem-notice.tsx";
import { healthKind, isHalfOpen } from "./health-kind.ts";
import { pathTo } from "../router/place.ts";
import { EventLink } from "../webhooks/links.tsx";

/** Tenants that a ping can go out for; empty when the server chooses. */
export function tenantsToPing(
  partner: Pick<PartnerDetail, "subscriptions">,
  own: readonly string[],
): readonly string[] {
  const named = new Set(partner.subscriptions.flatMap(({ tenants }) => tenants));
  const shared = own.includes("*") ? [...named] : own.filter((tenant) => named.has("*") || named.has(tenant));
  return shared.filter((tenant) => tenant !== "*").toSorted();
}

/** Sends a test event to the partner, and links to it. */
export function PingButton({ partner }: { readonly partner: PartnerDetail }): JSX.Element | null {
  const { me } = useSession();
  const { isSending, problem, response, send } = useSend<Ping>();
  const announce = useAnnounce();
  const tenants = tenantsToPing(partner, me?.tenants ?? []);
  const [chosen, choose] = useState("");
  if (!mayUse(me, ["webhooks:ping"])) return null;
  const [namespace = "", name = ""] = partner.partner.split("/", 2);
  const tenant = chosen.trim() === "" ? tenants[0] : chosen.trim();
  const ping = async (): Promise<void> => {
    const body = tenant === undefined ? {} : { tenant };
    const done = await send(`/webhooks${pathTo("partners", namespace, name)}/ping`, { method: "POST", body });
    if (done !== undefined) announce("The ping is accepted");
  };
  return (
    <div class="ping">
      <div class="actions">
        <TenantChoice tenants={tenants} chosen={tenant ?? ""} choose={choose} />
        <button type="button" class="primary" disabled={isSending} onClick={() => void ping()}>
          Send a ping
        </button>
      </div>
      {response === undefined ? null : (
        <p class="notice good">
          Accepted as <EventLink id={response.body.event_id} />. <PingFate partner={partner} />
        </p>
      )}
      {problem === undefined ? null : <ProblemNotice problem={problem} />}
    </div>
  );
}

function PingFate({ partner }: { readonly partner: PartnerDetail }): JSX.Element {
  const { kind, until = null } = partner.health ?? {};
  if (isHalfOpen(partner))
    return <>The circuit breaker lets it through as the next attempt. Its page shows the attempt.</>;
  return (
    <>
      {pingWait(partner) ?? "Its page shows the attempt."}
      {kind !== "circuit_open" || until === null ? null : (
        <>
          {" "}
          The next attempt is <Countdown to={until} over="due now" /> (<Timestamp at={until} />
          ).
        </>
      )}
    </>
  );
}

const waits: Readonly<Record<string, string>> = {
  circuit_open: "It waits until the circuit breaker lets an attempt through.",
  rate_limited: "It waits for the Retry-After of the endpoint.",
  paused: "It waits until the partner is active.",
  held: "It waits until the partner is not held any more.",
  disabled: "It waits until the definition of the partner changes.",
};

/** What keeps a ping waiting; undefined if it is sent at once. */
export function pingWait(partner: Pick<PartnerDetail, "health" | "state">): string | undefined {
  const kind = healthKind(partner);
  return Object.hasOwn(waits, kind) ? waits[kind] : undefined;
}

interface TenantChoiceProps {
  readonly tenants: readonly string[];
  readonly chosen: string;
  readonly choose: (tenant: string) => void;
}

const tenantLengthMax = 64;

/** One of several tenants; a name where neither the token nor the partner names one. */
function TenantChoice({ tenants, chosen, choose }: TenantChoiceProps): JSX.Element | null {
  const label = "Tenant of the ping";
  if (tenants.length === 1) return null;
  if (tenants.length === 0) {
    const type = (event: { readonly currentTarget: HTMLInputElement }): void => choose(event.currentTarget.value);
    return <input aria-label={label} placeholder="tenant" maxLength={tenantLengthMax} value={chosen} onInput={type} />;
  }
  return (
    <select aria-label={label} value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
      {tenants.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}
