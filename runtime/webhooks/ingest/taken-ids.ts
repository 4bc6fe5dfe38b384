import { createLineLimit } from "../../../limits/line-limit.ts";
import type { AttemptsStream } from "../../nats/streams/attempts-stream.ts";
import type { Log } from "../log.ts";
import type { EventIdTaken } from "./event-ids.ts";
import { eventHash } from "../ids.ts";
import type { TakenNote } from "../records/taken-note.ts";

interface TakenIdsDeps {
  readonly attempts: Pick<AttemptsStream, "appendFirst">;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
  readonly log: Log;
}

/**
 * Reports to administrators that a tenant sent an event id of another one: a log line and a stored note. The number of
 * reports is limited, so that no tenant fills log or stream. A note that cannot be stored is only logged.
 *
 * @returns a function for each refusal; it does not wait for the note
 */
export function createTakenIds({ attempts, now, log }: TakenIdsDeps): (taken: EventIdTaken) => void {
  const limit = createLineLimit(now);
  return ({ eventId, tenant, holder }) => {
    const leftOut = limit();
    if (leftOut === undefined) {
      return;
    }
    log.warn(
      { eventId, tenant, holder, ...(leftOut === 0 ? {} : { leftOut }) },
      "event refused, another tenant has its id",
    );
    const note: TakenNote = { kind: "id_taken", holder, at: new Date(now()).toISOString() };
    attempts.appendFirst(tenant, eventHash(eventId), JSON.stringify(note)).catch((error: unknown) => {
      log.warn({ err: error, eventId, tenant }, "refusal of an event id not stored");
    });
  };
}
