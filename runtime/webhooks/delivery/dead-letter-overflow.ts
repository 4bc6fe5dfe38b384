import type { DeliveryContext } from "./delivery-context.ts";
import type { DeliveryRecord } from "../records/delivery-record.ts";
import { endUnsent } from "./end-unsent.ts";
import type { Partner } from "../partners/partner.ts";

/**
 * Keeps a delivery as a dead letter at once, because too much waits for its partner.
 *
 * @returns false when the dead letter is refused; the delivery must then wait with the others
 * @throws Unanswered when the process must end first
 */
export async function deadLetterOverflow(
  context: DeliveryContext,
  delivery: DeliveryRecord,
  partner: Partner,
  body: Uint8Array,
): Promise<boolean> {
  const detail = "as much as may wait for the partner waits already, nothing was sent";
  return (
    (await endUnsent(context, { delivery, partner, body, before: [] }, { reason: "backlog_full", detail })) !==
    undefined
  );
}
