import { sendAuthorized } from "../authorization/send-authorized.ts";
import type { DeadLetter } from "../records/dead-letter-record.ts";
import type { DeliveryContext } from "../delivery/delivery-context.ts";
import { deliveryHeaders } from "../signing/signed-request.ts";
import { outcomeCode } from "../settlement/outcome.ts";
import type { Partner } from "../partners/partner.ts";
import { signersAt } from "../signing/keys.ts";

/** The result of a notification. */
export interface NotifyResult {
  /** HTTP status; null without a response. */
  readonly status: number | null;
  /** Reason of the failure; null with a response. */
  readonly error: string | null;
}

export type NotifyDeps = Pick<DeliveryContext, "sender" | "tokens" | "now" | "installation" | "version">;

/**
 * Notifies the recipient's `/webhooks/ack` that an event was handled by hand. Sends one request, signed like a
 * delivery. Resolves with null when the partner has no such endpoint. Source: seed "Webhook Event Delivery" §4.3.
 */
export async function notifyRecipient(
  context: NotifyDeps,
  partner: Partner,
  { eventId, attemptsBefore, attempt, producer }: DeadLetter,
  note: string | undefined,
  timeoutMsMax = Infinity,
): Promise<NotifyResult | null> {
  const { now, installation, version } = context;
  const { config, signers } = partner;
  const { endpoint, signing, networks } = config;
  const sentAtMs = now();
  const keys = signersAt(signers, signing.sideBySide === true, sentAtMs);
  if (endpoint.ackUrl === undefined || keys.length === 0) return null;
  const url = URL.parse(endpoint.ackUrl);
  if (url === null) return { status: null, error: "guard" };
  const message = {
    event_id: eventId,
    handled_at: new Date(sentAtMs).toISOString(),
    ...(note === undefined ? {} : { note }),
  };
  const body = Buffer.from(JSON.stringify(message));
  const headers = deliveryHeaders(signing.scheme, {
    keys,
    url,
    body,
    eventId,
    attempt: attemptsBefore + attempt,
    producer: producer ?? installation,
    sentAtMs,
    version,
    endpointHeaders: endpoint.headers,
    ...(endpoint.verification === undefined ? {} : { requestOrigin: installation }),
  });
  const outcome = await sendAuthorized(context, partner, {
    url,
    headers,
    body,
    timeoutMs: Math.min(endpoint.timeoutMs, timeoutMsMax),
    networks,
  });
  return outcome.kind === "response"
    ? { status: outcome.status, error: null }
    : { status: null, error: outcomeCode(outcome) };
}
