import type { MaintenanceContext } from "./background-loops.ts";
import type { PendingEnder } from "./end-pending.ts";
import type { RegisteredPartner } from "../partners/partner-registry.ts";
import type { NamedPartner } from "../partners/partner.ts";

const detail = "the partner was removed before anything more could be sent to it";

/**
 * Ends waiting deliveries of partners that no pod has configured any more, and then removes their consumers.
 *
 * @returns a function for one run; it resolves with true when nothing of the partner is left
 */
export function createRemovedEnder(
  { deliveries, mayExist }: MaintenanceContext,
  ender: PendingEnder,
): (entry: RegisteredPartner) => Promise<boolean> {
  return async (entry) => {
    const { token: key } = entry;
    const isRemoved = (): boolean => !mayExist(key);
    const progress = await ender.run({
      partner: named(entry),
      reason: "partner_removed",
      detail,
      acceptedUpToMs: Number.POSITIVE_INFINITY,
      isValid: isRemoved,
    });
    if (progress.kind !== "done" || !isRemoved() || !(await deliveries.removePartner(key))) {
      return false;
    }
    ender.forget(key);
    return true;
  };
}

/** The partner of an entry. An entry made from a stored message has the partner's key as its label. */
function named({ token, uid, label }: RegisteredPartner): NamedPartner {
  const at = label.indexOf("/");
  const [namespace, name] = at < 0 ? ["", label] : [label.slice(0, at), label.slice(at + 1)];
  return { key: token, label, config: { uid, namespace, name, specDigest: "" } };
}
