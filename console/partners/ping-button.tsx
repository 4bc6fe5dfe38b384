import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { mayUse, useSession } from "../api/session-context.ts";
import type { PartnerDetail } from "../api/types.ts";
import { useSend } from "../api/use-send.ts";
import { useAnnounce } from "../parts/announcer.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { pathTo } from "../router/place.ts";
import { EventLink } from "../webhooks/links.tsx";

interface Ping {
  readonly event_id: string;
  readonly tenant: string;
  readonly partner: string;
}

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
  const { isSending, problem, answer, send } = useSend<Ping>();
  const announce = useAnnounce();
  const tenants = tenantsToPing(partner, me?.tenants ?? []);
  const [chosen, choose] = useState("");
  if (!mayUse(me, ["webhooks:ping"])) return null;
  const [namespace = "", name = ""] = partner.partner.split("/", 2);
  const tenant = chosen === "" ? tenants[0] : chosen;
  const ping = async (): Promise<void> => {
    const body = tenant === undefined ? {} : { tenant };
    const done = await send(`/webhooks${pathTo("partners", namespace, name)}/ping`, { method: "POST", body });
    if (done !== undefined) announce("The ping is accepted");
  };
  return (
    <div class="ping">
      <div class="actions">
        {tenants.length < 2 ? null : (
          <select
            aria-label="Tenant of the ping"
            value={tenant}
            onChange={(event) => choose(event.currentTarget.value)}
          >
            {tenants.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        )}
        <button type="button" class="primary" disabled={isSending} onClick={() => void ping()}>
          Send a ping
        </button>
      </div>
      {answer === undefined ? null : (
        <p class="notice good">
          Accepted as <EventLink id={answer.body.event_id} />. Its page shows the attempt.
        </p>
      )}
      {problem === undefined ? null : <ProblemNotice problem={problem} />}
    </div>
  );
}
