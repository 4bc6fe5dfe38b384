import type { AttemptHistory } from "../../../api/histories.ts";
import type { FailureCause, PartnerFailure } from "../../../api/partner-health.ts";
import type { FailedAttempt } from "../event-index/columns.ts";
import type { EventIndex } from "../event-index/event-index.ts";
import { eventHash, includesTenant } from "../ids.ts";
import { readEvent } from "../records/event-record.ts";
import { standingsOf, type HistoryDeps } from "./history.ts";
import type { HistoryView } from "./history-view.ts";

interface LastFailureDeps extends Pick<HistoryDeps, "events" | "attempts" | "now"> {
  readonly index: EventIndex;
}

/**
 * Reads the failed attempt to a partner that began last, whatever became of its delivery. Null if none is known.
 *
 * @param label `namespace/name`; the caller may see it
 * @throws Error if JetStream does not respond
 */
export async function readLastFailure(
  { index, events, attempts, now }: LastFailureDeps,
  label: string,
  { tenants, ...view }: HistoryView & { readonly tenants: readonly string[] },
): Promise<PartnerFailure | null> {
  const { columns } = await index.read();
  const search = {
    isTenant: (tenant: string) => includesTenant(tenants, tenant),
    isPartner: (partner: string) => partner === label,
  };
  const last = columns.lastFailed(search).get(label);
  const seq = last === undefined ? undefined : columns.seqOf(last);
  if (last === undefined || seq === undefined) return null;
  const event = (await events.readAll([seq])).map((message) => readEvent(message))[0];
  if (event === undefined) return null;
  const stored = await attempts.list(event.tenant, eventHash(event.eventId));
  const made = standingsOf(stored, new Map(), now(), view)
    .deliveries.filter(({ partner }) => partner === label)
    .flatMap((delivery) => delivery.attempts);
  const failed = made.find(({ at, settlement }) => Date.parse(at) === last.atMs && settlement.kind !== "delivered");
  return failed === undefined ? null : failureOf(event.eventId, failed);
}

function failureOf(eventId: string, { attempt, at, status, error, response }: AttemptHistory): PartnerFailure {
  const failure = { event_id: eventId, attempt, at, status };
  const [detail, body] = [error?.detail ?? null, response?.body ?? null];
  return { ...failure, reason: error?.reason ?? `status_${status}`, detail, response_body: body };
}

/** The index as the source of last failures. */
export type FailureIndex = Pick<EventIndex, "read">;

/**
 * The last failures of some partners, as lists have them. Partners without one are left out.
 *
 * @throws Error if JetStream does not respond
 */
export async function readLastFailures(
  index: FailureIndex,
  { tenants, partners }: { readonly tenants: readonly string[]; readonly partners: ReadonlySet<string> },
): Promise<ReadonlyMap<string, FailureCause | null>> {
  const { columns } = await index.read();
  const failures = columns.lastFailed({
    isTenant: (tenant) => includesTenant(tenants, tenant),
    isPartner: (partner) => partners.has(partner),
  });
  return new Map([...failures].map(([partner, failed]) => [partner, causeOf(failed)]));
}

/** What lists have of a failed attempt; null without one. */
export function causeOf(failed: FailedAttempt | undefined): FailureCause | null {
  if (failed === undefined) return null;
  const { atMs, status, reason } = failed;
  return { at: new Date(atMs).toISOString(), status: status === 0 ? null : status, reason };
}
