import { ApiError } from "../../errors/api-error.ts";
import { retryUntilReply } from "../../nats/connection/retry-until-reply.ts";
import type { DeadLettersStream } from "../../nats/streams/dead-letters-stream.ts";
import type { ReplaysStream } from "../../nats/streams/replays-stream.ts";
import type { DeliveryContext } from "../delivery/delivery-context.ts";
import { eventHash } from "../ids.ts";
import type { Partner } from "../partners/partner.ts";
import type { DeadLetter } from "../records/dead-letter-record.ts";
import { isHandled, parseHandled, type HandledNote } from "../records/event-record.ts";
import { notifyRecipient, type NotifyDeps } from "./notify-recipient.ts";
import type { ReplayJob } from "./replay-job.ts";

/** A dead letter that a job acknowledges. */
export interface SelectedLetter {
  readonly seq: number;
  readonly deadLetter: DeadLetter;
  /** Undefined for a removed partner, which is not notified. */
  readonly partner: Partner | undefined;
}

export interface AcknowledgeDeps extends NotifyDeps, Pick<DeliveryContext, "attempts" | "now" | "ending"> {
  readonly deadLetters: Pick<DeadLettersStream, "remove">;
  readonly replays: Pick<ReplaysStream, "mark">;
}

/** A recipient gets no longer to respond, so that a slow one does not delay the other jobs. */
const notifyMsMax = 2_000;

/**
 * Acknowledges one dead letter of a job: note, notification, mark, removal. Each step can be repeated after a crash.
 * The note is stored once and the mark counts once; the recipient may be notified again.
 *
 * @throws NoReplyError, ApiError `events_unavailable`
 */
export async function acknowledgeLetter(
  deps: AcknowledgeDeps,
  { id, requestedBy = "", source }: ReplayJob,
  { seq, deadLetter, partner }: SelectedLetter,
): Promise<void> {
  const { tenant, eventId, did } = deadLetter;
  const note = source.kind === "selected_dead_letters" ? source.note : undefined;
  const { attempts, ending: signal } = deps;
  const records = await retryUntilReply(() => attempts.read(tenant, eventHash(eventId)), { signal });
  if (!isHandled(deadLetter, parseHandled(records)))
    await storeHandledNote(deps, deadLetter, { note, client: requestedBy });
  if (partner !== undefined) await notifyRecipient(deps, partner, deadLetter, note, notifyMsMax);
  // Several dead letters of one delivery count one by one, as a list shows them.
  await retryUntilReply(() => deps.replays.mark(id, "acknowledged", `${did}-${seq}`), { signal });
  await deps.deadLetters.remove(seq);
}

/** Stores that a dead letter was handled by hand. @throws ApiError `events_unavailable` */
export async function storeHandledNote(
  { attempts, now }: Pick<DeliveryContext, "attempts" | "now">,
  { did, generation, tenant, eventId }: DeadLetter,
  { note, client }: { readonly note: string | undefined; readonly client: string },
): Promise<void> {
  const at = new Date(now()).toISOString();
  const handled: HandledNote = {
    kind: "handled",
    did,
    generation,
    at,
    by: client,
    ...(note === undefined ? {} : { note }),
  };
  const result = await attempts.append(tenant, eventHash(eventId), JSON.stringify(handled));
  if (result.kind === "rejected") {
    throw new ApiError("events_unavailable", "The acknowledgement cannot be stored at the moment", {
      cause: result.detail,
      retryAfterSeconds: 1,
    });
  }
}
