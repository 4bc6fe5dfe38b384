import { ApiError } from "../../errors/api-error.ts";
import type { DeadLettersStream } from "../../nats/streams/dead-letters-stream.ts";
import { mayNamePartner, type PartnerAccess } from "../history/history-view.ts";
import { partnerKey } from "../ids.ts";
import type { Partner } from "../partners/partner.ts";
import { deadLetterKeys } from "../records/dead-letter-record.ts";

/** Finds a partner by name. One that the caller may not see counts as absent. @throws ApiError `partner_not_found` */
export function partnerNamed(partners: readonly Partner[], label: string, access: PartnerAccess): Partner {
  const partner = mayNamePartner(access, label) ? partners.find((one) => one.label === label) : undefined;
  if (partner === undefined) throw new ApiError("partner_not_found", `The partner ${label} does not exist.`);
  return partner;
}

interface KeysDeps {
  readonly deadLetters: Pick<DeadLettersStream, "list">;
  readonly partners: () => readonly Partner[];
}

/**
 * The keys under which dead letters of a partner are stored. A removed partner counts as long as it has some.
 *
 * @param isLater true for a later page, whose first page had some
 * @throws ApiError `partner_not_found`
 */
export async function deadLetterKeysOf(
  { deadLetters, partners }: KeysDeps,
  label: string,
  access: PartnerAccess,
  isLater = false,
): Promise<readonly string[]> {
  const key = partnerKey(label);
  const isKnown = !mayNamePartner(access, label) || partners().some((one) => one.label === label);
  const isLeft = !isKnown && (isLater || (await deadLetters.list(key, "*", 1, 1)).length > 0);
  return isLeft ? [key] : deadLetterKeys(partnerNamed(partners(), label, access));
}
