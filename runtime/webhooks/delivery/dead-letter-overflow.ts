import type { DeliveryContext } from "./delivery-context.ts";
import type { DeliveryRecord } from "../records/delivery-record.ts";
import { endUnsent } from "./end-unsent.ts";
import type { Partner } from "../partners/partner.ts";

/**
 * Ends a delivery with a dead letter because the backlog of its partner has reached its limit.
 *
 * @returns false when the dead letter is refused; the delivery must then wait in the backlog
 * @throws Unanswered when the process must end first
 */
export async function deadLetterOverflow(
  context: DeliveryContext,
  delivery: DeliveryRecord,
  partner: Partner,
  body: Uint8Array,
): Promise<boolean> {
  const detail = "the backlog of the partner has reached its limit, nothing was sent";
  return (
    (await endUnsent(context, { delivery, partner, body, before: [] }, { reason: "backlog_full", detail })) !==
    undefined
  );
}
