import type { DeliveryContext } from "../delivery/delivery-context.ts";
import type { PendingEnder } from "./end-pending.ts";
import type { RegisteredPartner } from "../partners/partner-registry.ts";
import type { NamedPartner, Partner } from "../partners/partner.ts";

interface EndRemovedDeps {
  readonly context: DeliveryContext;
  readonly ender: PendingEnder;
  readonly partners: () => readonly Partner[];
}

const detail = "the partner was removed before anything more could be sent to it";

/**
 * Ends what waits for partners that no pod has any more, one turn per call, and then removes their consumers.
 *
 * @returns whether nothing of the partner is left
 */
export function createRemovedEnder({
  context,
  ender,
  partners,
}: EndRemovedDeps): (entry: RegisteredPartner) => Promise<boolean> {
  return async (entry) => {
    const { token } = entry;
    const isStill = (): boolean => !partners().some((one) => one.key === token);
    const acceptedUpToMs = Number.POSITIVE_INFINITY;
    const progress = await ender.goOn({
      partner: named(entry),
      reason: "partner_removed",
      detail,
      acceptedUpToMs,
      isStill,
    });
    if (progress.kind !== "done" || !isStill() || !(await context.deliveries.removePartner(token))) {
      return false;
    }
    ender.forget(token);
    return true;
  };
}

/** One that was found by what waits for it has its token for a name. */
function named({ token, uid, label }: RegisteredPartner): NamedPartner {
  const at = label.indexOf("/");
  const [namespace, name] = at < 0 ? ["", label] : [label.slice(0, at), label.slice(at + 1)];
  return { key: token, label, config: { uid, namespace, name, specDigest: "" } };
}
