import { createLineLimit } from "../../bounds/line-limit.ts";
import type { AttemptsStream } from "../../nats/streams/attempts-stream.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";
import { parseEvent } from "../../nats/layout.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { Log } from "../log.ts";
import type { EventIdTaken } from "./event-ids.ts";
import { eventHash } from "../ids.ts";
import { readEvent } from "../records/event-record.ts";

/**
 * Says that a tenant brought an event id that another one has; kept among the attempts of the tenant that was refused.
 */
interface TakenNote {
  readonly kind: "id_taken";
  /** Who had the id. */
  readonly holder: string;
  /** ISO 8601 UTC by JetStream's clock, of the first refusal. */
  readonly at: string;
}

/** The answer to `GET /webhooks/event-ids/:id`: who has an id and who was refused it. */
export interface EventIdUse {
  readonly event_id: string;
  /** More than one only of events that were stored before ids were unique in the installation. */
  readonly events: readonly { readonly tenant: string; readonly type: string; readonly accepted_at: string }[];
  /** The first refusal of each tenant. */
  readonly refused: readonly { readonly tenant: string; readonly held_by: string; readonly at: string }[];
}

interface TakenIdsDeps {
  readonly attempts: Pick<AttemptsStream, "appendFirst">;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
  readonly log: Log;
}

/**
 * What tells administrators of ids that tenants took from each other: a line in the log and a note in the stream, at
 * most so many that a tenant can fill neither. A note that cannot be written is only logged.
 *
 * @returns called with each refusal; it waits for nothing
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
      log.warn({ err: error, eventId, tenant }, "refusal of an event id not kept");
    });
  };
}

interface EventIdUseDeps {
  readonly events: Pick<EventsStream, "findEach">;
  readonly attempts: Pick<AttemptsStream, "lastOfEach">;
}

/** Who uses an id, of these tenants (`*`: of all); undefined when none does. */
export async function readEventIdUse(
  deps: EventIdUseDeps,
  eventId: string,
  tenants: readonly string[],
): Promise<EventIdUse | undefined> {
  const idhash = eventHash(eventId);
  const [stored, records] = await Promise.all([
    deps.events.findEach(tenants, idhash),
    deps.attempts.lastOfEach(tenants, idhash),
  ]);
  const events = stored.flatMap((message) => readEvent(message) ?? []).toSorted((a, b) => a.seq - b.seq);
  const refused = records.flatMap((message) => refusalOf(message));
  if (events.length === 0 && refused.length === 0) {
    return undefined;
  }
  return {
    event_id: eventId,
    events: events.map(({ tenant, type, acceptedAtMs }) => ({
      tenant,
      type,
      accepted_at: new Date(acceptedAtMs).toISOString(),
    })),
    refused: refused.toSorted((a, b) => a.at.localeCompare(b.at)),
  };
}

function refusalOf({ subject, data }: StoredMessage): EventIdUse["refused"] {
  const { tenant = "" } = parseEvent(subject) ?? {};
  const note = JSON.parse(Buffer.from(data).toString()) as Partial<TakenNote> | null;
  const { kind, holder = "", at = "" } = note ?? {};
  return kind === "id_taken" ? [{ tenant, held_by: holder, at }] : [];
}
