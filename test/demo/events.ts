const payouts = [
  { id: "payout-0001", amountMinor: 125_00, currency: "EUR" },
  { id: "payout-0002", amountMinor: 89_90, currency: "EUR" },
  { id: "payout-0003", amountMinor: 1_500_00, currency: "BRL" },
] as const;

/** One event that the demo publishes. */
export interface DemoEvent {
  readonly eventId: string;
  readonly body: string;
}

/**
 * The payout events of one tenant, each payout created and then processed. Source: seed "Webhook Event Delivery" §2.1.
 */
export function payoutEvents(nowMs: number): readonly DemoEvent[] {
  return payouts.flatMap(({ id, amountMinor, currency }, index) =>
    (["created", "processed"] as const).map((status, step) =>
      demoEvent(`evt-${id}-${status}`, `payout.${status}`, nowMs + index * 2 + step, {
        payout_id: id,
        status,
        amount_minor: amountMinor,
        currency,
      }),
    ),
  );
}

/** An event of the tenant `lumen` with this payload. */
export function demoEvent(eventId: string, type: string, atMs: number, data: object, tenant = "lumen"): DemoEvent {
  const ts = new Date(atMs).toISOString();
  const envelope = { event_id: eventId, type, version: "2026-01-01", ts, producer: "payouts", tenant, data };
  return { eventId, body: JSON.stringify(envelope) };
}
