import { failureDetail } from "./failure-detail.ts";
import type { FailureReason } from "../settlement/outcome.ts";
import { isNarrowed, mayNamePartner, type PartnerAccess } from "./partner-access.ts";

/** The part of a history that a caller may see. */
export interface HistoryView extends PartnerAccess {
  /** True when addresses, DNS responses and pods of the installation are shown. @default false */
  readonly showsInternals?: boolean;
}

interface Attempt {
  readonly error: { readonly reason: FailureReason; readonly detail: string } | null;
  readonly pod?: string;
}

interface Delivery<A extends Attempt> {
  /** `namespace/name`. */
  readonly partner: string;
  readonly reason: string | null;
  readonly attempts: readonly A[];
}

const withdrawn = "not_permitted";

/** The deliveries that a caller may see, without internals of the installation. */
export function viewOf<A extends Attempt, D extends Delivery<A>>(
  deliveries: readonly (D & Delivery<A>)[],
  view: HistoryView,
): readonly D[] {
  const visible = deliveries.filter((delivery) => isVisible(delivery, view));
  if (view.showsInternals === true) {
    return visible;
  }
  return visible.map((delivery) => ({ ...delivery, attempts: delivery.attempts.map(publicAttempt) }));
}

/** A narrowed caller sees a delivery without permission only when an attempt was made before. */
function isVisible({ partner, reason, attempts }: Delivery<Attempt>, view: HistoryView): boolean {
  return mayNamePartner(view, partner) && (!isNarrowed(view) || reason !== withdrawn || attempts.length > 0);
}

function publicAttempt<A extends Attempt>(attempt: A): Omit<A, "pod"> {
  const { pod: _pod, ...rest } = attempt;
  const { error } = attempt;
  return error === null ? rest : { ...rest, error: { ...error, detail: failureDetail(error.reason, error.detail) } };
}
