import type { EventPage, EventSummary } from "../../api/histories.ts";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { DeadLetterCounts } from "../../api/replays.ts";
import type { PartnerSummary } from "../../api/partners.ts";
import { readPartners } from "../api/read-partners.ts";
import { useSession } from "../api/session-context.ts";

/** Values that filters offer, by the name of the filter. */
export type KnownValues = Readonly<Record<string, readonly string[]>>;

const statuses = ["none", "2xx", "4xx", "5xx"];
/** Values of one filter. */
const valuesMax = 500;

interface Offered {
  readonly partners: readonly PartnerSummary[];
  readonly reasons: readonly string[];
}

/**
 * Values that exist: partners and types of their subscriptions, reasons of dead letters and of attempts without a
 * response, and those of the rows that are shown. Filters work without them, so a failed read offers less and says
 * nothing.
 */
export function useKnownValues(rows: readonly EventSummary[], partner = ""): KnownValues {
  const { api } = useSession();
  const failed = useFailedReasons(partner);
  const [offered, setOffered] = useState<Offered>({ partners: [], reasons: [] });
  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    const merge = (part: Partial<Offered>): void => {
      if (!signal.aborted) setOffered((before) => ({ ...before, ...part }));
    };
    const ignore = (): void => undefined;
    readPartners(api, signal).then(({ all }) => merge({ partners: all }), ignore);
    api
      .read<DeadLetterCounts>("/webhooks/dead-letters/counts", signal)
      .then(({ body }) => merge({ reasons: body.data.map(({ reason }) => reason) }), ignore);
    return () => abort.abort();
  }, [api]);
  return useMemo(
    () => knownValues({ ...offered, reasons: [...offered.reasons, ...failed] }, rows),
    [offered, failed, rows],
  );
}

const failedMax = 100;

/** Reasons of the newest deliveries whose last attempt got no response. Events of the page may have no attempt yet. */
function useFailedReasons(partner: string): readonly string[] {
  const { api } = useSession();
  const [reasons, setReasons] = useState<readonly string[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    const query = new URLSearchParams({ order: "desc", limit: String(failedMax), status: "none" });
    if (partner !== "") query.set("partner", partner);
    api.read<EventPage>(`/webhooks/events?${query}`, abort.signal).then(
      ({ body }) => setReasons(body.data.flatMap(({ deliveries }) => deliveries.flatMap(({ reason }) => reason ?? []))),
      () => undefined,
    );
    return () => abort.abort();
  }, [api, partner]);
  return reasons;
}

/** The values of each filter, sorted, each once. */
export function knownValues({ partners, reasons }: Offered, rows: readonly EventSummary[]): KnownValues {
  const deliveries = rows.flatMap((row) => row.deliveries);
  const shownStatuses = deliveries.flatMap(({ status }) => (status === null ? [] : [String(status)]));
  return {
    partner: sorted([...partners.map(({ partner }) => partner), ...deliveries.map(({ partner }) => partner)]),
    type: sorted([
      ...partners.flatMap(({ subscriptions }) => subscriptions.flatMap(({ types }) => types)),
      ...rows.map(({ type }) => type),
    ]),
    status: [...statuses, ...sorted(shownStatuses)],
    reason: sorted([...reasons, ...deliveries.flatMap(({ reason }) => reason ?? [])]),
  };
}

function sorted(values: readonly string[]): readonly string[] {
  return [...new Set(values)].toSorted((a, b) => a.localeCompare(b)).slice(0, valuesMax);
}
